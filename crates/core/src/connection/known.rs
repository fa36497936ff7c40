//! What the hub knows of a connection: how far its handshake is, then the session that it speaks for. What its
//! client sends is the business of its [`ConnectionCore`](super::ConnectionCore).

use super::handshake::{AskId, Handshake};
use super::table::Stage;
use crate::guard::Origin;
use crate::id::{SessionEpoch, SessionId};
use crate::session::Serializer;
use crate::time::Time;

/// The session that a connection speaks for.
#[derive(Clone, Copy)]
pub(crate) struct Attached {
    pub session: SessionId,
    pub epoch: SessionEpoch,
}

/// How far a connection is.
pub(crate) enum ConnectionPhase {
    /// It has no session yet.
    Handshake(Handshake),
    /// It speaks for a session.
    Attached(Attached),
    /// It speaks for no session any more, or never will. Its client hears why once the reason is committed.
    Fenced,
    /// Its client was told why.
    Closing,
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
    /// When its handshake must be over, in service time.
    pub handshake_due: Time,
    /// Its address had sent more than it may when it was last charged.
    pub address_waits: bool,
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
            handshake_due: Time::ZERO,
            address_waits: false,
            asked: 0,
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        match &self.phase {
            ConnectionPhase::Handshake(Handshake::Challenged { .. }) => Stage::AwaitingHello,
            ConnectionPhase::Handshake(_) => Stage::Deciding,
            ConnectionPhase::Attached(_) => Stage::Live,
            ConnectionPhase::Fenced | ConnectionPhase::Closing => Stage::Closing,
        }
    }

    /// Whether its client hears nothing more than why it is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.stage() == Stage::Closing
    }

    /// The session it speaks for, once it does.
    pub(crate) fn session(&self) -> Option<(SessionId, SessionEpoch)> {
        match self.phase {
            ConnectionPhase::Attached(Attached { session, epoch }) => Some((session, epoch)),
            ConnectionPhase::Handshake(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                None
            }
        }
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
