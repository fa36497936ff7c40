//! One connection as the hub knows it: how far its handshake is, then the session that it speaks for. A handshake
//! decides who a client has proven to be and whether it may come in; which session it gets is decided by that
//! session and by the hub. What the client sends afterwards is the business of its
//! [`ConnectionCore`](crate::connection::ConnectionCore).

mod account;
mod answer;
mod claim;
mod context;
mod hello;
mod refusal;
mod state;

pub use self::account::AccountProof;
pub(crate) use self::account::first_login;
pub(crate) use self::context::{FromHandshake, HandshakeContext, LookUp};
pub use self::state::AskId;
pub(crate) use self::state::{Handshake, LoginClaim, Signing};
use crate::connection::{Spent, Stage};
use crate::guard::Origin;
use crate::hub::Alarm;
use crate::id::{SessionEpoch, SessionId};
use crate::session::Serializer;
use crate::time::Time;
use rejoin_wire::v1::{Challenge, CloseCode, server_frame};

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

/// A connection, as its transport describes it.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub serializer: Serializer,
    pub is_encrypted: bool,
    /// None: from within, and no address is charged for it.
    pub origin: Option<Origin>,
}

/// One connection, from its challenge until its transport has closed it.
pub(crate) struct HandshakeCore {
    phase: ConnectionPhase,
    peer: Peer,
    /// Others can send in its name.
    is_spoofable: bool,
    opened_at: Time,
    /// When its hello must be there, in service time.
    due: Time,
    /// Its address had sent more than it may when it was last charged.
    address_waits: bool,
    /// The questions that it has asked so far.
    asked: u32,
}

impl HandshakeCore {
    /// A connection that was just opened, and is challenged with this nonce.
    pub(crate) fn new(now: Time, peer: Peer, nonce: [u8; 32]) -> Self {
        Self {
            phase: ConnectionPhase::Handshake(Handshake::Challenged { nonce }),
            peer,
            is_spoofable: false,
            opened_at: now,
            due: Time::ZERO,
            address_waits: false,
            asked: 0,
        }
    }

    /// Sends the challenge, and waits for the hello.
    pub(crate) fn challenge(&mut self, cx: &mut HandshakeContext<'_>) {
        let ConnectionPhase::Handshake(Handshake::Challenged { nonce }) = &self.phase else {
            return crate::never!("{:?} is challenged twice", cx.id);
        };
        self.due = cx.alarms.set(cx.at.now, cx.config.handshake, Alarm::Handshake(cx.id));
        let challenge = Challenge {
            nonce: nonce.to_vec().into(),
            version_min: rejoin_wire::VERSION,
            version_max: rejoin_wire::VERSION,
            server_name: cx.config.server_names.first().cloned().unwrap_or_default(),
        };
        cx.send(server_frame::Frame::Challenge(challenge));
    }

    /// The transport has closed it, with this code, and it has spent this.
    pub(crate) fn closed(
        &self,
        cx: &mut HandshakeContext<'_>,
        code: Option<CloseCode>,
        spent: Spent,
    ) {
        cx.alarms.cancel(self.due, Alarm::Handshake(cx.id));
        self.let_go(cx, code.unwrap_or(CloseCode::Unspecified), Some(spent));
    }

    /// Tells the session that the connection speaks for, if it does, that it is gone.
    fn let_go(&self, cx: &mut HandshakeContext<'_>, code: CloseCode, spent: Option<Spent>) {
        if let Some((session, epoch)) = self.session() {
            cx.tell(FromHandshake::Gone { session, epoch, code, spent });
        }
    }

    /// Others can send in the name of this connection.
    pub(crate) fn set_spoofable(&mut self) {
        self.is_spoofable = true;
    }

    /// It speaks for a session from now on, or for none any more. False: its client was told its last word.
    pub(crate) fn set_phase(&mut self, phase: ConnectionPhase) -> bool {
        let is_closing = matches!(self.phase, ConnectionPhase::Closing);
        if !is_closing {
            self.phase = phase;
        }
        !is_closing
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
    fn take_challenge(&mut self) -> Option<[u8; 32]> {
        match self.phase {
            ConnectionPhase::Handshake(Handshake::Challenged { nonce }) => {
                self.phase = ConnectionPhase::Handshake(Handshake::Deciding);
                Some(nonce)
            }
            ConnectionPhase::Handshake(
                Handshake::Deciding
                | Handshake::Signing(..)
                | Handshake::Proving(..)
                | Handshake::Admitting(..)
                | Handshake::Preparing(..),
            )
            | ConnectionPhase::Attached(_)
            | ConnectionPhase::Fenced
            | ConnectionPhase::Closing => None,
        }
    }

    /// Lets the handshake wait for the answer to a question, and names the question.
    fn ask(&mut self, state: impl FnOnce(AskId) -> Handshake) -> AskId {
        self.asked = self.asked.wrapping_add(1);
        let ask = AskId(self.asked);
        self.phase = ConnectionPhase::Handshake(state(ask));
        ask
    }

    /// Takes the state that an answer is for; none if the handshake waits for another one, or is over. Then the
    /// answer is stale.
    fn answered<T>(&mut self, of: impl FnOnce(Handshake) -> Result<T, Handshake>) -> Option<T> {
        if let ConnectionPhase::Handshake(handshake) = &mut self.phase {
            match of(std::mem::replace(handshake, Handshake::Deciding)) {
                Ok(state) => return Some(state),
                Err(unchanged) => *handshake = unchanged,
            }
        }
        None
    }

    /// Whether the handshake waits for somebody outside the server to answer this question.
    fn is_asking(&self, ask: AskId) -> bool {
        match &self.phase {
            ConnectionPhase::Handshake(handshake) => handshake.is_asking(ask),
            ConnectionPhase::Attached(_) | ConnectionPhase::Fenced | ConnectionPhase::Closing => {
                false
            }
        }
    }
}
