//! Where zones run: a few threads of their own, off the I/O workers. A zone stays on one thread
//! unless that hangs; its inputs are taken in order, and what waits is fed before time is said to
//! have passed.

mod polls;
mod watchdog;
mod watched_callback;
mod worker;
mod zone_set;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::exchange::ToZone;
use rejoin_core::id::{JobId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::zone::ZoneSpec;

use crate::clock::MonotonicClock;
use crate::connection_table::{ConnectionTable, WakeUps};
use crate::jobs::JobThreads;
use crate::kinds::Kinds;
use crate::local_sessions::LocalSessions;
use crate::mailbox::InternalSender;
use crate::sight::SharedSight;
use crate::store_thread::StoreSender;

use self::watchdog::Watchdog;
pub(crate) use self::watchdog::WorkerThreads;
use self::zone_set::ZoneSet;

/// How many messages of the hub and of connections a zone has not taken yet, as its thread counts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depth(Arc<AtomicUsize>);

impl Depth {
    fn set(&self, count: usize) {
        self.0.store(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the hub, the store's thread and job threads send to the thread of a zone.
pub(crate) enum ToThread {
    Open(Box<ZoneSpec>, Opened, Depth),
    Drop(ZoneId),
    Mail(ZoneId, OwnerEpoch, ToZone),
    /// The same from a connection.
    FromConnection(ZoneId, OwnerEpoch, ToZone),
    Committed(ZoneId, OwnerEpoch, Revision),
    JobDone(ZoneId, OwnerEpoch, JobId, Bytes),
    /// The store is full, or has room again: the thread passes it to all its zones.
    StoreFull(bool),
    /// Several messages, in order: the thread is woken once for all of them.
    Many(Vec<ToThread>),
    Stop,
}

/// The inboxes of all threads of zones. A zone's id decides which thread it lives on.
#[derive(Clone)]
pub(crate) struct ZoneInboxes(Arc<[Inbox]>);

struct Inbox {
    sender: Sender<ToThread>,
    /// Set when the thread is gone for good and nothing takes messages out any more.
    is_closed: AtomicBool,
    /// Messages of connections that the thread has not taken out yet.
    waiting: Arc<AtomicUsize>,
}

/// Acknowledgements and unreliable messages of connections that may wait for one thread, and for one zone. At the
/// bound more of them are dropped, which both allow. Numbered frames are bounded by their clients' windows.
const MAILBOX_MAX: usize = 65_536;

impl ZoneInboxes {
    /// The inbox of one thread, for tests.
    #[cfg(test)]
    pub(crate) fn of(sender: Sender<ToThread>) -> Self {
        let (is_closed, waiting) = (AtomicBool::new(false), Arc::default());
        Self(Arc::new([Inbox { sender, is_closed, waiting }]))
    }

    /// Sends a message to the thread of a zone. False: the thread has ended and will not read it.
    pub(crate) fn send(&self, zone: ZoneId, message: ToThread) -> bool {
        self.0[self.index(zone)].send(message)
    }

    /// Sends a connection's message to the thread of a zone.
    pub(crate) fn send_from_connection(&self, zone: ZoneId, owner: OwnerEpoch, message: ToZone) {
        let inbox = &self.0[self.index(zone)];
        if may_be_dropped(&message) && inbox.waiting.load(Ordering::Acquire) >= MAILBOX_MAX {
            return;
        }
        inbox.waiting.fetch_add(1, Ordering::AcqRel);
        // A thread that has ended reads nothing, and the hub was told so.
        inbox.send(ToThread::FromConnection(zone, owner, message));
    }

    /// Which thread a zone lives on.
    fn index(&self, zone: ZoneId) -> usize {
        (zone.0 % self.0.len() as u64) as usize
    }

    /// Tells every zone that the store is full, or has room again.
    pub(crate) fn store_full(&self, is_full: bool) {
        for inbox in self.0.iter() {
            // An error means that the thread has ended.
            let _ = inbox.sender.send(ToThread::StoreFull(is_full));
        }
    }

    pub(crate) fn stop(&self) {
        for inbox in self.0.iter() {
            // An error means that the thread has ended.
            let _ = inbox.sender.send(ToThread::Stop);
        }
    }

    /// Whether every thread of zones still runs.
    pub(crate) fn are_open(&self) -> bool {
        self.0.iter().all(|inbox| !inbox.is_closed.load(Ordering::Acquire))
    }

    fn close(&self, index: usize) {
        self.0[index].is_closed.store(true, Ordering::Release);
    }
}

/// Whether a message may be lost without harm.
fn may_be_dropped(message: &ToZone) -> bool {
    matches!(message, ToZone::Loose { .. } | ToZone::Ack { .. })
}

impl Inbox {
    fn send(&self, message: ToThread) -> bool {
        let is_sent = self.sender.send(message).is_ok();
        // Read after sending: the watchdog marks the inbox closed before it empties it, so a message is
        // either emptied out with the rest or reported to its sender here.
        is_sent && !self.is_closed.load(Ordering::Acquire)
    }
}

/// One sender's messages to zones, collected by thread until [`send`](Self::send), so that each thread
/// is woken once for all of them.
pub(crate) struct ZoneSenders {
    inboxes: ZoneInboxes,
    batches: Vec<Vec<ToThread>>,
}

impl ZoneSenders {
    pub(crate) fn new(inboxes: ZoneInboxes) -> Self {
        let batches = inboxes.0.iter().map(|_| Vec::new()).collect();
        Self { inboxes, batches }
    }

    pub(crate) fn put(&mut self, zone: ZoneId, message: ToThread) {
        self.batches[self.inboxes.index(zone)].push(message);
    }

    /// Sends all collected messages, and then this one. False: its thread has ended and will not read it.
    pub(crate) fn send_now(&mut self, zone: ZoneId, message: ToThread) -> bool {
        self.send();
        self.inboxes.send(zone, message)
    }

    /// Sends all collected messages, one `Many` for each thread that has some.
    pub(crate) fn send(&mut self) {
        for (batch, inbox) in self.batches.iter_mut().zip(self.inboxes.0.iter()) {
            if !batch.is_empty() {
                let next = Vec::with_capacity(batch.len().min(BATCH_ROOM_MAX));
                inbox.send(ToThread::Many(std::mem::replace(batch, next)));
            }
        }
    }

    /// Tells every zone that the store is full, or has room again.
    pub(crate) fn store_full(&mut self, is_full: bool) {
        self.send();
        self.inboxes.store_full(is_full);
    }

    /// Tells the threads to stop, once they have read everything.
    pub(crate) fn stop(&mut self) {
        self.send();
        self.inboxes.stop();
    }
}

/// Room that is kept for the next messages: as many as came last, but not after a flood.
const BATCH_ROOM_MAX: usize = 64;

/// How many threads hang in game code, and how many may before no more are replaced.
#[derive(Clone, Debug)]
struct StuckThreads {
    count: Arc<AtomicUsize>,
    max: usize,
}

impl StuckThreads {
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

/// What the threads of zones share with the rest of the server.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) clock: MonotonicClock,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) connections: ConnectionTable,
    pub(crate) hub: InternalSender,
    pub(crate) store: StoreSender,
    pub(crate) jobs: Arc<JobThreads>,
    pub(crate) sight: SharedSight,
    pub(crate) local_sessions: Arc<LocalSessions>,
}

/// Starts the threads, and the one that watches them.
pub(crate) fn start(
    count: usize,
    stuck_max: usize,
    surroundings: &Surroundings,
    chance: &mut Chance,
) -> std::io::Result<(ZoneInboxes, WorkerThreads)> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count.max(1)).map(|_| channel()).unzip();
    let inbox = |sender| {
        let (is_closed, waiting) = (AtomicBool::new(false), Arc::default());
        Inbox { sender, is_closed, waiting }
    };
    let watchdog = Watchdog {
        around: surroundings.clone(),
        inboxes: ZoneInboxes(senders.into_iter().map(inbox).collect()),
        workers: WorkerThreads::default(),
        stuck_threads: StuckThreads { count: Arc::default(), max: stuck_max },
    };
    let (inboxes, workers) = (watchdog.inboxes.clone(), watchdog.workers.clone());
    for (index, inbox) in receivers.into_iter().enumerate() {
        let chance = chance.branch("zone thread", index as u64);
        let wake_ups = Arc::new(WakeUps::start());
        let waiting = Arc::clone(&inboxes.0[index].waiting);
        watchdog.add(Box::new(ZoneSet::new((inbox, waiting), chance, wake_ups)))?;
    }
    let builder = std::thread::Builder::new().name("rejoin-watch".to_owned());
    builder.spawn(move || watchdog.run())?;
    Ok((inboxes, workers))
}
