//! The lobby: sessions that are in no zone. Such a session consumes its client's frames itself and has a leg
//! of its own; what it says is committed with it before it is shown. The numbers of both directions are
//! the business of `stream/`.

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{
    Down, Join, RefusalCode, Refused, Resync, Rung, RungReason, ServerFrame, Up, down,
    server_frame, up,
};

use super::attach::resume_from;
use super::commit::After;
use super::{Hub, HubOutput};
use crate::connection::{PendingAttach, Speaker, ToConnection};
use crate::event::EndCause;
use crate::exchange::{Link, ZoneName};
use crate::id::{CallId, Leg, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Outgoing, Place};
use crate::stream::Arrival;
use crate::text::clip;
use crate::time::Time;
use crate::zone::Delivery;
use crate::zone_registry::{Creator, Opener};

impl Hub {
    /// Consumes a numbered frame of a session that is in no zone.
    pub(crate) fn consume(&mut self, now: Time, speaker: Speaker, up: Up) {
        let Speaker { connection, session: id, .. } = speaker;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match session.inbound.receive(up.seq) {
            Arrival::Next { .. } => {}
            // Its connection handed it on again, and it had come.
            Arrival::Duplicate => return hit(Mark::StaleIgnored),
            Arrival::Ahead { is_first } => {
                // One before it was not taken.
                if is_first {
                    let resend = ToConnection::Resend(session.inbound.applied());
                    self.push(HubOutput::ToConnection(connection, resend));
                }
                return;
            }
        }
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
        self.tell_applied(id);
    }

