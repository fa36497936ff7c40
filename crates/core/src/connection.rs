//! One connection: its handshake, then the session that it speaks for, and what it may send. A connection
//! can die at any byte; it never decides anything about its session.

mod attachment;
mod budget;
mod handshake;
mod table;

pub(crate) use self::attachment::{Attachment, FrameGate, PendingAttach, ResumePoint};
pub(crate) use self::budget::{Pressure, SendBudget, SendLimits, Watch};
pub use self::handshake::AskId;
pub(crate) use self::handshake::{Handshake, LoginClaim, Signing};
pub use self::table::{ConnectionState, FrameKind, Stage, Verdict, table};
use crate::guard::Origin;
use crate::id::{ConnectionId, SessionEpoch, SessionId};
use crate::session::Serializer;
use crate::time::Time;

/// How far a connection is.
pub(crate) enum ConnectionPhase {
    /// It has no session yet.
    Handshake(Handshake),
    /// It speaks for a session.
    Attached(Box<Attachment>),
    /// It speaks for no session any more, or never will. Its client hears why once the reason is committed.
    Fenced,
    /// Its client was told why.
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
    pub phase: ConnectionPhase,
    pub serializer: Serializer,
    pub is_encrypted: bool,
    /// Others can send in its name.
    pub is_spoofable: bool,
    pub origin: Option<Origin>,
    pub opened_at: Time,
    pub heard_at: Time,
    pub due: Due,
    pub budget: SendBudget,
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
            heard_at: now,
            due: Due::default(),
            budget: SendBudget::default(),
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

    pub(crate) fn attached(&self) -> Option<&Attachment> {
        match &self.phase {
            ConnectionPhase::Attached(attached) => Some(attached),
            ConnectionPhase::Handshake(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                None
            }
        }
    }

    pub(crate) fn attached_mut(&mut self) -> Option<&mut Attachment> {
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
