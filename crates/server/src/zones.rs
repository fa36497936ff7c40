//! Where zones run: a few threads of their own, off the I/O workers. A zone stays on one thread
//! unless that hangs; its inputs are taken in order, and what waits is fed before time is said to
//! have passed.

mod beat;
mod crew;
mod polls;
mod thread;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::exchange::ToZone;
use rejoin_core::id::{JobId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::zone::ZoneSpec;

use crate::clock::Clock;
use crate::connection_table::{ConnectionTable, WakeUps};
use crate::jobs::JobThreads;
use crate::kinds::Kinds;
use crate::mailbox::InnerDoor;
use crate::natives::Natives;
use crate::sight::SharedSight;
use crate::store_thread::StoreSender;

use self::crew::Crew;
pub(crate) use self::watch::Lanes;
use self::watch::Watch;

/// How many messages of the hub a zone has not taken yet; both sides count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depth(Arc<AtomicUsize>);

impl Depth {
    /// One more, if there is room.
    pub(crate) fn grow(&self, max: usize) -> bool {
        let fits = self.0.load(Ordering::Acquire) < max;
        if fits {
            self.force();
        }
        fits
    }

    /// One more, in any case.
    pub(crate) fn force(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn shrink(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a thread is told about one of its zones.
pub(crate) enum ToThread {
    Open(Box<ZoneSpec>, Opened, Depth),
    Drop(ZoneId),
    Mail(ZoneId, OwnerEpoch, ToZone),
    Committed(ZoneId, OwnerEpoch, Revision),
    JobDone(ZoneId, OwnerEpoch, JobId, Bytes),
    /// The store is full, or has room again: all zones hear of it.
    StoreFull(bool),
    /// All of this, in order: a thread is woken once for it.
    Many(Vec<ToThread>),
    Stop,
}

/// The way to the zones: each lives on the thread that its id names.
#[derive(Clone)]
pub(crate) struct ZoneDoors(Arc<[Door]>);

struct Door {
    inbox: Sender<ToThread>,
    /// Nobody reads the inbox any more.
    is_closed: AtomicBool,
}

impl ZoneDoors {
    /// False: nobody will read it.
    pub(crate) fn send(&self, zone: ZoneId, message: ToThread) -> bool {
        self.0[self.index(zone)].send(message)
    }

    /// Which thread a zone lives on.
    fn index(&self, zone: ZoneId) -> usize {
        (zone.0 % self.0.len() as u64) as usize
    }

    /// Tells every zone that the store is full, or has room again.
    pub(crate) fn store_full(&self, is_full: bool) {
        for door in self.0.iter() {
            // An error means that the thread has ended.
            let _ = door.inbox.send(ToThread::StoreFull(is_full));
        }
    }

    pub(crate) fn stop(&self) {
        for door in self.0.iter() {
            // An error means that the thread has ended.
            let _ = door.inbox.send(ToThread::Stop);
        }
    }

    /// Whether every thread of zones still runs.
    pub(crate) fn are_open(&self) -> bool {
        self.0.iter().all(|door| !door.is_closed.load(Ordering::Acquire))
    }

    fn close(&self, index: usize) {
        self.0[index].is_closed.store(true, Ordering::Release);
    }
}

impl Door {
    fn send(&self, message: ToThread) -> bool {
        let is_sent = self.inbox.send(message).is_ok();
        // Looked at afterwards: whoever closes the door marks it before it empties the inbox.
        is_sent && !self.is_closed.load(Ordering::Acquire)
    }
}

/// What one sender has said to zones and not sent yet, by thread.
pub(crate) struct Mailbag {
    doors: ZoneDoors,
    bags: Vec<Vec<ToThread>>,
}

impl Mailbag {
    pub(crate) fn new(doors: ZoneDoors) -> Self {
        let bags = doors.0.iter().map(|_| Vec::new()).collect();
        Self { doors, bags }
    }

    pub(crate) fn put(&mut self, zone: ZoneId, message: ToThread) {
        self.bags[self.doors.index(zone)].push(message);
    }

    /// Sends everything, and then this. False: nobody will read it.
    pub(crate) fn send_now(&mut self, zone: ZoneId, message: ToThread) -> bool {
        self.send();
        self.doors.send(zone, message)
    }

    /// Sends everything.
    pub(crate) fn send(&mut self) {
        for (bag, door) in self.bags.iter_mut().zip(self.doors.0.iter()) {
            if !bag.is_empty() {
                let next = Vec::with_capacity(bag.len().min(BAG_MAX));
                door.send(ToThread::Many(std::mem::replace(bag, next)));
            }
        }
    }

    /// Tells every zone that the store is full, or has room again.
    pub(crate) fn store_full(&mut self, is_full: bool) {
        self.send();
        self.doors.store_full(is_full);
    }

    /// Tells the threads to stop, once they have read everything.
    pub(crate) fn stop(&mut self) {
        self.send();
        self.doors.stop();
    }
}

/// Room that is kept for the next messages: as many as came last, but not after a flood.
const BAG_MAX: usize = 64;

/// How many threads hang in game code, and how many may before no more are replaced.
#[derive(Clone, Debug)]
struct Hung {
    count: Arc<AtomicUsize>,
    max: usize,
}

impl Hung {
    /// One more hangs. False: it is not replaced.
    fn one_more(&self) -> bool {
        self.count.fetch_add(1, Ordering::AcqRel) < self.max
    }

    fn one_less(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
}

/// What zones need to act.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) clock: Clock,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) connections: ConnectionTable,
    pub(crate) hub: InnerDoor,
    pub(crate) store: StoreSender,
    pub(crate) jobs: Arc<JobThreads>,
    pub(crate) sight: SharedSight,
    pub(crate) natives: Arc<Natives>,
}

/// Starts the threads, and the one that watches them.
pub(crate) fn start(
    count: usize,
    hung_max: usize,
    surroundings: &Surroundings,
    chance: &mut Chance,
) -> std::io::Result<(ZoneDoors, Lanes)> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count.max(1)).map(|_| channel()).unzip();
    let door = |inbox| Door { inbox, is_closed: AtomicBool::new(false) };
    let watch = Watch {
        around: surroundings.clone(),
        doors: ZoneDoors(senders.into_iter().map(door).collect()),
        lanes: Lanes::default(),
        hung: Hung { count: Arc::default(), max: hung_max },
    };
    let (doors, lanes) = (watch.doors.clone(), watch.lanes.clone());
    for (index, inbox) in receivers.into_iter().enumerate() {
        let chance = chance.branch("zone thread", index as u64);
        let wake_ups = Arc::new(WakeUps::start());
        watch.add(Box::new(Crew::new(inbox, chance, wake_ups)))?;
    }
    let builder = std::thread::Builder::new().name("rejoin-watch".to_owned());
    builder.spawn(move || watch.run())?;
    Ok((doors, lanes))
}
