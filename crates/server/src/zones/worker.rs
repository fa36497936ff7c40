//! The body of one worker thread: takes messages from its inbox, feeds them to the machines of its
//! zones, wakes zones whose deadline has come, and carries out their outputs in order. Whatever may call
//! game code runs between a `begin` and an `end`; a thread that was given up in between discards the
//! result and ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rejoin_core::exchange::{Link, ToHub, ZoneName};
use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::time::Time;
use rejoin_core::wire::SharedFrame;
use rejoin_core::zone::{ZoneInput, ZoneOutput, ZoneSpec};

use super::polls::Polls;
use super::watched_callback::WatchedCallback;
use super::zone_set::{Running, ZoneSet, ZoneSlot};
use super::{Depth, StuckThreads, Surroundings, ToThread, ZoneInboxes};
use crate::connection_table::WakeUps;
use crate::logbook::Cause;
use crate::store_thread::StoreRequest;

/// Messages that are taken before the clock is looked at again, so that no flood stops time.
const BATCH_MAX: usize = 4_096;
/// A wake-up of a zone without ticks is logged as slow if it takes longer than this.
const SLOW_WITHOUT_TICK: Duration = Duration::from_millis(50);

/// Why a zone cannot go on here.
enum Lost {
    /// Its machine panicked, which costs this zone alone.
    Broken,
    /// The whole thread was given up.
    WrittenOff,
}

/// What a worker thread owns beside its zones.
pub(super) struct Worker {
    pub(super) around: Surroundings,
    pub(super) inboxes: ZoneInboxes,
    pub(super) callback: Arc<WatchedCallback>,
    pub(super) stuck_threads: StuckThreads,
    pub(super) wake_ups: Arc<WakeUps>,
    pub(super) polls: Polls,
}

impl Worker {
    /// Runs until a `Stop` comes or the watchdog gives the thread up.
    pub(super) fn run(self) {
        let mut unparked = self.callback.unpark();
        while let Some(zones) = unparked {
            unparked = self.turn(zones);
        }
    }

