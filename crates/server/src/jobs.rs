//! Outside work of zones: a bounded queue and a few threads. A job that panics gives an empty
//! result; a full queue makes the zone's thread wait, which is the bound.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;

/// Does the outside work that zones ask for.
pub trait JobRunner: Send + Sync + 'static {
    /// Does one job of a zone. May take its time; it runs beside everything else.
    fn run(&self, zone: &ZoneName, request: Bytes) -> Bytes;
}

impl<F: Fn(&ZoneName, Bytes) -> Bytes + Send + Sync + 'static> JobRunner for F {
    fn run(&self, zone: &ZoneName, request: Bytes) -> Bytes {
        self(zone, request)
    }
}

/// Jobs that wait before zones do.
const WAITING_MAX: usize = 1_024;

type Work = Box<dyn FnOnce() + Send>;

/// The threads that run the outside work of zones.
pub(crate) struct JobThreads {
    runner: Arc<dyn JobRunner>,
    queue: SyncSender<Work>,
}

impl JobThreads {
    /// Starts them; they end when the last clone of the queue is gone.
    pub(crate) fn start(
        runner: Arc<dyn JobRunner>,
        threads: usize,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let (queue, work) = sync_channel::<Work>(WAITING_MAX);
        let work = Arc::new(Mutex::new(work));
        let start = |index| {
            let work = work.clone();
            let builder = std::thread::Builder::new().name(format!("rejoin-job-{index}"));
            builder.spawn(move || {
                while let Some(job) = next(&work) {
                    job()
                }
            })
        };
        let handles = (0..threads.max(1)).map(start).collect::<Result<_, _>>()?;
        Ok((Self { runner, queue }, handles))
    }

    /// Queues a job; its result goes to `done`.
    pub(crate) fn run(
        &self,
        zone: ZoneName,
        request: Bytes,
        done: impl FnOnce(Bytes) + Send + 'static,
    ) {
        let runner = self.runner.clone();
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| runner.run(&zone, request)));
            done(result.unwrap_or_else(|_| {
                tracing::error!(kind = zone.kind, "a job panicked; its zone gets an empty result");
                Bytes::new()
            }));
        };
        // The threads outlive the zones; an error means that the server is going down.
        let _ = self.queue.send(Box::new(work));
    }
}

fn next(work: &Mutex<Receiver<Work>>) -> Option<Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
