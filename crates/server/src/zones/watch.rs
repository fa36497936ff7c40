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
        let calls = crew.calls.clone();
        beat.park(crew);
        let thread = Thread {
            around: self.around.clone(),
            doors: self.doors.clone(),
            beat: beat.clone(),
            hung: self.hung.clone(),
            calls,
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
        while !self.lanes.is_over() {
            std::thread::sleep(EVERY);
            let count = self.lanes.lock().len();
            for index in 0..count {
                self.look(index);
            }
        }
    }

    fn look(&self, index: usize) {
        let beat = self.lanes.lock()[index].beat.clone();
        let Some((mut crew, culprit)) = beat.write_off(self.around.clock.now()) else { return };
        let Some(stuck) = crew.running.take() else { return };
        crew.calls.ring();
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