    fn join(&mut self, id: SessionId, to: u64, join: Join) -> Option<RefusalCode> {
        let name = ZoneName { kind: join.kind, name: join.name };
        let is_seated = !join.ticket.is_empty();
        let may_open = join.create && !is_seated;
        let is_there = self.zones.contains(ZoneId::of(&name.kind, &name.name));
        if may_open && !is_there && self.opens_too_often(id) {
            return Some(RefusalCode::CreateDenied);
        }
        let creator = self.opener(id).filter(|_| may_open).map(Creator::Client);
        let zone = match self.with_zones(|zones| zones.find(&name, creator)) {
            Ok(zone) => zone,
            Err(code) => {
                hit(Mark::UnknownZone);
                return Some(if is_seated { RefusalCode::GameOver } else { code });
            }
        };
        match self.seat_shown(id, zone, &join.ticket) {
            Ok(seat) => {
                self.begin_join(id, zone.id, name, to, join.payload, seat);
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
        self.send_in_lobby(id, down::Body::Refused(Refused { to, code: code.into(), text, leg }));
    }

    /// Says something to a session that is in no zone.
    pub(crate) fn send_in_lobby(&mut self, id: SessionId, body: down::Body) {
        self.send_numbered(id, |seq| {
            shared(server_frame::Frame::Down(Down { seq, body: Some(body) }))
        });
    }

    /// The same for a caller that may have the frame of that number already.
    pub(crate) fn send_numbered(&mut self, id: SessionId, make: impl FnOnce(u64) -> SharedFrame) {
        let limits = self.config.outbox;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let outgoing = session.downstream.say(make, limits);
        let is_overrun = session.downstream.take_overrun();
        self.touch(id);
        self.send_after(id, outgoing);
        if is_overrun {
            self.resync_in_place(id);
        }
    }

    /// Sends frames once everything so far is committed.
    pub(crate) fn send_after(
        &mut self,
        id: SessionId,
        outgoing: impl IntoIterator<Item = Outgoing>,
    ) {
        for outgoing in outgoing {
            self.after(id, After::Frame(outgoing));
        }
    }

    /// Sends what the client's window has room for.
    pub(crate) fn send_waiting(&mut self, id: SessionId) -> u64 {
        let limits = self.config.outbox;
        let mut count = 0;
        while let Some(session) = self.sessions.get_mut(&id)
            && let Some(outgoing) = session.downstream.next(limits)
        {
            count += 1;
            self.after(id, After::Frame(outgoing));
        }
        count
    }

    /// A connected client has missed something for good: it is given the whole state on a new leg.
    pub(crate) fn resync_in_place(&mut self, id: SessionId) {
        if let Some(link) = self.link_of(id) {
            hit(Mark::ResyncedInPlace);
            self.resync_in_lobby(id, link, RungReason::Overrun, 0);
        }
    }

    /// Acknowledges what is consumed so far.
    pub(crate) fn tell_applied(&mut self, id: SessionId) {
        let Some(link) = self.link_of(id) else { return };
        let Some(session) = self.sessions.get(&id) else { return };
        let seq = session.inbound.applied();
        self.after(id, After::Applied { link, seq });
    }

    /// Welcomes a connection to a session that is in no zone.
    pub(crate) fn welcome_in_lobby(
        &mut self,
        now: Time,
        id: SessionId,
        link: Link,
        pending: PendingAttach,
    ) {
        let known = self.connections.get_mut(&link.connection);
        if let Some(attached) = known.and_then(|known| known.attached_mut()) {
            attached.pending = None;
            attached.is_live = false;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (from, backlog, leg) = resume_from(session, &pending);
        let continued = session.inbound.continue_at(pending.oldest_unacked(), session.lost_known);
        let is_zone_lost = std::mem::take(&mut session.zone_lost);
        let mut welcome = pending.welcome;
        welcome.lost_upstream = continued.lost;
        welcome.applied = session.inbound.applied();
        let verdict = match session.downstream.resume(&from) {
            // A loss in either direction is no replay.
            Ok(_) if continued.lost > 0 || continued.is_behind => Err(RungReason::RolledBack),
            Err(RungReason::Overrun) if is_zone_lost => Err(RungReason::ZoneLost),
            verdict => verdict,
        };
        match verdict {
            Ok(position) => {
                hit(Mark::ReplayedOutside);
                if position.is_none() && !backlog.is_empty() {
                    hit(Mark::ReplayedOlderLeg);
                }
                session.downstream.replay(link, position);
                welcome.rung = Rung::Replayed.into();
                welcome.reason = RungReason::Complete.into();
                welcome.leg = leg;
                let earlier = backlog.len() as u64;
                let frames = [shared(server_frame::Frame::Welcome(welcome))];
                let frames = frames.into_iter().chain(backlog).collect();
                self.touch(id);
                self.after(id, After::Welcome(link, frames));
                let replayed = earlier + self.send_waiting(id);
                self.returned(now, id, RungReason::Complete, replayed);
            }
            Err(reason) => {
                hit(Mark::ResyncedOutside);
                if reason == RungReason::UnknownPosition {
                    hit(Mark::ResyncedUnknownPosition);
                }
                welcome.rung = Rung::Resynced.into();
                welcome.reason = reason.into();
                welcome.leg = session.downstream.next_leg().to_wire();
                let frame = shared(server_frame::Frame::Welcome(welcome));
                self.after(id, After::Welcome(link, vec![frame]));
                self.resync_in_lobby(id, link, reason, continued.lost);
                self.returned(now, id, reason, 0);
            }
        }
        self.flush_words(id);
    }

    /// Opens a new turn of the session's own leg with its whole state.
    fn resync_in_lobby(&mut self, id: SessionId, link: Link, reason: RungReason, lost: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (leg, seq) = session.downstream.restart(reason, Some(link));
        session.leg = leg;
        let resync = Resync {
            leg: leg.to_wire(),
            seq,
            reason: reason.into(),
            snapshot: session.data.clone(),
            applied: session.inbound.applied(),
            lost_upstream: lost,
            ..Resync::default()
        };
        let frame = shared(server_frame::Frame::Resync(resync));
        self.touch(id);
        self.send_after(id, [Outgoing { link, at: Some((leg, seq)), frame }]);
    }

    /// The link on which the client hears what is said now. A connection that waits for its place hears that with
    /// its Welcome.
    pub(crate) fn hearing_link(&self, id: SessionId) -> Option<Link> {
        self.link_of(id).filter(|link| {
            let known = self.connections.get(&link.connection);
            known.is_some_and(|known| !known.is_pending())
        })
    }

    /// Moves a session to a leg of its own, one stay further; what is said first there may follow.
    pub(crate) fn enter_lobby(&mut self, id: SessionId) -> Leg {
        let link = self.hearing_link(id);
        let Some(session) = self.sessions.get_mut(&id) else { return Leg::default() };
        session.leg = Leg::first(session.leg.stay.saturating_add(1));
        session.downstream.enter(session.leg, link);
        let leg = session.leg;
        self.set_place(id, Place::Nowhere);
        self.touch(id);
        self.route(id);
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
