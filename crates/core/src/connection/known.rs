//! What the hub knows of a connection: how far its handshake is, then the session that it speaks for and what
//! that waits for. What its client sends is the business of its [`ConnectionCore`](super::ConnectionCore).

use rejoin_wire::v1::Welcome;

use super::handshake::{AskId, Handshake};
use super::table::Stage;
use crate::guard::Origin;
use crate::hub::Spent;
use crate::id::{ConnectionId, Leg, SessionEpoch, SessionId};
use crate::session::Serializer;
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

/// The session that a connection speaks for.
pub(crate) struct Attached {
    pub session: SessionId,
    pub epoch: SessionEpoch,
    /// The Welcome is on its way: frames may come.
    pub is_live: bool,
    /// What its Welcome says, until the session's place has sent it.
    pub pending: Option<Box<PendingAttach>>,
    /// The token of its Welcome, until its first frame confirms it.
    pub unconfirmed: Option<TokenNumber>,
    /// The last number, with its leg, that its zone had sent on it before the zone failed.
    pub left: Option<(Leg, u64)>,
}

/// How far a connection is.
pub(crate) enum ConnectionPhase {
    /// It has no session yet.
    Handshake(Handshake),
    /// It speaks for a session.
    Attached(Box<Attached>),
    /// It speaks for no session any more, or never will. Its client hears why once the reason is committed.
    Fenced,
    /// Its client was told why.
    Closing,
}

/// When the deadlines of a connection come, in service time; that of idleness in hold time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Due {
    pub handshake: Time,
    pub idle: Time,
    pub progress: Time,
}

/// From when on a connection's idleness is counted: a connection counts it in service time, and the time in which
/// the store was full does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idleness {
    /// The service time and the hold time at which it was last asked.
    pub asked_at: (Time, Time),
    /// How long the store was full since its client's last message, up to then.
    pub stood_still: std::time::Duration,
}

/// A connection.
pub(crate) struct Connection {
    pub phase: ConnectionPhase,
    pub serializer: Serializer,
    pub is_encrypted: bool,
    /// Others can send in its name.
    pub is_spoofable: bool,
    pub origin: Option<Origin>,
    pub opened_at: Time,
    pub due: Due,
    /// What it has spent, as far as it has said.
    pub spent: Spent,
    /// Its address had sent more than it may when it was last charged.
    pub address_waits: bool,
    /// When its session's idleness was looked at last.
    pub idleness: Idleness,
    /// The questions that its handshake has asked so far.
    asked: u32,
}

impl Connection {
    pub(crate) fn new(
        now: Time,
        serializer: Serializer,
        origin: Option<Origin>,
        nonce: [u8; 32],
    ) -> Self {
        Self {
            phase: ConnectionPhase::Handshake(Handshake::Challenged { nonce }),
            serializer,
            is_encrypted: false,
            is_spoofable: false,
            origin,
            opened_at: now,
            due: Due::default(),
            spent: Spent::default(),
            address_waits: false,
            idleness: Idleness::default(),
            asked: 0,
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        match &self.phase {
            ConnectionPhase::Handshake(Handshake::Challenged { .. }) => Stage::AwaitingHello,
            ConnectionPhase::Handshake(_) => Stage::Deciding,
            ConnectionPhase::Attached(attached) if attached.is_live => Stage::Live,
            ConnectionPhase::Attached(_) => Stage::Deciding,
            ConnectionPhase::Fenced | ConnectionPhase::Closing => Stage::Closing,
        }
    }

    /// Whether its client hears nothing more than why it is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.stage() == Stage::Closing
    }

    pub(crate) fn attached(&self) -> Option<&Attached> {
        match &self.phase {
            ConnectionPhase::Attached(attached) => Some(attached),
            ConnectionPhase::Handshake(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                None
            }
        }
    }

    pub(crate) fn attached_mut(&mut self) -> Option<&mut Attached> {
        match &mut self.phase {
            ConnectionPhase::Attached(attached) => Some(attached),
            ConnectionPhase::Handshake(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                None
            }
        }
    }

    /// Whether its Welcome has left for sure.
    pub(crate) fn is_welcomed(&self) -> bool {
        self.attached().is_some_and(|attached| attached.is_live && attached.pending.is_none())
    }

    /// Whether it waits for its place.
    pub(crate) fn is_pending(&self) -> bool {
        self.attached().is_some_and(|attached| attached.pending.is_some())
    }

    /// The session it speaks for, once it does.
    pub(crate) fn session(&self) -> Option<(SessionId, SessionEpoch)> {
        self.attached().map(|attached| (attached.session, attached.epoch))
    }

    /// Takes the nonce that a hello is signed with. Each is good for one hello.
    pub(crate) fn take_challenge(&mut self) -> Option<[u8; 32]> {
        let ConnectionPhase::Handshake(handshake) = &mut self.phase else { return None };
        let Handshake::Challenged { nonce } = *handshake else { return None };
        *handshake = Handshake::Deciding;
        Some(nonce)
    }

    /// Lets the handshake wait for the answer to a question, and names the question.
    pub(crate) fn ask(&mut self, state: impl FnOnce(AskId) -> Handshake) -> AskId {
        self.asked = self.asked.wrapping_add(1);
        let ask = AskId(self.asked);
        self.phase = ConnectionPhase::Handshake(state(ask));
        ask
    }

    /// Takes the state that an answer is for; none if the handshake waits for another one, or is over.
    pub(crate) fn answered<T>(
        &mut self,
        of: impl FnOnce(Handshake) -> Result<T, Handshake>,
    ) -> Option<T> {
        let ConnectionPhase::Handshake(handshake) = &mut self.phase else { return None };
        match of(std::mem::replace(handshake, Handshake::Deciding)) {
            Ok(state) => Some(state),
            Err(unchanged) => {
                *handshake = unchanged;
                None
            }
        }
    }

    /// Whether the handshake waits for somebody outside the server to answer this question.
    pub(crate) fn is_asking(&self, ask: AskId) -> bool {
        match &self.phase {
            ConnectionPhase::Handshake(handshake) => handshake.is_asking(ask),
            ConnectionPhase::Attached(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                false
            }
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
