//! One thread of zones: takes what comes, wakes who asked for it, and carries out in order what
//! the machines decide. Whatever may call game code runs between a `begin` and an `end`; a thread
//! that was given up in between discards what came of it and ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rejoin_core::exchange::{ToHub, ZoneName};
use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::time::Time;
use rejoin_core::zone::{ZoneInput, ZoneOutput, ZoneSpec};

use super::beat::Beat;
use super::crew::{Crew, Running, Seat};
use super::polls::Polls;
use super::{Depth, Hung, Surroundings, ToThread, ZoneDoors};
use crate::connection_table::WakeUps;
use crate::logbook::Cause;
use crate::store_thread::StoreRequest;

/// Messages that are taken before the clock is looked at again, so that no flood stops time.
const BATCH_MAX: usize = 4_096;
/// A wake-up that takes longer than this without a tick to compare with is told.
const SLOW_WITHOUT_TICK: Duration = Duration::from_millis(50);

/// Why a zone cannot go on here.
enum Lost {
    /// Its machine panicked, which costs this zone alone.
    Broken,
    /// The whole thread was given up.
    WrittenOff,
}

/// One thread.
pub(super) struct Thread {
    pub(super) around: Surroundings,
    pub(super) doors: ZoneDoors,
    pub(super) beat: Arc<Beat>,
    pub(super) hung: Hung,
    pub(super) wake_ups: Arc<WakeUps>,
    pub(super) polls: Polls,
}

impl Thread {
    /// Runs until it is told to stop, or given up.
    pub(super) fn run(self) {
        let mut crew = self.beat.unpark();
        while let Some(zones) = crew {
            crew = self.turn(zones);
        }
    }

    /// Takes what waits and lets each zone hear it. None: the thread ends.
    fn turn(&self, mut crew: Box<Crew>) -> Option<Box<Crew>> {
        self.wake_ups.send();
        let mut next = crew.wait(self.around.clock, &self.polls)?;
        self.tell_stalled(&mut crew);
        let mut more = BATCH_MAX;
        let mut is_stopping = false;
        while let Some(message) = next {
            let messages = match message {
                ToThread::Many(messages) => messages,
                one => vec![one],
            };
            more = more.saturating_sub(messages.len());
            for message in messages {
                match message {
                    ToThread::Stop => is_stopping = true,
                    ToThread::Open(spec, opened, depth) => {
                        crew = self.open(crew, *spec, &opened, depth)?;
                    }
                    ToThread::Drop(zone) => crew = self.remove(crew, zone)?,
                    message => crew.put(message),
                }
            }
            next = if more > 0 && !is_stopping { crew.inbox.try_recv().ok() } else { None };
        }
        if is_stopping {
            crew.seal();
        }
        crew.ring(self.around.clock.now());
        while let Some((zone, seat)) = crew.next() {
            crew = self.feed(crew, zone, seat)?;
            self.polls.look(self.around.clock.now(), Duration::ZERO);
            self.tell_stalled(&mut crew);
        }
        (!is_stopping).then_some(crew)
    }

    /// If this thread did not run, its zones hear that before anything else.
    fn tell_stalled(&self, crew: &mut Crew) {
        if let Some(gap) = self.polls.take_stall() {
            crew.tell_stalled(gap);
        }
    }

    fn feed(&self, mut crew: Box<Crew>, zone: ZoneId, mut seat: Box<Seat>) -> Option<Box<Crew>> {
        let (owner, name) = (seat.machine.owner(), seat.name.clone());
        crew.running = Some(Running { zone, owner, name, budget: seat.budget });
        self.beat.park(crew);
        let outcome = self.hear_all(zone, &mut seat);
        match outcome {
            Err(Lost::WrittenOff) => self.came_back(&seat.name),
            Err(Lost::Broken) => {
                let crew = self.beat.unpark()?;
                let text = "the zone's machine panicked".to_owned();
                let fault = ToHub::Faulted { poisoned: None, stuck: false, text };
                self.tell_hub(zone, owner, fault);
                self.discard(crew, zone, Some(seat))
            }
            Ok(()) => {
                let mut crew = self.beat.unpark()?;
                crew.put_back(zone, seat);
                Some(crew)
            }
        }
    }

    fn hear_all(&self, zone: ZoneId, seat: &mut Seat) -> Result<(), Lost> {
        while let Some(input) = seat.next_input() {
            let since = self.around.clock.now();
            self.polls.look(since, Duration::ZERO);
            let is_wake = matches!(input, ZoneInput::Wake);
            let before =
                if is_wake { (seat.machine.next_deadline(), seat.ticks()) } else { (None, None) };
            self.hear(since, seat, input)?;
            self.drain(zone, seat);
            if is_wake {
                let late = before.0.map_or(Duration::ZERO, |due| since.since(due));
                self.count_ticks(before.1, seat.ticks(), late);
                self.tell_if_slow(seat, since);
            }
        }
        Ok(())
    }

    fn hear(&self, now: Time, seat: &mut Seat, input: ZoneInput) -> Result<(), Lost> {
        let culprit = match &input {
            ZoneInput::FromHub(_, message) => message.culprit(),
            _ => None,
        };
        let begun = self.beat.begin(now, seat.budget, culprit);
        let outcome = catch_unwind(AssertUnwindSafe(|| seat.machine.handle(now, input)));
        if !self.beat.end(&begun) {
            return Err(Lost::WrittenOff);
        }
        // Callbacks are caught by the machine: this is a fault of its own.
        outcome.map_err(|_| Lost::Broken)
    }

