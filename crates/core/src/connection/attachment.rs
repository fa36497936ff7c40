//! A connection that speaks for a session: which one, with which epoch, and what it waits for.

use rejoin_wire::v1::{Up, Welcome};

use crate::id::{Leg, SessionEpoch, SessionId, ZoneId};
use crate::session::token::TokenNumber;
use crate::time::Time;

/// Where a resuming client says it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ResumePoint {
    /// None: without streams.
    pub position: Option<(Leg, u64)>,
    pub oldest_unacked: u64,
}

/// What is needed to give a connection its place, until it has it.
#[derive(Clone)]
pub(crate) struct PendingAttach {
    pub point: ResumePoint,
    pub welcome: Welcome,
    /// A login found the session: it says nothing about its own numbers.
    pub found: bool,
}

impl PendingAttach {
    /// The lowest number that the client still holds; 0: it has none of this session.
    pub(crate) fn oldest_unacked(&self) -> u64 {
        if self.found { 0 } else { self.point.oldest_unacked }
    }
}

/// Why numbered frames must wait; nothing: they need not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FrameGate {
    /// The session's new place has not been told of it yet.
    pub moving: bool,
    /// Zones that still have frames of an earlier stay to give back. There are several when the session
    /// has left one and the next refuses it: opened before both are done, frames would be in wrong order.
    pub settling: Vec<(ZoneId, u32)>,
}

impl FrameGate {
    pub(crate) fn is_open(&self) -> bool {
        !self.moving && self.settling.is_empty()
    }
}

/// What is kept of a connection that speaks for a session.
pub(crate) struct Attachment {
    pub session: SessionId,
    pub epoch: SessionEpoch,
    /// The Welcome is on its way: frames may come.
    pub is_live: bool,
    /// What its Welcome says, until the session's place has sent it.
    pub pending: Option<Box<PendingAttach>>,
    /// The token of its Welcome, until its first frame confirms it.
    pub unconfirmed: Option<TokenNumber>,
    /// A ping that has not been answered: its nonce and when it was sent.
    pub ping: Option<(u64, Time)>,
    pub gate: FrameGate,
    /// Frames that a zone gave back, then those that came meanwhile.
    pub bounced: Vec<Up>,
    pub waiting: Vec<Up>,
}

impl Attachment {
    pub(crate) fn new(
        session: SessionId,
        epoch: SessionEpoch,
        unconfirmed: Option<TokenNumber>,
    ) -> Self {
        Self {
            session,
            epoch,
            is_live: false,
            pending: None,
            unconfirmed,
            ping: None,
            gate: FrameGate::default(),
            bounced: Vec::new(),
            waiting: Vec::new(),
        }
    }
}
