//! One connection as the hub sees it, and the table that decides which frame may stand in which of
//! its states. A connection can die at any byte; it never decides anything about its session.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::{ClientFrame, Hello, Up, Welcome, client_frame};

use crate::account::{Change, Link};
use crate::budget::Budget;
use crate::event::Step;
use crate::guard::Origin;
use crate::id::{AccountId, ConnectionId, PlayerId, SessionEpoch, SessionId, ZoneId};
use crate::secret::Secret;
use crate::session::token::TokenNumber;
use crate::session::{Identity, Serializer};
use crate::time::Time;

/// The states that a connection shows to the outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ConnectionState {
    /// It has been challenged and is not let in yet.
    Connecting,
    /// It speaks for a session that is in no zone.
    Connected,
    /// It speaks for a session in a zone.
    InGame,
    /// It has been told its last word.
    Disconnecting,
    /// It is gone.
    Disconnected,
}

/// Kinds of client frames, as the table knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// The answer to the challenge.
    Hello,
    /// Numbered.
    Up,
    /// Unreliable.
    Loose,
    /// An acknowledgement.
    Ack,
    /// Are you there?
    Ping,
    /// Yes.
    Pong,
}

impl FrameKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Hello, Self::Up, Self::Loose, Self::Ack, Self::Ping, Self::Pong];

    /// The kind of a frame.
    #[must_use]
    pub fn of(frame: &ClientFrame) -> Option<Self> {
        Some(match frame.frame.as_ref()? {
            // The decoder lets none through.
            client_frame::Frame::Packed(_) => return None,
            client_frame::Frame::Hello(_) => Self::Hello,
            client_frame::Frame::Up(_) => Self::Up,
            client_frame::Frame::Loose(_) => Self::Loose,
            client_frame::Frame::Ack(_) => Self::Ack,
            client_frame::Frame::Ping(_) => Self::Ping,
            client_frame::Frame::Pong(_) => Self::Pong,
        })
    }

    /// What a frame of so many bytes takes from its sender's budgets of messages and of bytes.
    /// Acknowledgements and pongs are answers to what we send, and no messages: they cost their bytes,
    /// and a little more, so that a flood of them is one. A ping is answered, so it is a message.
    #[must_use]
    pub fn cost(self, bytes: usize) -> (u32, u32) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        match self {
            Self::Ack | Self::Pong => (0, bytes.max(ANSWER_BYTES_MIN)),
            Self::Hello | Self::Up | Self::Loose | Self::Ping => (1, bytes),
        }
    }
}

/// What an acknowledgement costs at least: a thousand a second are within the defaults.
const ANSWER_BYTES_MIN: u32 = 64;

/// What the table says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is heard.
    Take,
    /// It breaks the rules: the connection is closed `OutOfState`.
    Violation,
    /// It comes too late to matter.
    Ignore,
}

/// The stages of a connection, as the table knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Challenged; nothing heard yet.
    AwaitingHello,
    /// The hello is being decided: nothing may come before the Welcome.
    Deciding,
    /// Welcomed.
    Live,
    /// Told its last word.
    Closing,
}

impl Stage {
    /// All stages.
    pub const ALL: [Self; 4] = [Self::AwaitingHello, Self::Deciding, Self::Live, Self::Closing];
}

