//! The zones of one thread, what waits for each and when they want to be woken. While game code of
//! one zone runs, that zone is out and the rest stands ready to be taken over by another thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rejoin_core::chance::Chance;
use rejoin_core::exchange::{ToZone, ZoneName};
use rejoin_core::id::{OwnerEpoch, ZoneId};
use rejoin_core::time::Time;
use rejoin_core::zone::{ZoneInput, ZoneMachine};

use super::polls::{Polls, WAIT_MAX};
use super::{Depth, MAILBOX_MAX, ToThread, may_be_dropped};
use crate::clock::MonotonicClock;
use crate::connection_table::WakeUps;

/// One zone of the set with the inputs that wait for it.
pub(super) struct ZoneSlot {
    pub(super) machine: Box<dyn ZoneMachine>,
    pub(super) name: Arc<ZoneName>,
    pub(super) tick: Option<Duration>,
    pub(super) budget: Duration,
    pub(super) depth: Depth,
    /// Inputs that the zone takes even while it accepts no mail: commits, results of jobs, stalls.
    direct: VecDeque<ZoneInput>,
    waiting: VecDeque<(OwnerEpoch, ToZone)>,
    /// Its entry in the list of alarms.
    wake_at: Option<Time>,
    is_due: bool,
    is_touched: bool,
}

impl ZoneSlot {
    pub(super) fn new(
        machine: Box<dyn ZoneMachine>,
        name: Arc<ZoneName>,
        (tick, budget): (Option<Duration>, Duration),
        depth: Depth,
    ) -> Self {
        Self {
            machine,
            name,
            tick,
            budget,
            depth,
            direct: VecDeque::new(),
            waiting: VecDeque::new(),
            wake_at: None,
            is_due: false,
            is_touched: false,
        }
    }

    /// Its ticks and those it skipped; none without ticks.
    pub(super) fn ticks(&self) -> Option<(u64, u64)> {
        self.tick?;
        let counts = self.machine.counts();
        Some((counts.ticks, counts.ticks_skipped))
    }

    /// Puts a message where the zone finds it.
    fn put(&mut self, owner: OwnerEpoch, message: ToZone) {
        if may_be_dropped(&message) && self.waiting.len() >= MAILBOX_MAX {
            return;
        }
        self.waiting.push_back((owner, message));
        self.depth.set(self.waiting.len());
    }

    /// What the zone hears next; all that waits comes before time is said to have passed.
    pub(super) fn next_input(&mut self) -> Option<ZoneInput> {
        if let Some(input) = self.direct.pop_front() {
            return Some(input);
        }
        if self.machine.is_accepting()
            && let Some((owner, message)) = self.waiting.pop_front()
        {
            self.depth.set(self.waiting.len());
            return Some(ZoneInput::FromHub(owner, message));
        }
        std::mem::take(&mut self.is_due).then_some(ZoneInput::Wake)
    }
}

/// The zone whose game code runs now.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) zone: ZoneId,
    pub(super) owner: OwnerEpoch,
    pub(super) name: Arc<ZoneName>,
    pub(super) budget: Duration,
}

/// The zones of one thread.
pub(super) struct ZoneSet {
    pub(super) inbox: Receiver<ToThread>,
    /// How many messages of connections are in the inbox.
    in_inbox: Arc<AtomicUsize>,
    pub(super) chance: Chance,
    pub(super) running: Option<Running>,
    pub(super) wake_ups: Arc<WakeUps>,
    /// Empty: the zone is out, because it runs.
    slots: BTreeMap<ZoneId, Option<Box<ZoneSlot>>>,
    alarms: BTreeSet<(Time, ZoneId)>,
    /// Zones with something new to hear.
    touched: VecDeque<ZoneId>,
}

impl ZoneSet {
    pub(super) fn new(
        (inbox, in_inbox): (Receiver<ToThread>, Arc<AtomicUsize>),
        chance: Chance,
        wake_ups: Arc<WakeUps>,
    ) -> Self {
        Self {
            inbox,
            in_inbox,
            chance,
            running: None,
            wake_ups,
            slots: BTreeMap::new(),
            alarms: BTreeSet::new(),
            touched: VecDeque::new(),
        }
    }

