//! What connections say to the hub: that they are there or gone, what of their clients concerns a session and
//! not its zone, and what they have spent. Numbered frames of sessions in zones do not come here.

use rejoin_wire::v1::{Challenge, CloseCode, Position, Up, server_frame};

use super::Hub;
use super::HubOutput;
use super::commit::takes_no_frames;
use super::deadline::Alarm;
use super::ration::Spent;
use crate::connection::{
    Connection, ConnectionPhase, FromConnection, Route, Routed, Speaker, ToConnection,
};
use crate::exchange::{Attach, InPlace, ResumeFrom, ToZone};
use crate::guard::Origin;
use crate::id::{ConnectionId, Leg, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::History;
use crate::session::{Place, Serializer};
use crate::stream::{AckAhead, Acked};
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
        connection.due.handshake =
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

    pub(crate) fn closed(
        &mut self,
        now: Time,
        id: ConnectionId,
        code: Option<CloseCode>,
        spent: Spent,
    ) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.alarms.forget(id, &connection.due);
        if let Some((session, epoch)) = connection.session() {
            self.keep_spent(session, spent);
            let code = code.unwrap_or(CloseCode::Unspecified);
            self.dropped(now, session, epoch, id, code);
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
            FromConnection::Confirmed => self.confirm_token(now, id),
            FromConnection::Up { stay, up } => self.up(now, id, stay, up),
            FromConnection::Ack(position) => self.ack(now, id, position),
            FromConnection::ReadsLeg(leg) => {
                if let Some(Speaker { session, .. }) = self.speaker(id) {
                    self.reads_leg(session, Leg::from_wire(leg));
                }
            }
            FromConnection::Position { stay, acked, oldest_unacked } => {
                self.take_place_again(id, stay, acked, oldest_unacked);
            }
            FromConnection::Sent { messages, bytes, spent } => {
                self.charge_address(id, messages, bytes, spent);
            }
            FromConnection::Latency(took) => {
                if let Some(Speaker { session, .. }) = self.speaker(id)
                    && let Some(session) = self.sessions.get_mut(&session)
                {
                    session.latency.measure(took);
                }
            }
            FromConnection::Active(ago) => self.active(now, id, ago),
            FromConnection::Severed { code, is_violation } => {
                self.severed(now, id, code, is_violation);
            }
        }
    }

    /// A connection has closed itself; its client was told why.
    fn severed(&mut self, now: Time, id: ConnectionId, code: CloseCode, is_violation: bool) {
        if is_violation {
            self.count_violation(id);
        }
        self.tell_severed(id, code);
        let Some(known) = self.connections.get(&id) else { return };
        let speaks_for = known.session();
        let spent = known.spent;
        self.set_over(id, ConnectionPhase::Closing);
        if let Some((session, epoch)) = speaks_for {
            self.keep_spent(session, spent);
            self.dropped(now, session, epoch, id, code);
        }
    }

    /// The first frame after a Welcome says that its token is stored.
    fn confirm_token(&mut self, now: Time, id: ConnectionId) {
        let known = self.connections.get_mut(&id).and_then(Connection::attached_mut);
        let Some(attached) = known.filter(|attached| attached.is_live) else { return };
        let Some(token) = attached.unconfirmed.take() else { return };
        let id = attached.session;
        if let Some(session) = self.sessions.get_mut(&id)
            && session.confirm(token)
        {
            hit(Mark::TokenConfirmed);
            session.confirmed_at = now;
            self.touch(id);
        }
    }

    pub(crate) fn speaker(&self, id: ConnectionId) -> Option<Speaker> {
        let attached = self.connections.get(&id)?.attached()?;
        let speaker = Speaker { connection: id, session: attached.session, epoch: attached.epoch };
        attached.is_live.then_some(speaker)
    }

    /// A numbered frame for a session that was in no zone when the frame was handed on. What is not taken is
    /// kept by its connection, and comes again once it is asked for or the session has its place.
    fn up(&mut self, now: Time, id: ConnectionId, stay: u32, up: Up) {
        let Some(speaker) = self.speaker(id) else { return };
        let window = self.config.window_frames;
        let Some(session) = self.sessions.get_mut(&speaker.session) else { return };
        if session.place != Place::Nowhere || session.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        if takes_no_frames(session, window) {
            hit(Mark::Waited);
            session.owes_resend = true;
            return;
        }
        self.consume(now, speaker, up);
    }

    fn ack(&mut self, now: Time, id: ConnectionId, position: Position) {
        let Some(Speaker { session, .. }) = self.speaker(id) else { return };
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let (leg, seq) = (Leg::from_wire(position.leg), position.seq);
        if matches!(known.place, Place::In(_)) && known.parted_to() == (leg, seq) {
            // The zone's Parted named this leg, and its departure is still on its way here.
            return;
        }
        if leg.stay > known.leg.stay {
            hit(Mark::AckAhead);
            return self.drop_connection(now, id, CloseCode::AckAhead, "a leg that is not yours");
        }
        self.reads_leg(session, leg);
        let progress = self.config.progress;
        let Some(known) = self.sessions.get_mut(&session) else { return };
        if leg.stay == known.leg.stay && known.zone().is_some() {
            // Its zone has not told the connection yet that it is there; the next one goes to the zone.
            return;
        }
        let acked = match leg.stay == known.leg.stay {
            true => known.downstream.acknowledge(leg, seq),
            false => known.downstream.acknowledge_earlier(leg, seq).map(|()| Acked::Stale),
        };
        match acked {
            Ok(_) if is_armed(Bug::AckBlamed) => self.acked_ahead(now, id),
            Err(AckAhead) => self.acked_ahead(now, id),
            Ok(Acked::Stale) => {}
            Ok(Acked::Taken { is_overrun, is_due }) => {
                if is_due {
                    known.downstream.expect_by(now.after(progress));
                }
                match is_overrun {
                    true => self.resync_in_place(session),
                    false => drop(self.send_waiting(session)),
                }
                self.ask_for_frames(session);
            }
        }
    }

    /// The client has acknowledged something in this leg: if that is the open one, it has all of earlier ones.
    fn reads_leg(&mut self, session: SessionId, leg: Leg) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let is_open = leg.stay == known.leg.stay;
        let is_whole = is_open
            && known.history == History::RolledBack
            // It has heard of the leg that was opened for it: nothing it names from now on is of another.
            && known.set_history(History::Whole);
        known.rejoined_stay.take_if(|stay| *stay <= leg.stay);
        if is_open && known.zone().is_some() {
            known.downstream.clear_earlier();
        }
        if is_whole {
            self.touch(session);
        }
    }

    fn acked_ahead(&mut self, now: Time, id: ConnectionId) {
        hit(Mark::AckAhead);
        self.drop_connection(now, id, CloseCode::AckAhead, "more than was said");
    }

    /// Asks for the frames that a session did not take, if it takes frames now.
    pub(crate) fn ask_for_frames(&mut self, id: SessionId) {
        let window = self.config.window_frames;
        let Some(link) = self.hearing_link(id) else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.owes_resend && !takes_no_frames(session, window) {
            session.owes_resend = false;
            let resend = ToConnection::Resend(session.inbound.applied());
            self.push(HubOutput::ToConnection(link.connection, resend));
        }
    }

    /// Tells the connection of a session where its client's frames go, once its Welcome is on its way.
    pub(crate) fn route(&mut self, id: SessionId) {
        let Some(link) = self.link_of(id) else { return };
        if !self.connections.get(&link.connection).is_some_and(Connection::is_welcomed) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let route = match session.place {
            Place::Nowhere => Route::Session,
            Place::Joining(_) | Place::In(_) => Route::Nowhere,
        };
        session.owes_resend = false;
        let routed = Routed { stay: session.leg.stay, route, applied: session.inbound.applied() };
        self.push(HubOutput::ToConnection(link.connection, ToConnection::Routed(routed)));
    }

    /// A zone runs again from its last commit, and a member is connected: its place is given to it again, without
    /// a Welcome. Where its streams are is known to its connection.
    pub(crate) fn find_place_again(&mut self, id: SessionId) {
        let Some(link) = self.hearing_link(id) else { return };
        let Some(session) = self.sessions.get(&id) else { return };
        let stay = session.leg.stay;
        self.push(HubOutput::ToConnection(link.connection, ToConnection::NamePosition(stay)));
    }

    fn take_place_again(
        &mut self,
        id: ConnectionId,
        stay: u32,
        acked: Option<Position>,
        oldest_unacked: u64,
    ) {
        let Some(speaker) = self.speaker(id) else { return };
        let known = self.connections.get_mut(&id).and_then(Connection::attached_mut);
        // What the zone had sent is exact; a zone that got stuck cannot say it.
        let sent = known.and_then(|attached| attached.left.take());
        let acked = acked.map(|acked| (Leg::from_wire(acked.leg), acked.seq));
        self.attach_again(speaker.session, stay, InPlace { acked, sent }, oldest_unacked);
    }

    /// Gives a connection that was welcomed before its place in an incarnation of its zone that is new.
    pub(crate) fn attach_again(
        &mut self,
        id: SessionId,
        stay: u32,
        known: InPlace,
        oldest_unacked: u64,
    ) {
        let from = ResumeFrom::InPlace(known);
        let Some(link) = self.hearing_link(id) else { return };
        let Some(session) = self.sessions.get(&id) else { return };
        let Place::In(zone) = session.place else { return hit(Mark::StaleIgnored) };
        if session.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        let attach = Attach {
            session: id,
            stay,
            link,
            from,
            backlog: Vec::new(),
            oldest_unacked,
            lost_known: session.lost_known,
            welcome: None,
        };
        self.tell_zone(zone, ToZone::Attach(Box::new(attach)));
    }
}
