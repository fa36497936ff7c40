//! One thread of zones: takes what comes, wakes who asked for it, and carries out in order what
//! the machines decide.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rejoin_core::chance::Chance;
use rejoin_core::exchange::{ToHub, ToZone, ZoneName};
use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::time::Time;
use rejoin_core::zone::{ZoneInput, ZoneMachine, ZoneOutput, ZoneSpec};

use super::{Depth, Surroundings, ToThread, ZoneDoors};
use crate::ledger::Entry;

/// Messages that are taken before the clock is looked at again, so that no flood stops time.
const BATCH_MAX: usize = 4_096;
/// A wake-up that takes longer than this without a tick to compare with is told.
const SLOW_WITHOUT_TICK: Duration = Duration::from_millis(50);

/// A zone and what waits for it.
struct Seat {
    machine: Box<dyn ZoneMachine>,
    name: ZoneName,
    tick: Option<Duration>,
    waiting: VecDeque<(OwnerEpoch, ToZone)>,
    /// Its entry in the list of alarms.
    wake_at: Option<Time>,
    depth: Depth,
}

/// One thread.
pub(super) struct Thread {
    around: Surroundings,
    doors: ZoneDoors,
    chance: Chance,
    seats: BTreeMap<ZoneId, Seat>,
    alarms: BTreeSet<(Time, ZoneId)>,
}

impl Thread {
    pub(super) fn new(around: Surroundings, doors: ZoneDoors, chance: Chance) -> Self {
        Self { around, doors, chance, seats: BTreeMap::new(), alarms: BTreeSet::new() }
    }

