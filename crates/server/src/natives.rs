//! The listeners of sessions that live in the server. Zones and the hub tell them without waiting:
//! whoever takes too little too late misses messages and learns how many, but never where it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rejoin_core::id::SessionId;
use rejoin_core::zone::Delivery;
use tokio::sync::mpsc;

/// Messages and questions that wait for one native session; more are dropped and counted.
const DELIVERIES_MAX: usize = 1_024;

/// All listeners, by session.
#[derive(Default)]
pub(crate) struct Natives(papaya::HashMap<SessionId, Arc<Ear>>);

/// One listener's queue.
#[derive(Debug)]
struct Ear {
    inbox: mpsc::UnboundedSender<Delivery>,
    waiting: AtomicUsize,
    missed: AtomicU64,
}

impl Natives {
    /// Listens for a session; an earlier listener hears nothing more.
    pub(crate) fn listen(&self, session: SessionId) -> Deliveries {
        let (inbox, outlet) = mpsc::unbounded_channel();
        let (waiting, missed) = (AtomicUsize::new(0), AtomicU64::new(0));
        let ear = Arc::new(Ear { inbox, waiting, missed });
        let counts = Arc::downgrade(&ear);
        self.0.pin().insert(session, ear);
        Deliveries { outlet, counts }
    }

    /// Tells a session, if anybody listens for it.
    pub(crate) fn tell(&self, session: SessionId, delivery: Delivery) {
        let ears = self.0.pin();
        let Some(ear) = ears.get(&session) else { return };
        // The rest is bounded by what the session itself does.
        let droppable = matches!(
            delivery,
            Delivery::Message(_) | Delivery::Call(..) | Delivery::Sent(_) | Delivery::Asked(..)
        );
        if droppable && ear.waiting.load(Ordering::Acquire) >= DELIVERIES_MAX {
            if ear.missed.fetch_add(1, Ordering::AcqRel) == 0 {
                tracing::warn!(%session, "a native session does not listen in time");
            }
            return;
        }
        ear.waiting.fetch_add(1, Ordering::AcqRel);
        if ear.inbox.send(delivery).is_err() {
            ears.remove(&session);
        }
    }

    /// The session has ended: its listener hears the rest, and then the end.
    pub(crate) fn forget(&self, session: SessionId) {
        self.0.pin().remove(&session);
    }
}

/// What a native session is told, in order. At most 1,024 messages wait; joins, parts and endings
/// always get through.
#[derive(Debug)]
pub struct Deliveries {
    outlet: mpsc::UnboundedReceiver<Delivery>,
    /// Weak, so that the end of the session ends the queue.
    counts: std::sync::Weak<Ear>,
}

impl Deliveries {
    /// The next one; none once the session has ended or another listener has taken its place.
    pub async fn recv(&mut self) -> Option<Delivery> {
        let delivery = self.outlet.recv().await;
        self.taken(delivery)
    }

    /// The next one, if it is there already.
    pub fn try_recv(&mut self) -> Option<Delivery> {
        let delivery = self.outlet.try_recv().ok();
        self.taken(delivery)
    }

    /// How many messages were dropped since the last call because too many waited.
    #[must_use]
    pub fn take_missed(&self) -> u64 {
        self.counts.upgrade().map_or(0, |ear| ear.missed.swap(0, Ordering::AcqRel))
    }

    fn taken(&self, delivery: Option<Delivery>) -> Option<Delivery> {
        if let (Some(_), Some(ear)) = (&delivery, self.counts.upgrade()) {
            ear.waiting.fetch_sub(1, Ordering::AcqRel);
        }
        delivery
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rejoin_core::event::EndCause;

    use super::*;

    #[test]
    fn a_slow_listener_misses_messages_and_learns_how_many_but_hears_its_end() {
        let (natives, session) = (Natives::default(), SessionId(1));
        let mut heard = natives.listen(session);
        for _ in 0..DELIVERIES_MAX + 3 {
            natives.tell(session, Delivery::Message(Arc::new(())));
        }
        natives.tell(session, Delivery::Ended(EndCause::Kicked));
        natives.forget(session);
        let mut count = 0;
        let last = loop {
            match heard.try_recv() {
                Some(Delivery::Message(_)) => count += 1,
                other => break other,
            }
        };
        assert_eq!(count, DELIVERIES_MAX);
        assert!(matches!(last, Some(Delivery::Ended(EndCause::Kicked))));
        assert!(heard.try_recv().is_none());
    }

    #[test]
    fn what_was_taken_makes_room_and_what_was_missed_is_counted_once() {
        let (natives, session) = (Natives::default(), SessionId(1));
        let mut heard = natives.listen(session);
        for _ in 0..DELIVERIES_MAX + 2 {
            natives.tell(session, Delivery::Message(Arc::new(())));
        }
        assert_eq!((heard.take_missed(), heard.take_missed()), (2, 0));
        assert!(heard.try_recv().is_some());
        natives.tell(session, Delivery::Message(Arc::new(())));
        assert_eq!(heard.take_missed(), 0);
    }
}
