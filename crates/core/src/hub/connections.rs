//! What connections say to the hub: that they are there or gone, what of their clients concerns a session and
//! not its zone, and what they have spent. Numbered frames of sessions in zones do not come here.

use rejoin_wire::v1::{Challenge, CloseCode, server_frame};

use super::Hub;
use super::alarms::Alarm;
use super::ration::Spent;
use crate::connection::{Connection, ConnectionPhase, FromConnection};
use crate::exchange::Link;
use crate::guard::Origin;
use crate::id::{ConnectionId, Leg};
use crate::mark::{Mark, hit};
use crate::session::{Serializer, SessionContext, SessionCore};
use crate::time::Time;

impl Hub {
    pub(crate) fn opened(
        &mut self,
        now: Time,
        id: ConnectionId,
        (serializer, is_encrypted): (Serializer, bool),
        origin: Option<Origin>,
    ) {
        if self.connections.contains_key(&id) {
            // A driver that gives an id twice has a bug; the newcomer is not worth an old one.
            return hit(Mark::StaleIgnored);
        }
        let nonce = self.chance.bytes();
        let mut connection = Connection::new(now, serializer, origin, nonce);
        connection.is_encrypted = is_encrypted;
        connection.handshake_due =
            self.alarms.set(now, self.config.handshake, Alarm::Handshake(id));
        self.connections.insert(id, connection);
        let challenge = Challenge {
            nonce: nonce.to_vec().into(),
            version_min: rejoin_wire::VERSION,
            version_max: rejoin_wire::VERSION,
            server_name: self.config.server_names.first().cloned().unwrap_or_default(),
        };
        self.send(id, server_frame::Frame::Challenge(challenge));
    }

    pub(crate) fn closed(&mut self, id: ConnectionId, code: Option<CloseCode>, spent: Spent) {
        let Some(connection) = self.connections.remove(&id) else {
            // The end of a link may be reported twice: it was closed from here, and its peer hung up.
            return hit(Mark::StaleIgnored);
        };
        self.alarms.cancel(connection.handshake_due, Alarm::Handshake(id));
        if let Some((session, epoch)) = connection.session() {
            let link = Link { connection: id, epoch };
            self.with_session(session, |session, cx| {
                session.take_in_spent(spent);
                session.dropped(cx, link, code.unwrap_or(CloseCode::Unspecified));
            });
        }
    }

    /// Takes a message of a connection.
    pub(crate) fn on_connection_message(
        &mut self,
        now: Time,
        id: ConnectionId,
        message: FromConnection,
    ) {
        match message {
            FromConnection::Hello(hello) => self.hello(now, id, *hello),
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
                self.charge_address(id, messages, bytes);
                self.for_session(id, |session, _| session.take_in_spent(spent));
            }
            FromConnection::Latency(took) => {
                self.for_session(id, |session, _| session.measure(took));
            }
            FromConnection::Active(ago) => {
                self.for_session(id, |session, cx| session.active(cx, id, ago));
            }
            FromConnection::Severed { code, is_violation } => {
                self.severed(id, code, is_violation);
            }
        }
    }

    /// Calls the session that a connection speaks for, if it does.
    fn for_session(
        &mut self,
        id: ConnectionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>),
    ) {
        match self.connections.get(&id).and_then(Connection::session) {
            Some((session, _)) => drop(self.with_session(session, call)),
            // It gave way to another one, and did not know it yet.
            None => hit(Mark::StaleIgnored),
        }
    }

    /// A connection has closed itself; its client was told why.
    fn severed(&mut self, id: ConnectionId, code: CloseCode, is_violation: bool) {
        if is_violation {
            self.count_violation(id);
        }
        self.tell_severed(id, code);
        let speaks_for = self.connections.get(&id).and_then(Connection::session);
        self.set_over(id, ConnectionPhase::Closing);
        if let Some((session, epoch)) = speaks_for {
            let link = Link { connection: id, epoch };
            self.with_session(session, |session, cx| session.dropped(cx, link, code));
        }
    }
}