    /// Runs until it is told to stop.
    pub(super) fn run(mut self, inbox: &Receiver<ToThread>) {
        loop {
            let first = match self.alarms.first() {
                Some((at, _)) => inbox.recv_timeout(self.around.clock.until(*at)),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let mut next = match first {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => inbox.try_recv().ok(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut more = BATCH_MAX;
            while let Some(message) = next {
                if let ToThread::Stop = message {
                    return self.seal();
                }
                self.take(message);
                more -= 1;
                next = if more > 0 { inbox.try_recv().ok() } else { None };
            }
            self.wake_due();
        }
    }

    /// Every zone submits what it would have saved later.
    fn seal(&mut self) {
        let zones: Vec<ZoneId> = self.seats.keys().copied().collect();
        for zone in zones {
            self.handle(zone, ZoneInput::Seal);
        }
    }

    fn take(&mut self, message: ToThread) {
        match message {
            ToThread::Open(spec, opened, depth) => self.open(*spec, &opened, depth),
            ToThread::Drop(zone) => self.remove(zone),
            ToThread::Mail(zone, owner, message) => {
                if let Some(seat) = self.seats.get_mut(&zone) {
                    seat.waiting.push_back((owner, message));
                    self.feed(zone, None);
                }
            }
            ToThread::Committed(zone, owner, revision) if self.owner(zone) == Some(owner) => {
                self.feed(zone, Some(ZoneInput::Committed(revision)));
            }
            ToThread::JobDone(zone, owner, job, result) if self.owner(zone) == Some(owner) => {
                self.feed(zone, Some(ZoneInput::JobDone(job, result)));
            }
            // For an incarnation that is gone.
            ToThread::Committed(..) | ToThread::JobDone(..) | ToThread::Stop => {}
        }
    }

    fn owner(&self, zone: ZoneId) -> Option<OwnerEpoch> {
        self.seats.get(&zone).map(|seat| seat.machine.owner())
    }

    fn open(&mut self, spec: ZoneSpec, opened: &Opened, depth: Depth) {
        let zone = spec.id;
        self.remove(zone);
        let Some(open) = self.around.kinds.get(&spec.name.kind).cloned() else {
            let text = format!("no game code is registered for the kind {:?}", spec.name.kind);
            return self.tell_hub(zone, opened.owner, ToHub::OpenRefused { text });
        };
        let (name, tick) = (spec.name.clone(), spec.config.tick);
        let chance = self.chance.branch("zone", zone.0);
        let now = self.around.clock.now();
        let machine = catch_unwind(AssertUnwindSafe(|| open(now, spec, opened, chance)));
        let Ok(machine) = machine else {
            let text = "the game code panicked before its zone was open".to_owned();
            return self.tell_hub(zone, opened.owner, ToHub::OpenRefused { text });
        };
        let seat = Seat { machine, name, tick, waiting: VecDeque::new(), wake_at: None, depth };
        self.seats.insert(zone, seat);
        self.drain(zone);
        self.plan(zone);
    }

    fn remove(&mut self, zone: ZoneId) {
        let Some(seat) = self.seats.remove(&zone) else { return };
        if let Some(at) = seat.wake_at {
            self.alarms.remove(&(at, zone));
        }
    }

    /// Gives a zone one input that it always takes, and then what waits, as far as it takes that.
    fn feed(&mut self, zone: ZoneId, input: Option<ZoneInput>) {
        if let Some(input) = input {
            self.handle(zone, input);
        }
        while let Some(seat) = self.seats.get_mut(&zone) {
            if !seat.machine.is_accepting() {
                break;
            }
            let Some((owner, message)) = seat.waiting.pop_front() else { break };
            seat.depth.shrink();
            self.handle(zone, ZoneInput::FromHub(owner, message));
        }
        self.plan(zone);
    }

    fn handle(&mut self, zone: ZoneId, input: ZoneInput) {
        let now = self.around.clock.now();
        let Some(seat) = self.seats.get_mut(&zone) else { return };
        let outcome = catch_unwind(AssertUnwindSafe(|| seat.machine.handle(now, input)));
        if outcome.is_err() {
            // Callbacks are caught by the machine: this is a fault of its own, and costs the zone.
            let owner = seat.machine.owner();
            self.remove(zone);
            let text = "the zone's machine panicked".to_owned();
            return self.tell_hub(zone, owner, ToHub::Faulted { poisoned: None, text });
        }
        self.drain(zone);
    }

    fn drain(&mut self, zone: ZoneId) {
        let Some(seat) = self.seats.get_mut(&zone) else { return };
        let owner = seat.machine.owner();
        while let Some(output) = seat.machine.next_output() {
            match output {
                ZoneOutput::Send { link, frame, .. } => {
                    self.around.lines.send(link.connection, frame);
                }
                ZoneOutput::Native { session, delivery } => {
                    let natives = self.around.natives.pin();
                    if natives.get(&session).is_some_and(|to| to.try_send(delivery).is_err()) {
                        tracing::warn!(%session, "a native session does not listen in time");
                    }
                }
                ZoneOutput::ToHub(message) => {
                    let input = HubInput::FromZone(zone, owner, message);
                    // An error means that the hub has ended.
                    let _ = self.around.hub.blocking_send(input);
                }
                ZoneOutput::Commit(batch) => {
                    let _ = self.around.ledger.send(Entry::Commit(batch));
                }
                ZoneOutput::StartJob { job, request } => {
                    let doors = self.doors.clone();
                    self.around.jobs.run(seat.name.clone(), request, move |result| {
                        doors.send(zone, ToThread::JobDone(zone, owner, job, result));
                    });
                }
                ZoneOutput::Event(event) => {
                    // An error means that nobody listens.
                    let _ = self.around.events.send(event);
                }
            }
        }
    }

    fn wake_due(&mut self) {
        let now = self.around.clock.now();
        while let Some((at, zone)) = self.alarms.first().copied().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, zone));
            if let Some(seat) = self.seats.get_mut(&zone) {
                seat.wake_at = None;
            }
            self.feed(zone, Some(ZoneInput::Wake));
            self.tell_if_slow(zone, now);
        }
    }

    fn tell_if_slow(&self, zone: ZoneId, since: Time) {
        let Some(seat) = self.seats.get(&zone) else { return };
        let took = self.around.clock.now().since(since);
        if took > seat.tick.unwrap_or(SLOW_WITHOUT_TICK) {
            let (kind, name) = (&seat.name.kind, &seat.name.name);
            tracing::warn!(kind, name = ?name, took_ms = took.as_millis() as u64, "slow tick");
        }
    }

    fn plan(&mut self, zone: ZoneId) {
        let Some(seat) = self.seats.get_mut(&zone) else { return };
        let deadline = seat.machine.next_deadline();
        if seat.wake_at == deadline {
            return;
        }
        if let Some(at) = seat.wake_at.take() {
            self.alarms.remove(&(at, zone));
        }
        if let Some(at) = deadline {
            self.alarms.insert((at, zone));
            seat.wake_at = Some(at);
        }
    }

    fn tell_hub(&self, zone: ZoneId, owner: OwnerEpoch, message: ToHub) {
        let _ = self.around.hub.blocking_send(HubInput::FromZone(zone, owner, message));
    }
}
