//! One member of a zone: who it is, and its streams in both directions. The row of a member is keyed by its
//! session and stay; one that is leaving stays here until the session has committed what it takes over.

use bytes::Bytes;
use rejoin_wire::v1::PartCause;

use crate::call::Calls;
use crate::exchange::ZoneName;
use crate::id::{ObjectId, PlayerId, SessionEpoch};
use crate::stream::{Inbound, Outbound};
use crate::time::Time;

/// A member on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub cause: PartCause,
    pub next: Option<(ZoneName, Bytes)>,
}

/// A member of the zone, active or leaving.
#[derive(Debug)]
pub(crate) struct Member {
    pub player: PlayerId,
    pub native: bool,
    /// The number of its `Joined`: what was said before is not for it.
    pub joined: u64,
    /// The fence: frames of any other epoch are not heard.
    pub epoch: SessionEpoch,
    pub leaving: Option<Leaving>,
    /// It is about to leave: nobody can ask it anything any more.
    pub parting: bool,
    /// Its stream of frames from the zone, with what its client has not acknowledged.
    pub outbound: Outbound,
    /// How far the stream of its client's numbered frames is consumed.
    pub inbound: Inbound,
    /// When it was last told because of its own frame how far that is consumed.
    pub acked_at: Time,
    /// When it is looked at for what is due of it; not later than the first of its deadlines.
    pub alarm_at: Option<Time>,
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
        self.native || self.outbound.link().is_some()
    }

    /// The number of this stay among all stays of its session.
    pub(crate) fn stay(&self) -> u32 {
        self.outbound.leg().stay
    }

    /// The first instant, in service time, at which something is due of it.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let due = [self.outbound.progress_at(), self.calls.next_deadline()];
        due.into_iter().flatten().min()
    }

    /// What the ring must keep for it: everything above this.
    pub(crate) fn needs_after(&self) -> u64 {
        let acked = self.outbound.acked();
        if self.native || !self.is_active() || self.outbound.newest() <= acked {
            u64::MAX
        } else {
            acked
        }
    }
}