    /// Waits for a message; while a zone has an alarm, no longer than until that and [`WAIT_MAX`]. None: all
    /// senders are gone.
    pub(super) fn wait(&self, clock: MonotonicClock, polls: &Polls) -> Option<Option<ToThread>> {
        let planned = self.alarms.first().map(|(at, _)| clock.until(*at).min(WAIT_MAX));
        let first = match planned {
            Some(planned) => self.inbox.recv_timeout(planned),
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        // Without an alarm nothing is due of anybody, and no wait is too long.
        polls.look(clock.now(), planned.unwrap_or(Duration::MAX));
        match first {
            Ok(message) => Some(Some(message)),
            Err(RecvTimeoutError::Timeout) => Some(self.inbox.try_recv().ok()),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Puts a message where its zone finds it.
    pub(super) fn put(&mut self, message: ToThread) {
        match message {
            ToThread::Mail(zone, owner, message) => {
                self.touch(zone, |slot| slot.put(owner, message));
            }
            ToThread::FromConnection(zone, owner, message) => {
                self.in_inbox.fetch_sub(1, Ordering::AcqRel);
                self.touch(zone, |slot| slot.put(owner, message));
            }
            ToThread::Committed(zone, owner, revision) => {
                self.put_direct(zone, owner, ZoneInput::Committed(revision));
            }
            ToThread::JobDone(zone, owner, job, result) => {
                self.put_direct(zone, owner, ZoneInput::JobDone(job, result));
            }
            ToThread::StoreFull(is_full) => self.tell_all(&ZoneInput::StoreFull(is_full)),
            ToThread::Open(..) | ToThread::Drop(_) | ToThread::Many(_) | ToThread::Stop => {}
        }
    }

    fn put_direct(&mut self, zone: ZoneId, owner: OwnerEpoch, input: ZoneInput) {
        self.touch(zone, |slot| {
            // Another one is for an incarnation that is gone.
            if slot.machine.owner() == owner {
                slot.direct.push_back(input);
            }
        });
    }

    fn touch(&mut self, zone: ZoneId, put: impl FnOnce(&mut ZoneSlot)) {
        let Some(Some(slot)) = self.slots.get_mut(&zone) else { return };
        put(slot);
        if !std::mem::replace(&mut slot.is_touched, true) {
            self.touched.push_back(zone);
        }
    }

    /// This thread did not run for so long: no zone calls a member late because of that.
    pub(super) fn tell_stalled(&mut self, gap: Duration) {
        self.tell_all(&ZoneInput::Stalled(gap));
    }

    /// Every zone submits what it would have saved later.
    pub(super) fn seal(&mut self) {
        self.tell_all(&ZoneInput::Seal);
    }

    fn tell_all(&mut self, input: &ZoneInput) {
        let zones: Vec<ZoneId> = self.zones().map(|(zone, _)| zone).collect();
        for zone in zones {
            self.touch(zone, |slot| slot.direct.push_back(input.clone()));
        }
    }

    /// Marks the zones whose deadline has come as due.
    pub(super) fn wake_due(&mut self, now: Time) {
        while let Some((at, zone)) = self.alarms.first().copied().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, zone));
            self.touch(zone, |slot| {
                slot.wake_at = None;
                slot.is_due = true;
            });
        }
    }

    /// Takes out the next zone with something to hear.
    pub(super) fn next(&mut self) -> Option<(ZoneId, Box<ZoneSlot>)> {
        loop {
            let zone = self.touched.pop_front()?;
            if let Some(mut slot) = self.slots.get_mut(&zone).and_then(Option::take) {
                slot.is_touched = false;
                return Some((zone, slot));
            }
        }
    }

