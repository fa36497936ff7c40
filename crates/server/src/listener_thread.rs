//! Listeners: game code that hears of events. Each has a thread of its own, so one that is slow or
//! panics stops neither the others nor the server; one that falls behind learns how many it missed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use rejoin_core::event::Event;
use tokio::runtime::Handle;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use crate::events::Heard;
use crate::logbook::Cause;
use crate::server::Server;
use crate::sight::Sight;

/// Hears of events of one kind, or of all. A closure that takes a reference to one is a listener.
pub trait Listener<E>: Send + 'static {
    /// Called for each event, in order, on the listener's thread.
    fn hear(&mut self, event: &E);

    /// So many events, of any kind, came and went unheard because this listener was behind.
    fn missed(&mut self, events: u64) {
        tracing::warn!(events, "a listener was too slow and missed events");
    }
}

impl<E, F: FnMut(&E) + Send + 'static> Listener<E> for F {
    fn hear(&mut self, event: &E) {
        self(event);
    }
}

/// A listener that listens. It stops when this is dropped; what it is just doing it ends first.
#[derive(Debug)]
#[must_use = "a listener stops when this is dropped"]
pub struct Listening {
    stop: Option<watch::Sender<bool>>,
}

impl Listening {
    /// Lets the listener run for as long as the server does.
    pub fn forget(mut self) {
        self.stop = None;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.send_replace(true);
        }
    }
}

impl Server {
    /// Tells a listener what happens from now on, on a thread of its own: one kind of event, by the
    /// type that it takes, or all of them if that is [`Event`]. Must be called within a tokio runtime.
    ///
    /// A listener that panics is called for the next event all the same; each panic is logged, and there
    /// is a metric of their number.
    ///
    /// ```no_run
    /// # fn example(server: &rejoin_server::Server) -> std::io::Result<()> {
    /// use rejoin_server::events::PlayerDropped;
    ///
    /// let listening = server.on(|dropped: &PlayerDropped| println!("{} is away", dropped.session))?;
    /// # drop(listening);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn on<E: Heard>(&self, mut listener: impl Listener<E>) -> std::io::Result<Listening> {
        let (stop, stopped) = watch::channel(false);
        // Not a share of it: the listener must not keep alive what it listens to.
        let (events, sight) = (self.events(), Arc::downgrade(&self.0.sight));
        let runtime = Handle::current();
        let builder = std::thread::Builder::new().name("rejoin-listener".to_owned());
        builder.spawn(move || run(&runtime, events, stopped, &sight, &mut listener))?;
        Ok(Listening { stop: Some(stop) })
    }
}

fn run<E: Heard>(
    runtime: &Handle,
    mut events: broadcast::Receiver<Event>,
    mut stopped: watch::Receiver<bool>,
    sight: &Weak<Sight>,
    listener: &mut impl Listener<E>,
) {
    loop {
        let next = runtime.block_on(async {
            tokio::select! {
                biased;
                // Otherwise it was forgotten on purpose and listens to the end.
                Ok(_) = stopped.wait_for(|stop| *stop) => Err(RecvError::Closed),
                next = events.recv() => next,
            }
        });
        let heard = match next {
            Ok(event) => match E::of(&event) {
                Some(event) => catch_unwind(AssertUnwindSafe(|| listener.hear(&event))),
                None => continue,
            },
            Err(RecvError::Lagged(missed)) => {
                catch_unwind(AssertUnwindSafe(|| listener.missed(missed)))
            }
            Err(RecvError::Closed) => return,
        };
        if heard.is_err()
            && let Some(sight) = sight.upgrade()
        {
            sight.metrics.listener_panicked();
            if let Some(suppressed) = sight.logbook.pass(Cause::Listener) {
                tracing::error!(suppressed, "a listener panicked; it is called for the next event");
            }
        }
    }
}
