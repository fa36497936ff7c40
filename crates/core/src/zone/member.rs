//! One member of a zone: who it is, how far its client has read, and how far we have read its
//! client. The row of a member is keyed by its session and stay; one that is leaving stays here
//! until the session has committed what it takes over.

use std::collections::VecDeque;

use bytes::Bytes;
use rejoin_wire::v1::{PartCause, RungReason};

use crate::call::Calls;
use crate::exchange::{Link, ZoneName};
use crate::id::{Leg, ObjectId, PlayerId, SessionEpoch};
use crate::outbox::Kept;
use crate::session::LostUpstream;
use crate::time::Time;

/// A member on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub cause: PartCause,
    pub next: Option<(ZoneName, Bytes)>,
    /// The number of its `Parted`.
    pub last: u64,
}

/// A resync that the client has not acknowledged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resyncing {
    pub seq: u64,
    /// Another one is due once this one is acknowledged.
    pub again: bool,
}

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    pub player: PlayerId,
    pub leg: Leg,
    pub native: bool,
    /// The number of its `Joined`: what was said before is not for it.
    pub joined: u64,
    /// The fence: frames of any other epoch are not heard.
    pub epoch: SessionEpoch,
    pub link: Option<Link>,
    pub leaving: Option<Leaving>,
    /// It is about to leave: nobody can ask it anything any more.
    pub parting: bool,

    // What it hears.
    /// The highest number addressed to it.
    pub newest: u64,
    /// The highest number put on its present link.
    pub sent: u64,
    /// The highest number that has left on its present link; what is sent waits for its commit first.
    pub left: u64,
    /// The highest number its client has.
    pub acked: u64,
    /// A number it had not acknowledged has been forgotten.
    pub lost: u64,
    /// Why the stream it had before this turn was given up.
    pub turned: RungReason,
    /// What was said to it alone and is not acknowledged.
    pub outbox: VecDeque<Kept>,
    pub outbox_bytes: usize,
    /// Numbers and sizes on the present link that are not acknowledged.
    pub flight: VecDeque<(u64, usize)>,
    pub flight_bytes: usize,
    pub resyncing: Option<Resyncing>,
    /// An acknowledgement is due by then, in service time.
    pub progress_at: Option<Time>,
    /// When it is looked at for what is due of it; not later than the first of its deadlines.
    pub alarm_at: Option<Time>,

    // What it says.
    /// The highest number consumed.
    pub applied: u64,
    /// Numbers that were lost with a stream that rolled back, and may still have to be told.
    pub lost_upstream: LostUpstream,
    /// The highest number its client has been told is consumed.
    pub told: u64,
    /// When it was told the last time because of its own frame.
    pub told_at: Time,
    /// Numbers that made the zone panic; they are consumed unheard.
    pub poisoned: Vec<u64>,

    pub calls: Calls,
    pub avatar: Option<ObjectId>,
    pub data: Bytes,
    /// The number of the last word from outside the game that is in its stream.
    pub heard: u64,
}

impl Member {
    pub(crate) fn is_active(&self) -> bool {
        self.leaving.is_none()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.native || self.link.is_some()
    }

    /// Whether something addressed to it has not been put on its link.
    pub(crate) fn is_behind(&self) -> bool {
        self.newest > self.sent
    }

    /// Whether something has left that its client has not acknowledged.
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.left > self.acked || self.resyncing.is_some()
    }

    /// What the ring must keep for it: everything above this.
    pub(crate) fn needs_after(&self) -> u64 {
        if self.native || !self.is_active() || self.newest <= self.acked {
            u64::MAX
        } else {
            self.acked
        }
    }

    /// The present link is gone; what was on it may not have arrived.
    pub(crate) fn unlink(&mut self) {
        self.link = None;
        self.left = 0;
        // Whoever is gone may be gone for long: spare memory is given back.
        self.flight = VecDeque::new();
        self.flight_bytes = 0;
        self.outbox.shrink_to_fit();
        self.progress_at = None;
    }

    /// The client has everything up to here.
    pub(crate) fn acknowledge(&mut self, seq: u64) {
        self.acked = self.acked.max(seq);
        while self.flight.front().is_some_and(|(number, _)| *number <= seq) {
            if let Some((_, bytes)) = self.flight.pop_front() {
                self.flight_bytes -= bytes;
            }
        }
        while self.outbox.front().is_some_and(|kept| kept.seq <= seq) {
            if let Some(kept) = self.outbox.pop_front() {
                self.outbox_bytes -= kept.frame.len();
            }
        }
    }

    /// Starts its stream afresh after `seq`: what came before is given up.
    pub(crate) fn restart(&mut self, leg: Leg, seq: u64, reason: RungReason) {
        self.leg = leg;
        self.turned = reason;
        self.newest = seq;
        self.sent = seq;
        self.left = 0;
        self.acked = seq;
        self.lost = 0;
        self.outbox.clear();
        self.outbox_bytes = 0;
        self.flight.clear();
        self.flight_bytes = 0;
    }
}