    /// Puts a zone back and plans when to wake it.
    pub(super) fn put_back(&mut self, zone: ZoneId, mut slot: Box<ZoneSlot>) {
        self.running = None;
        let deadline = slot.machine.next_deadline();
        if slot.wake_at != deadline {
            if let Some(at) = slot.wake_at.take() {
                self.alarms.remove(&(at, zone));
            }
            if let Some(at) = deadline {
                self.alarms.insert((at, zone));
                slot.wake_at = Some(at);
            }
        }
        self.slots.insert(zone, Some(slot));
    }

    /// Forgets a zone; it is given back if it is in.
    pub(super) fn remove(&mut self, zone: ZoneId) -> Option<Box<ZoneSlot>> {
        let slot = self.slots.remove(&zone)?;
        match slot.as_ref().map(|slot| slot.wake_at) {
            Some(None) => {}
            Some(Some(at)) => drop(self.alarms.remove(&(at, zone))),
            // It is out, and knows its alarm itself.
            None => self.alarms.retain(|(_, of)| *of != zone),
        }
        slot
    }

    /// All zones that are in.
    pub(super) fn zones(&self) -> impl Iterator<Item = (ZoneId, OwnerEpoch)> {
        let slots = self.slots.iter();
        slots.filter_map(|(id, slot)| slot.as_ref().map(|slot| (*id, slot.machine.owner())))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use rejoin_core::scope::Opened;
    use rejoin_core::zone::{Context, Sender, Zone, ZoneConfig, ZoneCore, ZoneOutput, ZoneSpec};

    use super::*;

    struct Silent;

    impl Zone for Silent {
        type In = Bytes;
        type Out = Bytes;

        fn on_message(&mut self, _: &mut Context<'_, Bytes>, _: Sender, _: Bytes) {}
    }

    // A zone that holds as much as it may takes nothing of the hub until a commit comes. If that commit
    // waited behind the hub's mail, the zone would never take anything again.
    #[tokio::test]
    async fn a_commit_passes_the_mail_of_a_zone_that_takes_none() {
        let name = ZoneName { kind: "silent".to_owned(), name: "a".to_owned() };
        let zone = ZoneId::of(&name.kind, &name.name);
        let config = ZoneConfig { held_outputs_max: 1, ..ZoneConfig::default() };
        let spec = ZoneSpec {
            id: zone,
            name: name.clone(),
            config,
            // The zone of a Game is kept before anybody hears of it.
            seated: true,
            poisoned: None,
            closed: false,
        };
        let opened = Opened { owner: OwnerEpoch(1), ..Opened::default() };
        let chance = Chance::from_seed([1; 32]);
        let mut machine = ZoneCore::open(Time::ZERO, spec, Silent, &opened, chance);
        let mut outputs = std::iter::from_fn(|| machine.next_output());
        let Some(ZoneOutput::Commit(first)) = outputs.next() else { panic!("it is kept first") };
        assert!(outputs.next().is_none(), "that it is open waits for the commit");

        let (_sender, inbox) = std::sync::mpsc::channel();
        let wake_ups = Arc::new(WakeUps::start());
        let chance = Chance::from_seed([2; 32]);
        let mut zones = ZoneSet::new((inbox, Arc::default()), chance, wake_ups);
        let budget = (None, Duration::from_secs(5));
        let slot = ZoneSlot::new(Box::new(machine), Arc::new(name), budget, Depth::default());
        zones.put_back(zone, Box::new(slot));
        zones.put(ToThread::Mail(zone, OwnerEpoch(1), ToZone::End));
        let (_, mut slot) = zones.next().expect("it has mail");
        assert!(slot.next_input().is_none(), "it takes no mail now");
        zones.put_back(zone, slot);
        zones.put(ToThread::Committed(zone, OwnerEpoch(1), first.revision));
        let (_, mut slot) = zones.next().expect("it has a commit to hear");
        let Some(input) = slot.next_input() else { panic!("the commit passes") };
        assert!(matches!(input, ZoneInput::Committed(_)));
        slot.machine.handle(Time::ZERO, input);
        assert!(matches!(slot.next_input(), Some(ZoneInput::FromHub(_, ToZone::End))));
    }
}
