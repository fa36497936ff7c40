//! A session outside zones: it has a leg of its own, numbers of its own, and consumes its client's
//! frames itself. What it says is committed with it before it is shown.

use bytes::Bytes;
use prost::Message as _;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{
    CloseCode, Down, Join, RefusalCode, Refused, Resync, Rung, RungReason, ServerFrame, Up, down,
    server_frame, up,
};

use super::Hub;
use super::commit::After;
use super::connection::{PendingAttach, Phase, Speaker};
use super::table::Opener;
use crate::event::EndCause;
use crate::exchange::{Link, ZoneName};
use crate::id::{CallId, Leg, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Place, Window};
use crate::stream::{Kept, Tail};
use crate::text::clip;
use crate::time::Time;
use crate::zone::Delivery;

impl Hub {
    /// Consumes a numbered frame of a session that is in no zone.
    pub(crate) fn consume(&mut self, now: Time, speaker: Speaker, up: Up) {
        let Speaker { connection, session: id, .. } = speaker;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if up.seq <= session.applied {
            hit(Mark::DuplicateUp);
            return self.tell_applied(id, 0);
        }
        if up.seq != session.applied.saturating_add(1) {
            hit(Mark::NumberGap);
            return self.drop_connection(
                now,
                connection,
                CloseCode::NumberGap,
                "a number is missing",
            );
        }
        let bytes = up.encoded_len();
        let window = (self.config.window_frames, self.config.window_bytes);
        if !session.window.has_room(up.seq, bytes, window) {
            let text = "more than the window";
            return self.violation(now, connection, CloseCode::Flooded, text);
        }
        session.applied = up.seq;
        session.window.consume(bytes);
        self.touch(id);
        let refusal = match up.body {
            Some(up::Body::Join(join)) => self.join(id, up.seq, join),
            Some(up::Body::Bye(_)) => {
                hit(Mark::Left);
                self.end(now, id, EndCause::Left);
                return;
            }
            Some(up::Body::Answer(answer)) => {
                self.answered(id, CallId(answer.call), answer.payload)
            }
            Some(up::Body::Message(_) | up::Body::Part(_)) => {
                hit(Mark::NotMember);
                Some(RefusalCode::NotMember)
            }
            None => Some(RefusalCode::BadPayload),
        };
        if let Some(code) = refusal {
            self.refuse_up(id, up.seq, code, String::new(), None);
        }
        self.tell_applied(id, bytes);
    }

    fn join(&mut self, id: SessionId, to: u64, join: Join) -> Option<RefusalCode> {
        let name = ZoneName { kind: join.kind, name: join.name };
        let client = self.opener(id);
        let is_seated = !join.ticket.is_empty();
        let may_open = join.create && !is_seated;
        let is_there = self.zones.contains_key(&ZoneId::of(&name.kind, &name.name));
        if may_open && !is_there && self.opens_too_often(id) {
            return Some(RefusalCode::CreateDenied);
        }
        let zone = match self.find_zone(&name, may_open, client) {
            Ok(zone) => zone,
            Err(code) => {
                hit(Mark::UnknownZone);
                return Some(if is_seated { RefusalCode::GameOver } else { code });
            }
        };
        match self.seat_shown(id, zone, &join.ticket) {
            Ok(seat) => {
                self.begin_join(id, zone, name, to, join.payload, seat);
                None
            }
            Err(code) => Some(code),
        }
    }

    /// The client that a zone opened for this session is charged to.
    fn opener(&self, id: SessionId) -> Option<Opener> {
        let session = self.sessions.get(&id)?;
        let known = session.connection().and_then(|connection| self.connections.get(&connection));
        Some(Opener { player: session.player, origin: known.and_then(|known| known.origin) })
    }

    /// Says that a frame was consumed and not applied; `leg` when that opens one.
    pub(crate) fn refuse_up(
        &mut self,
        id: SessionId,
        to: u64,
        code: RefusalCode,
        text: String,
        leg: Option<Leg>,
    ) {
        if self.sessions.get(&id).is_some_and(|session| session.is_native()) {
            return self.tell_native(id, Delivery::Refused(code, text));
        }
        let leg = leg.map_or(0, Leg::to_wire);
        let text = clip(text);
        self.say_own(id, down::Body::Refused(Refused { to, code: code.into(), text, leg }));
    }

    /// Says something to a session that is in no zone.
    pub(crate) fn say_own(&mut self, id: SessionId, body: down::Body) {
        self.say_numbered(id, |seq| {
            shared(server_frame::Frame::Down(Down { seq, body: Some(body) }))
        });
    }

