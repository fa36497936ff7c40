//! The watchdog. A callback over its budget is stuck: nobody can stop it, so its thread is given up,
//! the other zones of that thread go on at once on a new one, and the hub opens the stuck zone again
//! from its last cut, which fences whatever the callback may still do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rejoin_core::exchange::ToHub;
use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, SessionId, ZoneId};

use super::beat::Beat;
use super::crew::{Crew, Running};
use super::polls::Polls;
use super::thread::Thread;
use super::{Hung, Surroundings, ToThread, ZoneDoors};

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

/// A thread and what it shows.
struct Lane {
    beat: Arc<Beat>,
    /// None: the lane is closed.
    thread: Option<JoinHandle<()>>,
}

/// The threads that zones run on now; those that were given up are not among them.
#[derive(Clone, Default)]
pub(crate) struct Lanes(Arc<Mutex<Vec<Lane>>>);

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let ended = |lane: &Lane| lane.thread.as_ref().is_none_or(JoinHandle::is_finished);
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

/// The watchdog.
pub(super) struct Watch {
    pub(super) around: Surroundings,
    pub(super) doors: ZoneDoors,
    pub(super) lanes: Lanes,
    pub(super) hung: Hung,
}

impl Watch {
    /// Starts one more thread.
    pub(super) fn add(&self, crew: Box<Crew>) -> std::io::Result<()> {
        let index = self.lanes.lock().len();
        let lane = self.start(index, crew).map_err(|(error, _)| error)?;
        self.lanes.lock().push(lane);
        Ok(())
    }

    /// Gives the crew back if the system has no thread for it.
    fn start(
        &self,
        index: usize,
        crew: Box<Crew>,
    ) -> Result<Lane, (std::io::Error, Option<Box<Crew>>)> {
        let beat = Arc::new(Beat::default());
        let wake_ups = crew.wake_ups.clone();
        beat.park(crew);
        let thread = Thread {
            around: self.around.clone(),
            doors: self.doors.clone(),
            beat: beat.clone(),
            hung: self.hung.clone(),
            wake_ups,
            polls: Polls::default(),
        };
        let builder = std::thread::Builder::new().name(format!("rejoin-zone-{index}"));
        match builder.spawn(move || thread.run()) {
            Ok(thread) => Ok(Lane { beat, thread: Some(thread) }),
            Err(error) => Err((error, beat.unpark())),
        }
    }

    /// Looks after the threads until all have ended.
    pub(super) fn run(self) {
        let (mut excuses, mut looked_at) = (Vec::new(), Instant::now());
        while !self.lanes.is_over() {
            std::thread::sleep(EVERY);
            // From look to look: it may stand still anywhere between them.
            let late = looked_at.elapsed().saturating_sub(EVERY);
            looked_at = Instant::now();
            let count = self.lanes.lock().len();
            excuses.resize(count, Excuse::default());
            for (index, excuse) in excuses.iter_mut().enumerate() {
                self.look(index, excuse, late);
            }
        }
    }

    fn look(&self, index: usize, excuse: &mut Excuse, late: Duration) {
        let beat = self.lanes.lock()[index].beat.clone();
        let kept_back = excuse.look(beat.until(), late);
        let now = self.around.clock.now();
        let Some((mut crew, culprit)) = beat.write_off(now, kept_back) else { return };
        let Some(stuck) = crew.running.take() else { return };
        crew.wake_ups.send();
        drop(crew.remove(stuck.zone));
        // The others on that thread could not read what was sent to them meanwhile.
        crew.tell_stalled(stuck.budget);
        if !self.hung.one_more() {
            return self.close(index, &crew, &stuck);
        }
        match self.start(index, crew) {
            Ok(lane) => self.lanes.lock()[index] = lane,
            Err((error, crew)) => {
                tracing::error!(%error, "no thread for the neighbours of a stuck zone");
                if let Some(crew) = crew {
                    return self.close(index, &crew, &stuck);
                }
            }
        }
        self.tell_stuck(&stuck, culprit);
    }

    fn tell_stuck(&self, stuck: &Running, culprit: Option<(SessionId, u64)>) {
        let budget = stuck.budget.as_millis();
        let text = format!("Stuck: a callback ran for more than its budget of {budget} ms");
        let fault = ToHub::Faulted { poisoned: culprit, stuck: true, text };
        self.tell_hub(stuck.zone, stuck.owner, fault);
    }

    /// Too many callbacks hang: this thread is not replaced, and its zones are closed. What is stored
    /// of them stays, for the next process.
    fn close(&self, index: usize, crew: &Crew, stuck: &Running) {
        let hung = self.hung.count();
        tracing::error!(
            kind = stuck.name.kind,
            name = ?stuck.name.name,
            hung,
            "too many callbacks hang: a thread of zones is closed; restart the server"
        );
        self.lanes.lock()[index].thread = None;
        self.doors.close(index);
        let text = format!("Stuck: {hung} callbacks hang, and no thread is left for this zone");
        let mut closed: Vec<(ZoneId, OwnerEpoch)> = crew.zones().collect();
        closed.push((stuck.zone, stuck.owner));
        while let Ok(message) = crew.inbox.try_recv() {
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
