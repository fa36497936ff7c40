//! The watchdog of the worker threads. A callback over its budget is stuck. A thread cannot be stopped
//! from outside, so it is given up: its other zones go on at once on a new thread, and the hub opens the
//! stuck zone again from its last cut, which fences whatever the callback may still do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rejoin_core::exchange::ToHub;
use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, SessionId, ZoneId};

use super::polls::Polls;
use super::watched_callback::WatchedCallback;
use super::worker::Worker;
use super::zone_set::{Running, ZoneSet};
use super::{StuckThreads, Surroundings, ToThread, ZoneInboxes};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(25);
/// A look that comes this late was kept back with the whole process: it was suspended, or got no
/// processor. Game code could not run either.
const STALLED: Duration = Duration::from_millis(100);

/// How long what runs on a thread was kept back with the watchdog itself.
#[derive(Clone, Copy, Default)]
struct Excuse {
    /// Which callback: the end of its budget.
    until: u64,
    kept_back: Duration,
}

impl Excuse {
    /// The watchdog's sleep was over this late, and this runs now. Given is how much of the time that has
    /// passed does not count.
    fn look(&mut self, until: u64, late: Duration) -> Duration {
        if self.until != until {
            *self = Self { until, kept_back: Duration::ZERO };
        }
        if late >= STALLED {
            self.kept_back += late;
        }
        self.kept_back
    }
}

/// One worker thread, as the watchdog holds it.
struct WorkerThread {
    callback: Arc<WatchedCallback>,
    /// None: the thread was given up and not replaced.
    thread: Option<JoinHandle<()>>,
}

/// The threads that zones run on now; those that were given up are not among them.
#[derive(Clone, Default)]
pub(crate) struct WorkerThreads(Arc<Mutex<Vec<WorkerThread>>>);

impl WorkerThreads {
    fn lock(&self) -> MutexGuard<'_, Vec<WorkerThread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let ended =
            |worker: &WorkerThread| worker.thread.as_ref().is_none_or(JoinHandle::is_finished);
        self.lock().iter().all(ended)
    }

    /// Waits until all threads have ended, but no longer than this. False: some have not.
    pub(crate) fn join(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.is_over() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }
}

/// Starts the worker threads and replaces those that hang.
pub(super) struct Watchdog {
    pub(super) around: Surroundings,
    pub(super) inboxes: ZoneInboxes,
    pub(super) workers: WorkerThreads,
    pub(super) stuck_threads: StuckThreads,
}

impl Watchdog {
    /// Starts one more thread.
    pub(super) fn add(&self, zones: Box<ZoneSet>) -> std::io::Result<()> {
        let index = self.workers.lock().len();
        let worker = self.start(index, zones).map_err(|(error, _)| error)?;
        self.workers.lock().push(worker);
        Ok(())
    }

    /// Starts a thread for these zones; gives them back if the system has no thread for them.
    fn start(
        &self,
        index: usize,
        zones: Box<ZoneSet>,
    ) -> Result<WorkerThread, (std::io::Error, Option<Box<ZoneSet>>)> {
        let callback = Arc::new(WatchedCallback::default());
        let wake_ups = zones.wake_ups.clone();
        callback.park(zones);
        let worker = Worker {
            around: self.around.clone(),
            inboxes: self.inboxes.clone(),
            callback: callback.clone(),
            stuck_threads: self.stuck_threads.clone(),
            wake_ups,
            polls: Polls::default(),
        };
        let builder = std::thread::Builder::new().name(format!("rejoin-zone-{index}"));
        match builder.spawn(move || worker.run()) {
            Ok(thread) => Ok(WorkerThread { callback, thread: Some(thread) }),
            Err(error) => Err((error, callback.unpark())),
        }
    }

    /// Looks after the threads until all have ended.
    pub(super) fn run(self) {
        let (mut excuses, mut looked_at) = (Vec::new(), Instant::now());
        while !self.workers.is_over() {
            std::thread::sleep(EVERY);
            // From look to look: it may stand still anywhere between them.
            let late = looked_at.elapsed().saturating_sub(EVERY);
            looked_at = Instant::now();
            let count = self.workers.lock().len();
            excuses.resize(count, Excuse::default());
            for (index, excuse) in excuses.iter_mut().enumerate() {
                self.look(index, excuse, late);
            }
        }
    }

    fn look(&self, index: usize, excuse: &mut Excuse, late: Duration) {
        let callback = self.workers.lock()[index].callback.clone();
        let kept_back = excuse.look(callback.until(), late);
        let now = self.around.clock.now();
        let Some((mut zones, culprit)) = callback.write_off(now, kept_back) else { return };
        let Some(stuck) = zones.running.take() else { return };
        zones.wake_ups.send();
        drop(zones.remove(stuck.zone));
        // The others on that thread could not read what was sent to them meanwhile.
        zones.tell_stalled(stuck.budget);
        if !self.stuck_threads.one_more() {
            return self.close(index, &zones, &stuck);
        }
        match self.start(index, zones) {
            Ok(worker) => self.workers.lock()[index] = worker,
            Err((error, zones)) => {
                tracing::error!(%error, "no thread for the neighbours of a stuck zone");
                if let Some(zones) = zones {
                    return self.close(index, &zones, &stuck);
                }
            }
        }
        self.tell_stuck(&stuck, culprit);
    }

    fn tell_stuck(&self, stuck: &Running, culprit: Option<(SessionId, u64)>) {
        let budget = stuck.budget.as_millis();
        let text = format!("Stuck: a callback ran for more than its budget of {budget} ms");
        let fault = ToHub::Faulted { poisoned: culprit, stuck: true, left: Vec::new(), text };
        self.tell_hub(stuck.zone, stuck.owner, fault);
    }

    /// Too many callbacks hang: this thread is not replaced, and its zones are closed. What is stored
    /// of them stays, for the next process.
    fn close(&self, index: usize, zones: &ZoneSet, stuck: &Running) {
        let hung = self.stuck_threads.count();
        tracing::error!(
            kind = stuck.name.kind,
            name = ?stuck.name.name,
            hung,
            "too many callbacks hang: a thread of zones is closed; restart the server"
        );
        self.workers.lock()[index].thread = None;
        self.inboxes.close(index);
        let text = format!("Stuck: {hung} callbacks hang, and no thread is left for this zone");
        let mut closed: Vec<(ZoneId, OwnerEpoch)> = zones.zones().collect();
        closed.push((stuck.zone, stuck.owner));
        while let Ok(message) = zones.inbox.try_recv() {
            if let ToThread::Open(spec, opened, _) = message {
                closed.push((spec.id, opened.owner));
            }
        }
        for (zone, owner) in closed {
            self.tell_hub(zone, owner, ToHub::OpenRefused { text: text.clone() });
        }
    }

    fn tell_hub(&self, zone: ZoneId, owner: OwnerEpoch, message: ToHub) {
        // An error means that the hub has ended.
        let _ = self.around.hub.blocking_send(HubInput::FromZone(zone, owner, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_callback_is_not_charged_for_a_process_that_stood_still() {
        let mut excuse = Excuse::default();
        assert_eq!(excuse.look(5_000, ms(3)), ms(0), "a busy machine is late by a little");
        assert_eq!(excuse.look(5_000, ms(60_000)), ms(60_000));
        assert_eq!(excuse.look(5_000, ms(200)), ms(60_200));
        assert_eq!(excuse.look(5_000, ms(0)), ms(60_200), "for as long as it runs");
        assert_eq!(excuse.look(9_000, ms(0)), ms(0), "the next one has its own time");
    }
}
