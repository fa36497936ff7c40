//! Where zones run: a few threads of their own, off the I/O workers. A zone stays on one thread;
//! its inputs are taken in order, and what waits is fed before time is said to have passed.

mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::exchange::ToZone;
use rejoin_core::id::{JobId, OwnerEpoch, Revision, SessionId, ZoneId};
use rejoin_core::scope::Opened;
use rejoin_core::zone::{Delivery, ZoneSpec};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::jobs::JobThreads;
use crate::kinds::Kinds;
use crate::ledger::LedgerDoor;
use crate::lines::Lines;
use crate::mailbox::InnerDoor;
use crate::sight::SharedSight;

use self::thread::Thread;

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
    Stop,
}

/// The way to the zones: each lives on the thread that its id names.
#[derive(Clone)]
pub(crate) struct ZoneDoors(Arc<[Sender<ToThread>]>);

impl ZoneDoors {
    pub(crate) fn send(&self, zone: ZoneId, message: ToThread) {
        let index = (zone.0 % self.0.len() as u64) as usize;
        // An error means that the threads have ended: the server is going down.
        let _ = self.0[index].send(message);
    }

    pub(crate) fn stop(&self) {
        for thread in self.0.iter() {
            let _ = thread.send(ToThread::Stop);
        }
    }
}

/// Listeners of native sessions.
pub(crate) type Natives = papaya::HashMap<SessionId, mpsc::Sender<Delivery>>;

/// What zones need to act.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) clock: Clock,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) lines: Lines,
    pub(crate) hub: InnerDoor,
    pub(crate) ledger: LedgerDoor,
    pub(crate) jobs: Arc<JobThreads>,
    pub(crate) sight: SharedSight,
    pub(crate) natives: Arc<Natives>,
}

/// Starts the threads.
pub(crate) fn start(
    count: usize,
    surroundings: &Surroundings,
    chance: &mut Chance,
) -> std::io::Result<(ZoneDoors, Vec<JoinHandle<()>>)> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count.max(1)).map(|_| channel()).unzip();
    let doors = ZoneDoors(senders.into());
    let mut handles = Vec::new();
    for (index, inbox) in receivers.into_iter().enumerate() {
        let chance = chance.branch("zone thread", index as u64);
        let thread = Thread::new(surroundings.clone(), doors.clone(), chance);
        let builder = std::thread::Builder::new().name(format!("rejoin-zone-{index}"));
        handles.push(builder.spawn(move || thread.run(&inbox))?);
    }
    Ok((doors, handles))
}