    /// The same for whoever has the frame of that number already.
    pub(crate) fn say_numbered(&mut self, id: SessionId, make: impl FnOnce(u64) -> SharedFrame) {
        let limits = self.config.outbox;
        let link = self.link_of(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.last += 1;
        let frame = make(session.last);
        let whole = session.outbox.keep(Kept { seq: session.last, frame: frame.clone() }, limits);
        self.touch(id);
        let Some(link) = link else { return };
        // Whoever waits for its place hears it with the rest; the Welcome of others is on its way.
        let known = self.connections.get(&link.connection);
        let welcomed = known.is_some_and(|known| known.attach.is_none());
        if welcomed && whole {
            self.after(id, After::Frame(link, frame));
        } else if welcomed {
            // It has read too little for too long: the whole state, on a new leg.
            hit(Mark::ResyncedInPlace);
            let resync = self.resync_own(id, RungReason::Overrun, 0);
            self.after(id, After::Frame(link, resync));
        }
    }

    /// Acknowledges what is consumed so far, `bytes` of it just now. A number that comes again while its
    /// acknowledgement waits adds nothing: it could be repeated without end.
    fn tell_applied(&mut self, id: SessionId, bytes: usize) {
        let Some(link) = self.link_of(id) else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let seq = session.applied;
        if session.window.queue(seq) {
            self.after(id, After::Applied { link, seq, bytes });
        }
    }

    /// Welcomes a connection to a session that is in no zone.
    pub(crate) fn welcome_own(
        &mut self,
        now: Time,
        id: SessionId,
        link: Link,
        pending: PendingAttach,
    ) {
        if let Some(connection) = self.connections.get_mut(&link.connection) {
            connection.attach = None;
            connection.phase = Phase::Opening { session: id, epoch: link.epoch };
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut welcome = pending.welcome;
        let mut is_behind = false;
        if !pending.found {
            let (lost, applied) = (&mut session.lost_upstream, &mut session.applied);
            let oldest = pending.point.oldest_unacked;
            (welcome.lost_upstream, is_behind) = lost.jump(applied, oldest, session.lost_known);
        }
        welcome.applied = session.applied;
        session.window = Window::after(session.applied);
        let position = pending.point.position;
        let rest = position.filter(|(leg, _)| !session.is_rolled_back(*leg));
        let rest = rest.and_then(|(leg, seq)| session.outbox.after(leg, seq));
        // Whoever lost something in either direction is told so.
        let rest = rest.filter(|_| welcome.lost_upstream == 0 && !is_behind);
        let (mut frames, reason, replayed);
        if let (Some((leg, seq)), Some(rest)) = (position, rest) {
            hit(Mark::ReplayedOutside);
            if leg != session.leg && !rest.is_empty() {
                hit(Mark::ReplayedOlderLeg);
            }
            session.outbox.acknowledge(leg, seq);
            welcome.rung = Rung::Replayed.into();
            reason = RungReason::Complete;
            welcome.leg = leg.to_wire();
            replayed = rest.len() as u64;
            frames = rest;
        } else {
            hit(Mark::ResyncedOutside);
            reason = match position {
                None => RungReason::Cold,
                Some((leg, _)) if leg > session.leg => {
                    hit(Mark::ResyncedUnknownPosition);
                    RungReason::UnknownPosition
                }
                Some((leg, _)) if session.is_rolled_back(leg) => RungReason::RolledBack,
                Some(_) if std::mem::take(&mut session.zone_lost) => RungReason::ZoneLost,
                Some(_) => RungReason::Overrun,
            };
            welcome.rung = Rung::Resynced.into();
            let lost = welcome.lost_upstream;
            let resync = self.resync_own(id, reason, lost);
            let leg = self.sessions.get(&id).map_or(0, |session| session.leg.to_wire());
            welcome.leg = leg;
            replayed = 0;
            frames = vec![resync];
        }
        welcome.reason = reason.into();
        frames.insert(0, shared(server_frame::Frame::Welcome(welcome)));
        self.after(id, After::Welcome(link, frames));
        self.returned(now, id, reason, replayed);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.zone_lost = false;
        }
        self.flush_words(id);
    }

    /// Opens a new turn of the own leg with the session's whole state.
    fn resync_own(&mut self, id: SessionId, reason: RungReason, lost_upstream: u64) -> SharedFrame {
        let limits = self.config.outbox;
        let mut resync = Resync { reason: reason.into(), lost_upstream, ..Resync::default() };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.leg.turn = session.leg.turn.saturating_add(1);
            session.outbox.clear();
            let (leg, last) = (session.leg, session.last);
            let stretch = Tail { leg, from: last, last, kept: Default::default() };
            session.outbox.append(stretch, limits);
            resync.leg = leg.to_wire();
            resync.seq = last;
            resync.snapshot = session.data.clone();
            resync.applied = session.applied;
        }
        self.touch(id);
        shared(server_frame::Frame::Resync(resync))
    }

    /// Moves a session to its own leg, one stay further; the first words on it may follow.
    pub(crate) fn open_own_leg(&mut self, id: SessionId) -> Leg {
        let limits = self.config.outbox;
        let Some(session) = self.sessions.get_mut(&id) else { return Leg::default() };
        session.leg = Leg::first(session.leg.stay.saturating_add(1));
        session.last = 0;
        session.outbox.append(Tail::open(session.leg), limits);
        let leg = session.leg;
        self.set_place(id, Place::Nowhere);
        self.touch(id);
        leg
    }

    /// The client answered a call that was made from outside zones.
    pub(crate) fn answered(
        &mut self,
        id: SessionId,
        call: CallId,
        payload: Bytes,
    ) -> Option<RefusalCode> {
        let session = self.sessions.get_mut(&id)?;
        let open = session.calls.as_mut().and_then(|calls| calls.answer(hub_call(call)));
        let Some(open) = open else {
            hit(Mark::CallUnknown);
            self.counts.unknown_answers_total += 1;
            return Some(RefusalCode::UnknownCall);
        };
        hit(Mark::CallAnswered);
        self.call_ended(id, &open.key, Ok(payload));
        None
    }
}

/// The hub's number of a call that is the hub's.
fn hub_call(call: CallId) -> CallId {
    CallId(call.0 & !CallId::HUB)
}

pub(crate) fn shared(frame: server_frame::Frame) -> SharedFrame {
    SharedFrame::new(&ServerFrame { frame: Some(frame) })
}
