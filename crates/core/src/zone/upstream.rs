//! What members say. Each number is consumed exactly once: applied, or refused with a typed answer;
//! one that comes again is ignored, and before a jump what is missing is asked for. A connection whose
//! epoch is not the member's has no voice at all.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, Message as Said, PartCause, RefusalCode, Refused, Up, down, up};

use super::Zone;
use super::context::Sender;
use super::core::ZoneCore;
use super::member::Member;
use super::message::{BadPayload, Message};
use super::output::ZoneOutput;
use crate::call::CallFailed;
use crate::connection::ToConnection;
use crate::exchange::ToSession;
use crate::id::{CallId, Leg, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::never;
use crate::planted::{Bug, is_armed};
use crate::stream::{AckAhead, Acked, Arrival};
use crate::text::clip;
use crate::time::Time;

/// In a zone that is not gated an `Applied` waits for so many numbers, or for `ack_delay`.
const ACK_EVERY: u64 = 32;

/// Why a numbered frame was consumed and not applied.
struct UpRefusal {
    code: RefusalCode,
    /// What the game's decoder said about the payload; empty otherwise.
    text: String,
}

impl From<RefusalCode> for UpRefusal {
    fn from(code: RefusalCode) -> Self {
        Self { code, text: String::new() }
    }
}

impl<Z: Zone> ZoneCore<Z> {
    /// A numbered frame came. It is taken from the connection that has the member's place; any other keeps its
    /// frames, and hands them on where the member is next.
    pub(crate) fn up(
        &mut self,
        now: Time,
        session: SessionId,
        (epoch, stay): (SessionEpoch, u32),
        up: Up,
    ) {
        let is_here = |member: &&mut Member| member.is_active() && member.stay() == stay;
        let Some(member) = self.room.members.get_mut(session).filter(is_here) else {
            return hit(Mark::StaleIgnored);
        };
        let link = member.outbound.link();
        let is_its = link.is_some_and(|link| link.epoch == epoch);
        if !is_its && !is_armed(Bug::ResumeNotFenced) {
            return hit(Mark::StaleIgnored);
        }
        self.room.dirty.members.insert(session);
        let sent = member.outbound.sent();
        let is_poisoned = match member.inbound.receive(up.seq) {
            Arrival::Next { is_poisoned } => is_poisoned,
            // Its connection handed it on again, and it had come.
            Arrival::Duplicate => return,
            Arrival::Ahead { is_first } => {
                let applied = member.inbound.applied();
                if let Some(link) = link.filter(|_| is_first) {
                    let message = ToConnection::Resend(applied);
                    self.out.push_now(ZoneOutput::ToConnection { session, link, message });
                }
                return;
            }
        };
        let seq = up.seq;
        self.culprit = Some((session, seq));
        self.room.untold.insert(session);
        self.room.dirty.any = true;
        let refusal = match is_poisoned {
            true => {
                hit(Mark::Poisoned);
                Some(RefusalCode::ZoneFault.into())
            }
            false => self.consume(now, session, up),
        };
        if let Some(refusal) = refusal {
            self.refuse(session, seq, refusal);
        }
        self.note_applied(now, session, sent);
    }

    /// Applies a numbered frame, or says why not.
    fn consume(&mut self, now: Time, session: SessionId, up: Up) -> Option<UpRefusal> {
        match up.body {
            Some(up::Body::Message(message)) => {
                return self.hear(now, session, up.seq, message);
            }
            Some(up::Body::Answer(answer)) => {
                let call = CallId(answer.call);
                let refusal = self.answered(now, session, call, answer.payload, up.seq);
                return refusal.map(UpRefusal::from);
            }
            Some(up::Body::Join(_)) => {
                hit(Mark::JoinedTwice);
                return Some(RefusalCode::AlreadyJoined.into());
            }
            Some(up::Body::Part(_)) => {
                hit(Mark::PartAsked);
                self.depart(now, session, PartCause::Asked, None, up.seq);
            }
            Some(up::Body::Bye(_)) => self.depart(now, session, PartCause::Left, None, up.seq),
            // A decoder lets no frame without a body through.
            None => return Some(RefusalCode::BadPayload.into()),
        }
        None
    }

    fn hear(
        &mut self,
        now: Time,
        session: SessionId,
        number: u64,
        said: Said,
    ) -> Option<UpRefusal> {
        if self.room.exceeds_share(session) {
            hit(Mark::RingShare);
            return Some(RefusalCode::RingShare.into());
        }
        let message = match decode::<Z::In>(said.payload) {
            Ok(message) => message,
            Err(BadPayload(text)) => {
                hit(Mark::BadPayload);
                return Some(UpRefusal { code: RefusalCode::BadPayload, text });
            }
        };
        let player = self.room.active(session)?.player;
        let from = Sender { session, player, number, wants_reply: said.wants_reply };
        if self.closed {
            return Some(RefusalCode::ZoneFault.into());
        }
        self.step(now, Some((session, number)), |game, ctx| game.on_message(ctx, from, message));
        None
    }

    pub(crate) fn hear_loose(
        &mut self,
        now: Time,
        session: SessionId,
        epoch: SessionEpoch,
        leg: Leg,
        payload: Bytes,
    ) {
        let current = |member: &Member| member.epoch == epoch && member.outbound.leg() == leg;
        if !self.room.active(session).is_some_and(current) {
            hit(Mark::LooseDropped);
            return;
        }
        if let Ok(message) = decode::<Z::In>(payload) {
            self.step(now, Some((session, 0)), |game, ctx| {
                game.on_unreliable(ctx, session, message);
            });
        }
    }

    fn answered(
        &mut self,
        now: Time,
        session: SessionId,
        call: CallId,
        payload: Bytes,
        number: u64,
    ) -> Option<RefusalCode> {
        if call.is_hub() {
            self.out.tell(session, ToSession::Answered { call, number, payload });
            return None;
        }
        let Some(open) = self.room.active_mut(session)?.calls.answer(call) else {
            hit(Mark::CallUnknown);
            self.unknown_answers += 1;
            return Some(RefusalCode::UnknownCall);
        };
        hit(Mark::CallAnswered);
        let answer = decode::<Z::In>(payload).map_err(|_| CallFailed::BadPayload);
        self.step(now, Some((session, number)), |game, ctx| {
            game.on_answer(ctx, session, open.key, answer);
        });
        self.tell_awaiting(session);
        None
    }

    /// A member is looked at because the first of its deadlines has come, or would have, had it not
    /// moved since.
    pub(crate) fn deadline_came(&mut self, now: Time, session: SessionId) {
        let service = self.room.deadlines.service(now);
        let Some(member) = self.room.members.get_mut(session) else {
            return never!("session {session} has a deadline and is no member");
        };
        member.alarm_at = None;
        if !member.is_active() {
            return;
        }
        let epoch = member.epoch;
        let is_slow = member.outbound.progress_at().is_some_and(|at| service >= at);
        if member.calls.next_deadline().is_some_and(|at| service >= at) {
            self.room.dirty.members.insert(session);
            for call in member.calls.expire(service) {
                hit(Mark::CallTimeout);
                self.unanswered(now, session, call.key, CallFailed::Timeout);
            }
            self.tell_awaiting(session);
        }
        if is_slow {
            hit(Mark::TooSlow);
            self.sever(session, epoch, CloseCode::TooSlow);
            // The hub spares a sender that it reads slowly itself. It is looked at again after as long.
            let progress_at = service.after(self.room.config.progress);
            if let Some(member) = self.room.members.get_mut(session) {
                member.outbound.expect_by(progress_at);
            }
        }
        self.room.arm(session);
    }

    /// The client has everything up to here.
    pub(crate) fn acked(
        &mut self,
        now: Time,
        session: SessionId,
        epoch: SessionEpoch,
        leg: Leg,
        seq: u64,
    ) {
        let is_its = |member: &&mut Member| member.epoch == epoch && member.is_active();
        let Some(member) = self.room.members.get_mut(session).filter(is_its) else {
            // It has left, or a newer connection has its place.
            return hit(Mark::StaleIgnored);
        };
        match member.outbound.acknowledge(leg, seq) {
            Err(AckAhead) => {
                hit(Mark::AckAhead);
                return self.sever(session, epoch, CloseCode::AckAhead);
            }
            Ok(Acked::Stale) => return,
            Ok(Acked::Taken { is_overrun, is_due }) => {
                if is_due {
                    let service = self.room.deadlines.service(now);
                    member.outbound.expect_by(service.after(self.room.config.progress));
                    self.room.deadlines.arm(session, member);
                }
                if is_overrun {
                    // `overrun` finds it at the end of this input.
                    self.room.missed.insert(session);
                }
            }
        }
        self.room.dirty.members.insert(session);
        if !is_armed(Bug::AckSendsNothing) {
            self.room.pump(session, &mut self.out);
        }
    }

    /// The hub will close the connection; until it says so nothing more is said on it.
    pub(crate) fn sever(&mut self, session: SessionId, epoch: SessionEpoch, code: CloseCode) {
        if let Some(member) = self.room.members.get_mut(session) {
            member.outbound.expect_nothing();
        }
        self.out.tell(session, ToSession::Sever { epoch, code });
    }

    fn refuse(&mut self, session: SessionId, to: u64, refusal: UpRefusal) {
        let (code, text) = (refusal.code.into(), clip(refusal.text));
        let body = down::Body::Refused(Refused { to, code, text, leg: 0 });
        if self.room.active(session).is_some() {
            self.room.say_to(session, body, &mut self.out);
        }
    }

    /// A number was consumed, when so much had been put on its sender's link. Its acknowledgement
    /// travels with what the sender is told anyway, if the last one is a while ago; else it waits
    /// for company.
    fn note_applied(&mut self, now: Time, session: SessionId, sent: u64) {
        if is_armed(Bug::AckBeforeApplied) {
            let sessions: Vec<SessionId> = self.room.members.keys().copied().collect();
            for session in sessions {
                if let Some(output) = self.applied(session) {
                    self.out.push_now(output);
                }
            }
        }
        if self.room.config.durability.is_gated() {
            return;
        }
        let delay = self.room.config.ack_delay;
        let Some(member) = self.room.members.get_mut(session) else {
            return never!("a number of session {session} is applied, which is no member");
        };
        let has_company = member.outbound.sent() > sent && now >= member.acked_at.after(delay);
        if has_company || member.inbound.unacked() >= ACK_EVERY {
            member.acked_at = now;
            self.tell_applied(session);
        } else {
            self.ack_at.get_or_insert(now.after(delay));
        }
    }

    /// In a gated zone numbers are acknowledged with their cut; in another one after a while.
    pub(crate) fn acknowledge_due(&mut self, now: Time) {
        if !self.room.config.durability.is_gated() && self.ack_at.is_some_and(|at| now >= at) {
            self.ack_at = None;
            self.acknowledge_cut();
        }
    }

    /// Every number consumed since the last cut is acknowledged with this one.
    pub(crate) fn acknowledge_cut(&mut self) {
        let untold = self.room.untold.take();
        for session in &untold {
            if self.room.members.get(session).is_some_and(|m| m.inbound.unacked() > 0) {
                self.tell_applied(*session);
            }
        }
        self.room.untold.give_back(untold);
    }

    pub(crate) fn tell_applied(&mut self, session: SessionId) {
        if let Some(output) = self.applied(session) {
            self.out.push(output);
        }
    }

    fn applied(&mut self, session: SessionId) -> Option<ZoneOutput> {
        let member = self.room.members.get_mut(session)?;
        let link = member.outbound.link()?;
        Some(ZoneOutput::Applied { session, link, seq: member.inbound.acknowledge() })
    }

    pub(crate) fn tell_awaiting(&mut self, session: SessionId) {
        let open = self.room.members.get(&session).is_some_and(|m| !m.calls.is_empty());
        self.out.tell(session, ToSession::Awaiting { open });
    }
}

/// Reads a payload with the game's own code; a panic in it is no message, and touches nothing.
pub(super) fn decode<M: Message>(payload: Bytes) -> Result<M, BadPayload> {
    let decoded = catch_unwind(AssertUnwindSafe(|| M::decode(payload)));
    decoded.unwrap_or_else(|_| Err(BadPayload("the decoder panicked".to_owned())))
}
