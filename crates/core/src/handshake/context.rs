//! What the hub lends to a handshake for one call: the time, settings, the machines that it may ask at once, and
//! where its outputs go. Whatever a session has to decide is a message.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{CloseCode, Hello, Resume, ServerFrame, server_frame};

use super::LoginClaim;
use crate::account::Accounts;
use crate::chance::Chance;
use crate::connection::Spent;
use crate::event::{Event, Offence, Step};
use crate::guard::{HubLoad, Rations};
use crate::hub::{Alarms, HubConfig, HubCounts, HubOutput, Mail};
use crate::id::{ConnectionId, SessionEpoch, SessionId};
use crate::orders::AfterAccount;
use crate::player::Players;
use crate::session::Moment;

/// What the hub lends to a handshake for one call.
pub(crate) struct HandshakeContext<'a> {
    /// The connection of this handshake.
    pub id: ConnectionId,
    pub at: Moment,
    pub config: &'a HubConfig,
    pub accounts: &'a mut Accounts<AfterAccount>,
    pub players: &'a mut Players,
    pub rations: &'a mut Rations,
    pub chance: &'a mut Chance,
    pub counts: &'a mut HubCounts,
    pub alarms: &'a mut Alarms,
    /// What the hub has before it.
    pub load: HubLoad,
    /// How many connections there are.
    pub connections: usize,
    /// Whether players are let in at all.
    pub is_open: bool,
    /// The process is about to end.
    pub is_stopping: bool,
    pub out: &'a mut VecDeque<HubOutput>,
    /// Messages to other machines of the hub, delivered right after the call.
    pub mail: &'a mut VecDeque<Mail>,
}

/// From a handshake to another machine of the hub.
pub(crate) enum FromHandshake {
    /// Ask the session of a resume what it wants to see proven. Answered by
    /// [`looked_up`](super::HandshakeCore::looked_up).
    LookUp(Box<LookUp>),
    /// The claim is good, and nothing keeps its player out: let it have the session that it resumes, or the one
    /// that a login finds or begins.
    LetIn(Box<LoginClaim>),
    /// A player that shows this token was told to wait: its session is held for that much longer.
    HoldLonger { session: SessionId, token: Bytes, wait: Duration },
    /// The connection is gone that spoke for this session with this epoch. What it has spent is known once its
    /// transport has closed it.
    Gone { session: SessionId, epoch: SessionEpoch, code: CloseCode, spent: Option<Spent> },
}

/// A hello that wants to go on with a session.
pub(crate) struct LookUp {
    /// What the hello is signed with.
    pub nonce: [u8; 32],
    pub hello: Hello,
    /// What the hello says of the session.
    pub resume: Resume,
}

impl HandshakeContext<'_> {
    pub(super) fn push(&mut self, output: HubOutput) {
        self.out.push_back(output);
    }

    pub(super) fn tell(&mut self, message: FromHandshake) {
        self.mail.push_back(Mail::Handshake(self.id, message));
    }

    pub(super) fn send(&mut self, frame: server_frame::Frame) {
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.push(HubOutput::Send { connection: self.id, frame });
    }

    /// Tells whoever listens why a connection is closed, or a hello refused.
    pub(super) fn tell_step(&mut self, session: Option<SessionId>, what: Offence) {
        let (step, connection) = (Step::Sever, Some(self.id));
        self.push(HubOutput::Event(Event::GuardStep { step, connection, session, what }));
    }
}
