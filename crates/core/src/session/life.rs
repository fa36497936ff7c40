//! Who speaks for a session: nobody yet, a connection, the server itself, or nobody any more. Each state has
//! the data that only it needs.

use std::time::Duration;

use rejoin_wire::v1::Welcome;

use super::token::TokenNumber;
use super::{Downstream, SessionContext, SessionCore};
use crate::exchange::Link;
use crate::hub::Alarm;
use crate::id::{ConnectionId, Leg};
use crate::planted::{Bug, is_armed};
use crate::time::Time;

/// Where a resuming client says it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ResumePoint {
    /// None: without streams.
    pub position: Option<(Leg, u64)>,
    pub oldest_unacked: u64,
}

/// What is needed to give a connection its place, until it has it.
#[derive(Clone, Debug)]
pub(crate) struct PendingAttach {
    pub point: ResumePoint,
    pub welcome: Welcome,
    /// A login found the session: it says nothing about its own numbers.
    pub is_found: bool,
}

impl PendingAttach {
    /// The lowest number that the client still holds; 0: it has none of this session.
    pub(super) fn oldest_unacked(&self) -> u64 {
        if self.is_found { 0 } else { self.point.oldest_unacked }
    }
}

/// How far the connection of a session is.
#[derive(Clone, Debug)]
pub(super) enum AttachStep {
    /// Its epoch is being committed, or its zone is not open yet.
    Waiting(Box<PendingAttach>),
    /// Its zone was told; the zone sends the Welcome.
    AtZone(Box<PendingAttach>),
    /// Its Welcome is outside zones and waits in the gate.
    Welcoming,
    /// Its Welcome has left.
    Live,
}

/// From when on idleness is counted: a connection counts it in service time, and the time in which the store
/// was full does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idleness {
    /// The service time and the hold time at which the connection was last asked.
    pub asked_at: (Time, Time),
    /// How long the store was full since its client's last message, up to then.
    pub stood_still: Duration,
}

/// The connection that speaks for a session.
#[derive(Debug)]
pub(super) struct Attached {
    pub connection: ConnectionId,
    pub step: AttachStep,
    /// The token of its Welcome, until its first frame confirms it.
    pub unconfirmed: Option<TokenNumber>,
    /// The last number, with its leg, that its zone had sent on it before the zone failed.
    pub left: Option<(Leg, u64)>,
    pub idleness: Idleness,
    /// When its idleness is looked at, in hold time, and its progress, in service time.
    pub idle_due: Option<Time>,
    pub progress_due: Option<Time>,
}

impl Attached {
    pub(super) fn new(connection: ConnectionId, step: AttachStep, token: TokenNumber) -> Self {
        Self {
            connection,
            step,
            unconfirmed: Some(token),
            left: None,
            idleness: Idleness::default(),
            idle_due: None,
            progress_due: None,
        }
    }

    /// Whether frames of its client may come: its Welcome has left, or is its zone's to send.
    pub(super) fn is_live(&self) -> bool {
        match self.step {
            AttachStep::AtZone(_) | AttachStep::Live => true,
            AttachStep::Waiting(_) | AttachStep::Welcoming => false,
        }
    }

    /// Its place is a zone, which is told and says the Welcome.
    pub(super) fn go_to_zone(&mut self) {
        if let Some(pending) = self.take_pending() {
            self.step = AttachStep::AtZone(pending);
        }
    }

    /// Takes what its Welcome says: it is said outside zones.
    pub(super) fn take_pending(&mut self) -> Option<Box<PendingAttach>> {
        match std::mem::replace(&mut self.step, AttachStep::Welcoming) {
            AttachStep::Waiting(pending) | AttachStep::AtZone(pending) => Some(pending),
            step @ (AttachStep::Welcoming | AttachStep::Live) => {
                self.step = step;
                None
            }
        }
    }

    /// Whether it waits for its place.
    fn is_pending(&self) -> bool {
        self.pending().is_some()
    }

    /// What its Welcome will say, until its place has sent that.
    pub(super) fn pending(&self) -> Option<&PendingAttach> {
        match &self.step {
            AttachStep::Waiting(pending) | AttachStep::AtZone(pending) => Some(pending),
            AttachStep::Welcoming | AttachStep::Live => None,
        }
    }
}

/// What is known of the time in which nobody is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Away {
    /// When the hold ends, in hold time; none: with a match, or it has not begun.
    pub until: Option<Time>,
    /// When the hold began.
    pub since: Time,
    /// For how long of it the hold stood still, because its player's address was barred.
    pub stood_still: Duration,
}

/// Who is there.
#[derive(Debug)]
pub(super) enum Life {
    /// Nobody has connected yet, and it is not held.
    Preconnect,
    /// A connection speaks for it, with the session's present epoch.
    Attached(Box<Attached>),
    /// The server itself speaks for it.
    Local,
    /// Its connection is gone.
    Away(Away),
}

impl SessionCore {
    pub(super) fn attached(&self) -> Option<&Attached> {
        match &self.life {
            Life::Attached(attached) => Some(attached),
            Life::Preconnect | Life::Local | Life::Away(_) => None,
        }
    }

    pub(super) fn attached_mut(&mut self) -> Option<&mut Attached> {
        match &mut self.life {
            Life::Attached(attached) => Some(attached),
            Life::Preconnect | Life::Local | Life::Away(_) => None,
        }
    }

    /// Lets go of the connection, if there is one: its deadlines end with it.
    pub(super) fn detach(&mut self, cx: &mut SessionContext<'_>, next: Life) {
        if let Life::Attached(attached) = std::mem::replace(&mut self.life, next) {
            Downstream::detach(&mut self.downstream);
            if let Some(at) = attached.progress_due {
                cx.alarms.cancel(at, Alarm::Progress(self.id));
            }
            if let Some(at) = attached.idle_due {
                cx.alarms.cancel_idle(at, self.id);
            }
        }
    }

    /// The connection that speaks for it, with its epoch.
    pub(crate) fn link(&self) -> Option<Link> {
        Some(Link { connection: self.connection()?, epoch: self.epoch })
    }

    /// Whether this connection speaks for it, and its client's frames may come.
    pub(crate) fn is_live_on(&self, connection: ConnectionId) -> bool {
        let speaks = |known: &Attached| known.connection == connection && known.is_live();
        self.attached().is_some_and(|known| speaks(known) || is_armed(Bug::ResumeNotFenced))
    }

    /// Whether its connection waits for its place.
    pub(super) fn is_pending(&self) -> bool {
        self.attached().is_some_and(Attached::is_pending)
    }

    /// The connection that speaks for it, once its Welcome has left for sure.
    pub(super) fn welcomed(&self) -> Option<ConnectionId> {
        let is_welcomed = |attached: &&Attached| matches!(attached.step, AttachStep::Live);
        self.attached().filter(is_welcomed).map(|attached| attached.connection)
    }

    /// The link on which the client hears what is said now. A connection that waits for its place hears that
    /// with its Welcome.
    pub(super) fn hearing_link(&self) -> Option<Link> {
        self.link().filter(|_| !self.is_pending())
    }
}
