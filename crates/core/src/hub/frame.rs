//! Frames on their way in: decoded, allowed by the table, within the budget, and then to the place
//! where the session is. Throttling delays reading; it never drops a numbered frame.

use std::time::Duration;

use rejoin_wire::DecodeError;
use rejoin_wire::v1::{
    Challenge, ClientFrame, CloseCode, Loose, Notice, NoticeCode, Ping, Pong, Position, Up,
    client_frame, server_frame,
};

use super::commit::takes_no_frames;
use super::deadline::Alarm;
use super::{Hub, HubOutput};
use crate::connection::{Attachment, Connection, FrameKind, Speaker, Stage, Verdict, Watch, table};
use crate::event::Event;
use crate::exchange::ToZone;
use crate::guard::Origin;
use crate::id::{ConnectionId, Leg, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::History;
use crate::session::{Place, Serializer};
use crate::stream::{AckAhead, Acked};
use crate::time::{Time, millis_u32};

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

    pub(crate) fn closed(&mut self, now: Time, id: ConnectionId, code: Option<CloseCode>) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.alarms.forget(id, &connection.due);
        if let Some(Attachment { session, epoch, gate, .. }) = connection.attached() {
            let (session, epoch) = (*session, *epoch);
            self.forget_settling(id, &gate.settling);
            self.keep_spent(session, &connection);
            let code = code.unwrap_or(CloseCode::Unspecified);
            self.dropped(now, session, epoch, id, code);
        }
    }

    pub(crate) fn received(
        &mut self,
        now: Time,
        id: ConnectionId,
        frame: Result<ClientFrame, DecodeError>,
        bytes: usize,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.heard_at = now;
        self.counts.frames_total += 1;
        let frame = match frame {
            Ok(frame) => frame,
            Err(_) if connection.stage() == Stage::Closing => return,
            Err(error) => {
                return self.violation(now, id, error.close_code(), &error.to_string());
            }
        };
        let Some(kind) = FrameKind::of(&frame) else {
            return self.violation(now, id, CloseCode::Malformed, "an empty frame");
        };
        match table(connection.stage(), kind) {
            Verdict::Take => {}
            Verdict::Ignore => return,
            Verdict::Violation => {
                return self.violation(now, id, CloseCode::OutOfState, "not now");
            }
        }
        self.charge(now, id, kind, bytes);
        self.confirm_token(now, id);
        match frame.frame {
            Some(client_frame::Frame::Hello(hello)) => self.hello(now, id, hello),
            Some(client_frame::Frame::Up(up)) => self.up(now, id, up),
            Some(client_frame::Frame::Loose(loose)) => self.loose(id, loose),
            Some(client_frame::Frame::Ack(position)) => self.ack(now, id, position),
            Some(client_frame::Frame::Ping(Ping { nonce })) => {
                self.send(id, server_frame::Frame::Pong(Pong { nonce }));
            }
            Some(client_frame::Frame::Pong(Pong { nonce })) => self.pong(now, id, nonce),
            Some(client_frame::Frame::Packed(_)) | None => {}
        }
    }

    /// Control frames of the transport: a sign of life that costs what a frame of that kind does.
    pub(crate) fn control(&mut self, now: Time, id: ConnectionId, kind: FrameKind, bytes: usize) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.heard_at = now;
        if connection.stage() != Stage::Closing {
            self.charge(now, id, kind, bytes);
        }
    }

    /// Charges the budget, and delays reading when it is overdrawn.
    pub(crate) fn charge(&mut self, now: Time, id: ConnectionId, kind: FrameKind, bytes: usize) {
        let (real, limits) = (self.real_time(), self.send_limits());
        let lead = limits.sever_after;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let charged = connection.budget.charge(real, kind.cost(bytes), limits);
        match charged.watch {
            Watch::Begin => connection.due.above = self.alarms.set(now, lead, Alarm::Above(id)),
            Watch::End => self.alarms.cancel(connection.due.above, Alarm::Above(id)),
            Watch::Unchanged => {}
        }
        let session = connection.session().map(|(session, _)| session);
        if let Some(over) = charged.over {
            self.throttle(id, (over, over.saturating_sub(lead)), charged.is_first);
        }
        self.charge_address(id);
        if let Some(step) = charged.step {
            let (connection, what) = (Some(id), charged.what);
            self.push(HubOutput::Event(Event::GuardStep { step, connection, session, what }));
        }
    }

    /// Delays reading for a sender that is ahead, and says so the first time since it was at rest.
    /// Within its lead the sender is not paused: one that is only ever read at its rate looks the
    /// same whatever it sends, and it must be seen how fast it gets ahead.
    pub(crate) fn throttle(
        &mut self,
        connection: ConnectionId,
        (over, wait): (Duration, Duration),
        is_first: bool,
    ) {
        hit(Mark::Throttled);
        if is_first && self.connections.get(&connection).is_some_and(Connection::is_welcomed) {
            let code = NoticeCode::Throttled.into();
            let notice = Notice { code, text: String::new(), wait_ms: millis_u32(over).max(1) };
            self.send(connection, server_frame::Frame::Notice(notice));
        }
        if !wait.is_zero() {
            self.push(HubOutput::Pause { connection, wait });
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

    fn pong(&mut self, now: Time, id: ConnectionId, nonce: u64) {
        let known = self.connections.get_mut(&id).and_then(Connection::attached_mut);
        let Some(attached) = known else { return };
        let Some((_, sent)) = attached.ping.take_if(|(expected, _)| *expected == nonce) else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(&attached.session) {
            session.latency.measure(now.since(sent));
        }
    }

    pub(crate) fn speaker(&self, id: ConnectionId) -> Option<Speaker> {
        let attached = self.connections.get(&id)?.attached()?;
        let speaker = Speaker { connection: id, session: attached.session, epoch: attached.epoch };
        attached.is_live.then_some(speaker)
    }

    fn up(&mut self, now: Time, id: ConnectionId, up: Up) {
        let Some(speaker) = self.speaker(id) else { return };
        let (mut must_wait, mut is_within) = (false, true);
        let window = (self.config.window_frames, self.config.window_bytes);
        self.note_activity(speaker.session);
        if let Some(session) = self.sessions.get_mut(&speaker.session) {
            session.received = session.received.wrapping_add(1);
            must_wait = takes_no_frames(session, window.0);
            is_within = !must_wait || session.window.has_room(up.seq, 0, window);
        }
        let limit = self.config.window_frames as usize;
        let known = self.connections.get_mut(&id).and_then(Connection::attached_mut);
        let Some(attached) = known else { return };
        // What came before and waits goes first.
        if must_wait || !attached.gate.is_open() || !attached.waiting.is_empty() {
            hit(Mark::Waited);
            if !is_within || attached.waiting.len() + attached.bounced.len() >= limit {
                return self.violation(now, id, CloseCode::Flooded, "more than the window");
            }
            return attached.waiting.push(up);
        }
        self.route(now, speaker, up);
    }

    /// Brings a numbered frame to where the session is.
    pub(crate) fn route(&mut self, now: Time, speaker: Speaker, up: Up) {
        let Speaker { session, epoch, .. } = speaker;
        match self.sessions.get(&session).map(|session| &session.place) {
            Some(Place::Nowhere) => self.consume(now, speaker, up),
            Some(Place::In(zone)) => {
                let zone = *zone;
                self.tell_zone(zone, ToZone::Up { session, epoch, up });
            }
            Some(Place::Joining(joining)) => {
                let zone = joining.zone;
                self.tell_zone(zone, ToZone::Up { session, epoch, up });
            }
            None => {}
        }
    }

    fn loose(&mut self, id: ConnectionId, loose: Loose) {
        let Some(Speaker { session, epoch, .. }) = self.speaker(id) else { return };
        self.note_activity(session);
        let Some(known) = self.sessions.get(&session) else { return };
        match known.place {
            Place::In(zone) => {
                let leg = Leg::from_wire(loose.leg);
                let payload = loose.payload;
                self.tell_zone(zone, ToZone::Loose { session, epoch, leg, payload });
            }
            _ => hit(Mark::LooseDropped),
        }
    }

    fn ack(&mut self, now: Time, id: ConnectionId, position: Position) {
        let Some(Speaker { session, epoch, .. }) = self.speaker(id) else { return };
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
        if known.history == History::RolledBack && leg.stay == known.leg.stay {
            // It has heard of the leg that was opened for it: nothing it names from now on is of another.
            known.set_history(History::Whole);
            self.touch(session);
        }
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.rejoined_stay.take_if(|stay| *stay <= leg.stay);
        if leg.stay == known.leg.stay
            && let Some(zone) = known.zone()
        {
            // A client that hears the open leg has everything before it.
            known.downstream.clear_earlier();
            return self.tell_zone(zone, ToZone::Ack { session, epoch, leg, seq });
        }
        let progress = self.config.progress;
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
                self.open_gate(now, session);
            }
        }
    }

    fn acked_ahead(&mut self, now: Time, id: ConnectionId) {
        hit(Mark::AckAhead);
        self.drop_connection(now, id, CloseCode::AckAhead, "more than was said");
    }

    /// A zone gives back a frame of somebody who is no member any more.
    pub(crate) fn bounced(&mut self, now: Time, session: SessionId, epoch: SessionEpoch, up: Up) {
        let Some(link) = self.link_of(session).filter(|link| link.epoch == epoch) else {
            return hit(Mark::StaleIgnored);
        };
        hit(Mark::Bounced);
        let limit = self.config.window_frames as usize;
        let known = self.connections.get_mut(&link.connection).and_then(Connection::attached_mut);
        let Some(attached) = known else { return };
        if attached.bounced.len() >= limit {
            return self.violation(
                now,
                link.connection,
                CloseCode::Flooded,
                "more than the window",
            );
        }
        attached.bounced.push(up);
    }

    /// If the session's place is settled, what waited goes there, what came back first.
    pub(crate) fn open_gate(&mut self, now: Time, session: SessionId) {
        let Some(link) = self.link_of(session) else { return };
        let known = self.connections.get_mut(&link.connection).and_then(Connection::attached_mut);
        let Some(attached) = known.filter(|attached| attached.gate.is_open()) else { return };
        let mut waiting = std::mem::take(&mut attached.bounced);
        waiting.append(&mut attached.waiting);
        let mut waiting = waiting.into_iter();
        while let Some(speaker) = self.speaker(link.connection) {
            let known = self.sessions.get(&session);
            let window = self.config.window_frames;
            let must_wait = known.is_some_and(|known| takes_no_frames(known, window));
            let known = self.connections.get_mut(&link.connection);
            if let Some(attached) = known.and_then(Connection::attached_mut)
                && (must_wait || !attached.gate.is_open())
            {
                // A join among them closed it again, or too much waits for the store.
                attached.waiting = waiting.collect();
                return;
            }
            match waiting.next() {
                Some(up) => self.route(now, speaker, up),
                None => return,
            }
        }
    }
}