    /// Takes what waits and lets each zone hear it. None: the thread ends.
    fn turn(&self, mut zones: Box<ZoneSet>) -> Option<Box<ZoneSet>> {
        self.wake_ups.send();
        let mut next = zones.wait(self.around.clock, &self.polls)?;
        self.tell_stalled(&mut zones);
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
                        zones = self.open(zones, *spec, &opened, depth)?;
                    }
                    ToThread::Drop(zone) => zones = self.remove(zones, zone)?,
                    message => zones.put(message),
                }
            }
            next = if more > 0 && !is_stopping { zones.inbox.try_recv().ok() } else { None };
        }
        if is_stopping {
            zones.seal();
        }
        zones.wake_due(self.around.clock.now());
        while let Some((zone, slot)) = zones.next() {
            zones = self.feed(zones, zone, slot)?;
            self.polls.look(self.around.clock.now(), Duration::ZERO);
            self.tell_stalled(&mut zones);
        }
        (!is_stopping).then_some(zones)
    }

    /// If this thread did not run, its zones hear that before anything else.
    fn tell_stalled(&self, zones: &mut ZoneSet) {
        if let Some(gap) = self.polls.take_stall() {
            zones.tell_stalled(gap);
        }
    }

    fn feed(
        &self,
        mut zones: Box<ZoneSet>,
        zone: ZoneId,
        mut slot: Box<ZoneSlot>,
    ) -> Option<Box<ZoneSet>> {
        let (owner, name) = (slot.machine.owner(), slot.name.clone());
        zones.running = Some(Running { zone, owner, name, budget: slot.budget });
        self.callback.park(zones);
        let outcome = self.hear_all(zone, &mut slot);
        match outcome {
            Err(Lost::WrittenOff) => self.came_back(&slot.name),
            Err(Lost::Broken) => {
                let zones = self.callback.unpark()?;
                let text = "the zone's machine panicked".to_owned();
                let fault = ToHub::Faulted { poisoned: None, stuck: false, left: Vec::new(), text };
                self.tell_hub(zone, owner, fault);
                self.discard(zones, zone, Some(slot))
            }
            Ok(()) => {
                let mut zones = self.callback.unpark()?;
                zones.put_back(zone, slot);
                Some(zones)
            }
        }
    }

    fn hear_all(&self, zone: ZoneId, slot: &mut ZoneSlot) -> Result<(), Lost> {
        while let Some(input) = slot.next_input() {
            let since = self.around.clock.now();
            self.polls.look(since, Duration::ZERO);
            let is_wake = matches!(input, ZoneInput::Wake);
            let before =
                if is_wake { (slot.machine.next_deadline(), slot.ticks()) } else { (None, None) };
            self.hear(since, slot, input)?;
            self.drain(zone, slot);
            if is_wake {
                let late = before.0.map_or(Duration::ZERO, |due| since.since(due));
                self.count_ticks(before.1, slot.ticks(), late);
                self.tell_if_slow(slot, since);
            }
        }
        Ok(())
    }

    fn hear(&self, now: Time, slot: &mut ZoneSlot, input: ZoneInput) -> Result<(), Lost> {
        let culprit = match &input {
            ZoneInput::FromHub(_, message) => message.culprit(),
            _ => None,
        };
        let begun = self.callback.begin(now, slot.budget, culprit);
        let outcome = catch_unwind(AssertUnwindSafe(|| slot.machine.handle(now, input)));
        if !self.callback.end(&begun) {
            return Err(Lost::WrittenOff);
        }
        // Callbacks are caught by the machine: this is a fault of its own.
        outcome.map_err(|_| Lost::Broken)
    }

    fn open(
        &self,
        zones: Box<ZoneSet>,
        spec: ZoneSpec,
        opened: &Opened,
        depth: Depth,
    ) -> Option<Box<ZoneSet>> {
        let (zone, name, owner) = (spec.id, Arc::new(spec.name.clone()), opened.owner);
        let (tick, budget) = (spec.config.tick, spec.config.callback_budget);
        let mut zones = self.remove(zones, zone)?;
        let Some(open) = self.around.kinds.get(&name.kind).cloned() else {
            let text = format!("no game code is registered for the kind {:?}", name.kind);
            self.tell_hub(zone, owner, ToHub::OpenRefused { text });
            return Some(zones);
        };
        let chance = zones.chance.branch("zone", zone.0);
        zones.running = Some(Running { zone, owner, name: name.clone(), budget });
        self.callback.park(zones);
        let now = self.around.clock.now();
        let begun = self.callback.begin(now, budget, None);
        let machine = catch_unwind(AssertUnwindSafe(|| open(now, spec, opened, chance)));
        if !self.callback.end(&begun) {
            return self.came_back(&name);
        }
        let slot = machine.map(|machine| {
            let mut slot = Box::new(ZoneSlot::new(machine, name, (tick, budget), depth));
            self.drain(zone, &mut slot);
            slot
        });
        let mut zones = self.callback.unpark()?;
        match slot {
            Ok(slot) => zones.put_back(zone, slot),
            Err(_) => {
                let text = "the game code panicked before its zone was open".to_owned();
                self.tell_hub(zone, owner, ToHub::OpenRefused { text });
            }
        }
        Some(zones)
    }

    fn remove(&self, mut zones: Box<ZoneSet>, zone: ZoneId) -> Option<Box<ZoneSet>> {
        let slot = zones.remove(zone);
        self.discard(zones, zone, slot)
    }

    /// Drops a zone, which may run the game's code as well.
    fn discard(
        &self,
        mut zones: Box<ZoneSet>,
        zone: ZoneId,
        slot: Option<Box<ZoneSlot>>,
    ) -> Option<Box<ZoneSet>> {
        let Some(slot) = slot else { return Some(zones) };
        drop(zones.remove(zone));
        let (owner, name, budget) = (slot.machine.owner(), slot.name.clone(), slot.budget);
        zones.running = Some(Running { zone, owner, name: name.clone(), budget });
        self.callback.park(zones);
        let begun = self.callback.begin(self.around.clock.now(), budget, None);
        if catch_unwind(AssertUnwindSafe(|| drop(slot))).is_err() {
            tracing::error!(kind = name.kind, name = ?name.name, "a zone panicked as it was dropped");
        }
        if !self.callback.end(&begun) {
            return self.came_back(&name);
        }
        let mut zones = self.callback.unpark()?;
        zones.running = None;
        Some(zones)
    }

    /// What was given up is back: nothing came of it, and its thread ends.
    fn came_back(&self, name: &ZoneName) -> Option<Box<ZoneSet>> {
        self.stuck_threads.one_less();
        let (kind, name) = (&name.kind, &name.name);
        tracing::warn!(kind, name = ?name, "a stuck callback returned; what it did is discarded");
        None
    }

    fn drain(&self, zone: ZoneId, slot: &mut ZoneSlot) {
        let owner = slot.machine.owner();
        while let Some(output) = slot.machine.next_output() {
            match output {
                ZoneOutput::Send { link, frame, .. } => self.send(link, frame),
                ZoneOutput::SendToMany { to, frame } => {
                    to.into_iter().for_each(|(_, link)| self.send(link, frame.clone()));
                }
                ZoneOutput::SendAll { link, frames, .. } => {
                    frames.into_iter().for_each(|frame| self.send(link, frame));
                }
                ZoneOutput::Applied { link, seq, .. } => {
                    let connections = &self.around.connections;
                    connections.acknowledge_and_wake_later(link.connection, seq, &self.wake_ups);
                }
                ZoneOutput::ToConnection { link, message, .. } => {
                    self.around.connections.tell(link.connection, message);
                }
                ZoneOutput::Native { session, delivery } => {
                    self.around.local_sessions.tell(session, delivery);
                }
                ZoneOutput::ToHub(message) => self.tell_hub(zone, owner, message),
                ZoneOutput::Commit(batch) => {
                    let _ = self.around.store.send(StoreRequest::Commit(batch));
                }
                ZoneOutput::StartJob { job, request } => {
                    let inboxes = self.inboxes.clone();
                    self.around.jobs.run((*slot.name).clone(), request, move |result| {
                        inboxes.send(zone, ToThread::JobDone(zone, owner, job, result));
                    });
                }
                ZoneOutput::Event(event) => self.around.sight.tell(event),
            }
        }
    }

    fn send(&self, link: Link, frame: SharedFrame) {
        let connections = &self.around.connections;
        connections.send_and_wake_later(link.connection, frame, &self.wake_ups);
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

    fn tell_if_slow(&self, slot: &ZoneSlot, since: Time) {
        let took = self.around.clock.now().since(since);
        if took > slot.tick.unwrap_or(SLOW_WITHOUT_TICK) {
            self.around.sight.metrics.ticks_slow.inc();
            let Some(suppressed) = self.around.sight.logbook.pass(Cause::SlowTick) else { return };
            let (kind, name) = (&slot.name.kind, &slot.name.name);
            let took_ms = took.as_millis() as u64;
            tracing::warn!(kind, ?name, took_ms, suppressed, "slow tick");
        }
    }

    fn tell_hub(&self, zone: ZoneId, owner: OwnerEpoch, message: ToHub) {
        // An error means that the hub has ended.
        let _ = self.around.hub.blocking_send(HubInput::FromZone(zone, owner, message));
    }
}
