//! What connections say to the hub: that they are there or gone, what of their clients concerns a session and
//! not its zone, and what they have spent. Numbered frames of sessions in zones do not come here.

use super::Hub;
use crate::connection::FromConnection;
use crate::guard::HubLoad;
use crate::handshake::{HandshakeContext, HandshakeCore, Peer};
use crate::id::{ConnectionId, Leg};
use crate::mark::{Mark, hit};
use crate::session::{SessionContext, SessionCore};

impl Hub {
    pub(crate) fn opened(&mut self, id: ConnectionId, peer: Peer) {
        if self.connections.contains_key(&id) {
            // A driver that gives an id twice has a bug; the newcomer is not worth an old one.
            return hit(Mark::StaleIgnored);
        }
        let nonce = self.chance.bytes();
        self.connections.insert(id, HandshakeCore::new(self.alarms.moment().now, peer, nonce));
        self.with_handshake(id, HandshakeCore::challenge);
    }

    /// Calls the handshake of a connection, and delivers what that has to say to other machines. None: the
    /// connection is gone.
    pub(crate) fn with_handshake<T>(
        &mut self,
        id: ConnectionId,
        call: impl FnOnce(&mut HandshakeCore, &mut HandshakeContext<'_>) -> T,
    ) -> Option<T> {
        let (at, load, connections) = (self.alarms.moment(), self.load(), self.connections.len());
        let is_open = self.is_ready() && !self.players_only;
        let Some(one) = self.connections.get_mut(&id) else {
            hit(Mark::StaleIgnored);
            return None;
        };
        let mut context = HandshakeContext {
            id,
            at,
            config: &self.config,
            accounts: &mut self.accounts,
            players: &mut self.players,
            rations: &mut self.rations,
            chance: &mut self.chance,
            counts: &mut self.counts,
            alarms: &mut self.alarms,
            load,
            connections,
            is_open,
            is_stopping: self.going_down,
            out: &mut self.out,
            mail: &mut self.mail,
        };
        let result = call(one, &mut context);
        self.deliver_mail();
        Some(result)
    }

    /// What the hub has before it: commits of sessions and players under way, and waiting inputs.
    #[must_use]
    pub fn load(&self) -> HubLoad {
        let commits = self.commits.under_way() + self.players.under_way();
        HubLoad { commits, inputs: self.rations.waiting() }
    }

    /// Takes a message of a connection.
    pub(crate) fn on_connection_message(&mut self, id: ConnectionId, message: FromConnection) {
        match message {
            FromConnection::Hello(hello) => {
                self.with_handshake(id, |one, cx| one.hello(cx, *hello));
            }
            FromConnection::Confirmed => self.for_session(id, |session, cx| {
                session.confirm_welcome(cx, id);
            }),
            FromConnection::Up { stay, up } => {
                self.for_session(id, |session, cx| session.up(cx, id, stay, up));
            }
            FromConnection::Ack(position) => {
                self.for_session(id, |session, cx| session.ack(cx, id, position));
            }
            FromConnection::ReadsLeg(leg) => {
                self.for_session(id, |session, _| session.reads_leg(id, Leg::from_wire(leg)));
            }
            FromConnection::Position { stay, acked, oldest_unacked } => {
                self.for_session(id, |session, cx| {
                    session.take_place_again(cx, id, stay, acked, oldest_unacked);
                });
            }
            FromConnection::Sent { messages, bytes, spent } => {
                self.with_handshake(id, |one, cx| one.charge_address(cx, messages, bytes));
                self.for_session(id, |session, _| session.take_in_spent(spent));
            }
            FromConnection::Latency(took) => {
                self.for_session(id, |session, _| session.measure(took));
            }
            FromConnection::Active(ago) => {
                self.for_session(id, |session, cx| session.active(cx, id, ago));
            }
            FromConnection::Severed { code, is_violation } => {
                self.with_handshake(id, |one, cx| one.severed(cx, code, is_violation));
            }
        }
    }

    /// Calls the session that a connection speaks for, if it does.
    fn for_session(
        &mut self,
        id: ConnectionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>),
    ) {
        match self.connections.get(&id).and_then(HandshakeCore::session) {
            Some((session, _)) => drop(self.with_session(session, call)),
            // It gave way to another one, and did not know it yet.
            None => hit(Mark::StaleIgnored),
        }
    }
}
