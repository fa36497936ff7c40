//! What is counted of each session: frames and bytes of all its connections, and whether its frames
//! are logged. A connection finds its session's tally once, when it is linked, and from then on
//! counting is a few plain additions without a lock or a lookup.

use std::collections::BinaryHeap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rejoin_core::id::SessionId;
use rejoin_core::time::WallTime;

use crate::frame_log::FrameLog;
use crate::metrics::Transport;

/// Which gauge a session counts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Attendance {
    /// It lives in the server.
    Native = 0,
    /// A connection speaks for it.
    Active = 1,
    /// It waits for its player.
    Held = 2,
}

impl Attendance {
    fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Active,
            2 => Self::Held,
            _ => Self::Native,
        }
    }
}

/// The figures of one session.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) session: SessionId,
    pub(crate) began: WallTime,
    attendance: AtomicU8,
    frame_log: AtomicU8,
    received: AtomicU64,
    received_bytes: AtomicU64,
    sent: AtomicU64,
    sent_bytes: AtomicU64,
}

/// What a tally said at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Figures {
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
}

impl Tally {
    pub(crate) fn new(session: SessionId, began: WallTime, attendance: Attendance) -> Self {
        Self {
            session,
            began,
            attendance: AtomicU8::new(attendance as u8),
            frame_log: AtomicU8::new(0),
            received: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn receive(&self, bytes: u64) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.received_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn send(&self, bytes: u64) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Changes who is there; says how it was before. Only the hub's task does this.
    pub(crate) fn attend(&self, attendance: Attendance) -> Attendance {
        Attendance::from_number(self.attendance.swap(attendance as u8, Ordering::Relaxed))
    }

    pub(crate) fn attendance(&self) -> Attendance {
        Attendance::from_number(self.attendance.load(Ordering::Relaxed))
    }

    pub(crate) fn frame_log(&self) -> FrameLog {
        FrameLog::from_number(self.frame_log.load(Ordering::Relaxed))
    }

    pub(crate) fn set_frame_log(&self, log: FrameLog) {
        self.frame_log.store(log as u8, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures {
            received: self.received.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
        }
    }
}

/// The tallies of all sessions there are.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    by_session: papaya::HashMap<SessionId, Arc<Tally>>,
    /// Decides who is in a sample. One key for the process: the same sessions stay in it.
    order: RandomState,
}

impl Tallies {
    pub(crate) fn add(&self, tally: Tally) -> Arc<Tally> {
        let tally = Arc::new(tally);
        self.by_session.pin().insert(tally.session, tally.clone());
        tally
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<Arc<Tally>> {
        self.by_session.pin().get(&session).cloned()
    }

    pub(crate) fn remove(&self, session: SessionId) -> Option<Arc<Tally>> {
        self.by_session.pin().remove(&session).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_session.len()
    }

    /// So many sessions, those with the lowest hashes, by their ids.
    pub(crate) fn sample(&self, count: usize) -> Vec<Arc<Tally>> {
        let mut lowest: BinaryHeap<(u64, SessionId)> = BinaryHeap::with_capacity(count + 1);
        for session in self.by_session.pin().keys() {
            lowest.push((self.order.hash_one(session.0), *session));
            if lowest.len() > count {
                lowest.pop();
            }
        }
        let mut sample: Vec<_> = lowest.into_iter().filter_map(|(_, id)| self.get(id)).collect();
        sample.sort_by_key(|tally| tally.session);
        sample
    }
}

/// What is known of one connection for those who look on.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    origin: OnceLock<ConnectionOrigin>,
    tally: OnceLock<Arc<Tally>>,
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionOrigin {
    pub(crate) transport: Transport,
    /// None: from within this process.
    pub(crate) address: Option<IpAddr>,
}

impl Seen {
    /// Says where the connection comes from; once.
    pub(crate) fn set_origin(&self, transport: Transport, address: Option<IpAddr>) {
        let _ = self.origin.set(ConnectionOrigin { transport, address });
    }

    pub(crate) fn origin(&self) -> Option<ConnectionOrigin> {
        self.origin.get().copied()
    }

    /// The connection speaks for this session. It never speaks for another.
    pub(crate) fn link(&self, tally: Arc<Tally>) {
        let _ = self.tally.set(tally);
    }

    /// None before it is linked: so no frame with a credential is ever logged.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        self.tally.get().map(Arc::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_bounded_and_the_same_sessions_stay_in_it() {
        let tallies = Tallies::default();
        for id in 1..=500 {
            tallies.add(Tally::new(SessionId(id), WallTime(0), Attendance::Active));
        }
        let ids = |count| tallies.sample(count).iter().map(|one| one.session).collect::<Vec<_>>();
        let first = ids(20);
        assert_eq!(first.len(), 20);
        assert_eq!(first, ids(20));
        // A session of a small sample is in a larger one, too.
        assert!(first.iter().all(|id| ids(50).contains(id)));
        // Those that leave make room for others only.
        let gone = first[0];
        tallies.remove(gone);
        let second = ids(20);
        assert!(first[1..].iter().all(|id| second.contains(id)));
        assert_eq!(ids(1_000).len(), 499);
    }
}