/// Every frame in every stage. There is no other place where this is decided.
#[must_use]
pub fn table(stage: Stage, frame: FrameKind) -> Verdict {
    use FrameKind as F;
    match (stage, frame) {
        (Stage::AwaitingHello, F::Hello) => Verdict::Take,
        (Stage::AwaitingHello, F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => Verdict::Violation,
        (Stage::Deciding, F::Hello | F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => {
            Verdict::Violation
        }
        (Stage::Live, F::Hello) => Verdict::Violation,
        (Stage::Live, F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => Verdict::Take,
        (Stage::Closing, F::Hello | F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => {
            Verdict::Ignore
        }
    }
}

/// Who a hello has proven to be.
#[derive(Clone)]
pub(crate) struct Claim {
    pub hello: Hello,
    /// Who is to be let in.
    pub player: PlayerId,
    /// The player that its key or secret would be alone.
    pub credential: PlayerId,
    pub identity: Identity,
    /// A secret that was minted for this login.
    pub minted: Option<Secret>,
    /// The key's signature has been verified.
    pub signed: bool,
    /// The account that it logs in to, and the version of it to which it has proven itself.
    pub account: Option<(AccountId, u32)>,
    /// What becomes of its key with that login.
    pub link: Option<Link>,
    /// What must become of the account before it is let in.
    pub change: Option<Change>,
    /// What is for the game; none: all that came along.
    pub payload: Option<Bytes>,
}

/// Where a resuming client says it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ResumePoint {
    /// None: without streams.
    pub position: Option<(crate::id::Leg, u64)>,
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
pub(crate) struct Gate {
    /// The session's new place has not been told of it yet.
    pub moving: bool,
    /// Zones that still have frames of an earlier stay to give back. There are several when the session
    /// has left one and the next refuses it: opened before both are done, frames would be in wrong order.
    pub settling: Vec<(ZoneId, u32)>,
}

impl Gate {
    pub(crate) fn is_open(&self) -> bool {
        !self.moving && self.settling.is_empty()
    }
}

/// The hub's side of a connection.
pub(crate) enum Phase {
    AwaitingHello,
    /// A signature is being verified, or the game is being asked.
    Verifying(Box<Claim>),
    /// What it has proven of an account is being looked at.
    Proving(Box<Claim>),
    Admitting(Box<Claim>),
    /// The session's scope is being committed.
    Opening {
        session: SessionId,
        epoch: SessionEpoch,
    },
    /// The Welcome is on its way.
    Live {
        session: SessionId,
        epoch: SessionEpoch,
    },
    /// A newer connection has its session; it is told once that is committed.
    Fenced,
    Closing,
}

/// When the deadlines of a connection come, in service time; that of idleness in hold time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Due {
    pub handshake: Time,
    pub beat: Time,
    pub silence: Time,
    pub above: Time,
    pub idle: Time,
    pub progress: Time,
}

/// A connection.
pub(crate) struct Connection {
    pub phase: Phase,
    pub serializer: Serializer,
    pub is_encrypted: bool,
    /// Others can send in its name.
    pub is_spoofable: bool,
    pub origin: Option<Origin>,
    pub opened_at: Time,
    pub nonce: [u8; 32],
    pub heard_at: Time,
    pub due: Due,
    /// A ping that has not been answered: its nonce and when it was sent.
    pub ping: Option<(u64, Time)>,
    pub messages: Budget,
    pub bytes: Budget,
    /// How far the guard has gone over its budget; nothing while it is at rest.
    pub guard: Option<Step>,
    /// How far it was over its burst when that was last looked at; none while it is at rest.
    pub above: Option<Duration>,
    /// It was told that its own budget, and that its address's, makes it wait. Once until it rests.
    pub is_told: (bool, bool),
    /// Messages and bytes that are not charged to its address yet.
    pub portion: (u32, u32),
    /// The token of its Welcome, until its first frame confirms it.
    pub unconfirmed: Option<TokenNumber>,
    pub attach: Option<Box<PendingAttach>>,
    pub gate: Gate,
    /// Frames that a zone gave back, then those that came meanwhile.
    pub bounced: Vec<Up>,
    pub waiting: Vec<Up>,
}

impl Connection {
    pub(crate) fn new(
        now: Time,
        serializer: Serializer,
        origin: Option<Origin>,
        nonce: [u8; 32],
    ) -> Self {
        Self {
            phase: Phase::AwaitingHello,
            serializer,
            is_encrypted: false,
            is_spoofable: false,
            origin,
            opened_at: now,
            nonce,
            heard_at: now,
            due: Due::default(),
            ping: None,
            messages: Budget::default(),
            bytes: Budget::default(),
            guard: None,
            above: None,
            is_told: (false, false),
            portion: (0, 0),
            unconfirmed: None,
            attach: None,
            gate: Gate::default(),
            bounced: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.phase {
            Phase::AwaitingHello => Stage::AwaitingHello,
            Phase::Verifying(_)
            | Phase::Proving(_)
            | Phase::Admitting(_)
            | Phase::Opening { .. } => Stage::Deciding,
            Phase::Live { .. } => Stage::Live,
            Phase::Fenced | Phase::Closing => Stage::Closing,
        }
    }

    /// Whether its Welcome has been said for sure.
    pub(crate) fn is_welcomed(&self) -> bool {
        matches!(self.phase, Phase::Live { .. }) && self.attach.is_none()
    }

    /// The session it speaks for, once it does.
    pub(crate) fn session(&self) -> Option<(SessionId, SessionEpoch)> {
        match self.phase {
            Phase::Opening { session, epoch } | Phase::Live { session, epoch } => {
                Some((session, epoch))
            }
            _ => None,
        }
    }
}

/// A connection's id and the session it speaks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Speaker {
    pub connection: ConnectionId,
    pub session: SessionId,
    pub epoch: SessionEpoch,
}