    fn open(
        &self,
        crew: Box<Crew>,
        spec: ZoneSpec,
        opened: &Opened,
        depth: Depth,
    ) -> Option<Box<Crew>> {
        let (zone, name, owner) = (spec.id, Arc::new(spec.name.clone()), opened.owner);
        let (tick, budget) = (spec.config.tick, spec.config.callback_budget);
        let mut crew = self.remove(crew, zone)?;
        let Some(open) = self.around.kinds.get(&name.kind).cloned() else {
            let text = format!("no game code is registered for the kind {:?}", name.kind);
            self.tell_hub(zone, owner, ToHub::OpenRefused { text });
            return Some(crew);
        };
        let chance = crew.chance.branch("zone", zone.0);
        crew.running = Some(Running { zone, owner, name: name.clone(), budget });
        self.beat.park(crew);
        let now = self.around.clock.now();
        let begun = self.beat.begin(now, budget, None);
        let machine = catch_unwind(AssertUnwindSafe(|| open(now, spec, opened, chance)));
        if !self.beat.end(&begun) {
            return self.came_back(&name);
        }
        let seat = machine.map(|machine| {
            let mut seat = Box::new(Seat::new(machine, name, (tick, budget), depth));
            self.drain(zone, &mut seat);
            seat
        });
        let mut crew = self.beat.unpark()?;
        match seat {
            Ok(seat) => crew.put_back(zone, seat),
            Err(_) => {
                let text = "the game code panicked before its zone was open".to_owned();
                self.tell_hub(zone, owner, ToHub::OpenRefused { text });
            }
        }
        Some(crew)
    }

    fn remove(&self, mut crew: Box<Crew>, zone: ZoneId) -> Option<Box<Crew>> {
        let seat = crew.remove(zone);
        self.discard(crew, zone, seat)
    }

    /// Drops a zone, which may run the game's code as well.
    fn discard(
        &self,
        mut crew: Box<Crew>,
        zone: ZoneId,
        seat: Option<Box<Seat>>,
    ) -> Option<Box<Crew>> {
        let Some(seat) = seat else { return Some(crew) };
        drop(crew.remove(zone));
        let (owner, name, budget) = (seat.machine.owner(), seat.name.clone(), seat.budget);
        crew.running = Some(Running { zone, owner, name: name.clone(), budget });
        self.beat.park(crew);
        let begun = self.beat.begin(self.around.clock.now(), budget, None);
        if catch_unwind(AssertUnwindSafe(|| drop(seat))).is_err() {
            tracing::error!(kind = name.kind, name = ?name.name, "a zone panicked as it was dropped");
        }
        if !self.beat.end(&begun) {
            return self.came_back(&name);
        }
        let mut crew = self.beat.unpark()?;
        crew.running = None;
        Some(crew)
    }

    /// What was given up is back: nothing came of it, and its thread ends.
    fn came_back(&self, name: &ZoneName) -> Option<Box<Crew>> {
        self.hung.one_less();
        let (kind, name) = (&name.kind, &name.name);
        tracing::warn!(kind, name = ?name, "a stuck callback returned; what it did is discarded");
        None
    }

    fn drain(&self, zone: ZoneId, seat: &mut Seat) {
        let owner = seat.machine.owner();
        while let Some(output) = seat.machine.next_output() {
            match output {
                ZoneOutput::Send { link, frame, .. } => {
                    self.around.connections.send_and_wake_later(
                        link.connection,
                        frame,
                        &self.wake_ups,
                    );
                }
                ZoneOutput::Native { session, delivery } => {
                    self.around.natives.tell(session, delivery);
                }
                ZoneOutput::ToHub(message) => self.tell_hub(zone, owner, message),
                ZoneOutput::Commit(batch) => {
                    let _ = self.around.store.send(StoreRequest::Commit(batch));
                }
                ZoneOutput::StartJob { job, request } => {
                    let doors = self.doors.clone();
                    self.around.jobs.run((*seat.name).clone(), request, move |result| {
                        doors.send(zone, ToThread::JobDone(zone, owner, job, result));
                    });
                }
                ZoneOutput::Event(event) => self.around.sight.tell(event),
            }
        }
    }

    fn count_ticks(&self, before: Option<(u64, u64)>, after: Option<(u64, u64)>, late: Duration) {
        let (Some(before), Some(after)) = (before, after) else { return };
        let metrics = &self.around.sight.metrics;
        let ticks = after.0.saturating_sub(before.0);
        metrics.ticks_skipped.inc_by(after.1.saturating_sub(before.1));
        if ticks > 0 {
            metrics.ticks.inc_by(ticks);
            metrics.tick_late(late);
        }
    }

    fn tell_if_slow(&self, seat: &Seat, since: Time) {
        let took = self.around.clock.now().since(since);
        if took > seat.tick.unwrap_or(SLOW_WITHOUT_TICK) {
            self.around.sight.metrics.ticks_slow.inc();
            let Some(suppressed) = self.around.sight.logbook.pass(Cause::SlowTick) else { return };
            let (kind, name) = (&seat.name.kind, &seat.name.name);
            let took_ms = took.as_millis() as u64;
            tracing::warn!(kind, ?name, took_ms, suppressed, "slow tick");
        }
    }

    fn tell_hub(&self, zone: ZoneId, owner: OwnerEpoch, message: ToHub) {
        // An error means that the hub has ended.
        let _ = self.around.hub.blocking_send(HubInput::FromZone(zone, owner, message));
    }
}
