//! Carrying out what a callback recorded, in the order it was recorded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{
    Call, Loose, Message as Said, PartCause, Reply, ServerFrame, down, server_frame,
};

use super::Zone;
use super::context::{Effect, Sender, Spoken};
use super::core::{ZoneCore, native};
use super::member::Member;
use super::objects::OwnerChange;
use super::output::{Delivery, ZoneOutput};
use super::ring::Recipients;
use crate::call::CallFailed;
use crate::event::Event;
use crate::exchange::{Native, ToHub, ToSession};
use crate::id::{JobId, SessionId};
use crate::mark::{Mark, hit};
use crate::time::{Time, millis_u32};

/// How deep a game may answer the failure of a call with a call that fails at once.
const CALLS_FAILING_MAX: u32 = 32;

impl<Z: Zone> ZoneCore<Z> {
    /// `cause`: whose message this step answers, for the share of the ring.
    pub(crate) fn carry_out(
        &mut self,
        now: Time,
        cause: Option<SessionId>,
        effects: Vec<Effect<Z::Out>>,
    ) {
        for effect in effects {
            match effect {
                Effect::Reply { to, message } => self.reply(to, message),
                Effect::Send { to, message } => self.send(cause, to, message),
                Effect::Broadcast { except, message } => {
                    let to = except.map_or(Recipients::All, Recipients::Except);
                    self.say_to_many(cause, to, message);
                }
                Effect::Latest { key, message } => self.latest(key, message),
                Effect::Loose { to, message } => self.loose(to, message),
                Effect::Put { key, value } => self.put(key, value),
                Effect::After { delay, key } => self.set_timer(now, delay, key),
                Effect::Cancel { key } => {
                    self.room.dirty.timers = true;
                    self.room.clock.cancel(&key);
                }
                Effect::Transfer { session, to, payload } => {
                    let next = Some((to, payload));
                    self.depart(now, session, PartCause::Transferred, next, 0);
                }
                Effect::Part { session } => {
                    hit(Mark::PartKicked);
                    self.depart(now, session, PartCause::Kicked, None, 0);
                }
                Effect::Call { session, message, deadline, key } => {
                    self.call(now, session, message, deadline, key);
                }
                Effect::Match { running } => self.set_match(running),
                Effect::Job { key, request } => self.start_job(key, request),
                Effect::Own { object, owned } => {
                    self.room.dirty.objects.insert(object);
                    let full = self.room.objects.len() >= self.room.config.objects_max
                        && self.room.objects.owner(object).is_none();
                    let change = match owned {
                        Some(_) if full => None,
                        Some(owned) => Some(self.room.objects.set(object, owned)),
                        None => self.room.objects.release(object),
                    };
                    self.tell_owner(change);
                }
                Effect::Avatar { session, avatar } => {
                    if let Some(member) = self.room.active_mut(session) {
                        member.avatar = avatar;
                        self.out.tell(session, ToSession::Avatar { avatar });
                    }
                }
                Effect::Data { session, data } => {
                    if let Some(member) = self.room.active_mut(session) {
                        member.data = data;
                    }
                }
                Effect::MatchData { player, data } => self.set_match_data(player, data),
                Effect::End => self.end_zone(now, PartCause::ZoneEnded),
            }
        }
    }

    fn reply(&mut self, to: Sender, message: Spoken<Z::Out>) {
        match self.room.active(to.session).map(|member| member.native) {
            Some(true) => {
                self.tell_native(to.session, Delivery::Message(native(message.value)));
            }
            Some(false) => {
                hit(Mark::Replied);
                let body = down::Body::Reply(Reply { to: to.number, payload: message.payload });
                self.room.say_to(to.session, body, &mut self.out);
            }
            // A game may answer a sender that it has parted in the same step, or that left long ago.
            None => {}
        }
    }

    fn send(&mut self, cause: Option<SessionId>, mut to: Vec<SessionId>, message: Spoken<Z::Out>) {
        to.retain(|session| self.room.active(*session).is_some());
        to.sort_unstable();
        to.dedup();
        match to.as_slice() {
            [] => {}
            [one] if self.room.active(*one).is_some_and(|member| member.native) => {
                self.tell_native(*one, Delivery::Message(native(message.value)));
            }
            [one] => {
                let body = down::Body::Message(said(message.payload));
                self.room.say_to(*one, body, &mut self.out);
            }
            _ => self.say_to_many(cause, Recipients::Only(Arc::from(to)), message),
        }
    }

    fn say_to_many(&mut self, cause: Option<SessionId>, to: Recipients, message: Spoken<Z::Out>) {
        let (mut natives, mut has_others) = (Vec::new(), false);
        let mut count = |session: SessionId, member: &Member| match member.native {
            _ if !member.is_active() => {}
            true => natives.push(session),
            false => has_others = true,
        };
        match &to {
            Recipients::Only(sessions) => {
                for session in sessions.iter() {
                    self.room.active(*session).into_iter().for_each(|m| count(*session, m));
                }
            }
            Recipients::All | Recipients::Except(_) => {
                let meant = self.room.members.iter().filter(|(id, _)| to.contains(**id));
                meant.for_each(|(id, member)| count(*id, member));
            }
        }
        if has_others {
            let body = down::Body::Message(said(message.payload));
            self.room.say(to, cause, body, &mut self.out);
        }
        if !natives.is_empty() {
            let message: Native = native(message.value);
            for session in natives {
                self.tell_native(session, Delivery::Message(message.clone()));
            }
        }
    }

    /// Says something from outside the game to those of these members who have not heard it yet. Who is
    /// leaving is passed over: the hub learns from its departure what it has not heard.
    pub(crate) fn say_word(&mut self, number: u64, to: &[SessionId], body: down::Body) {
        let (mut here, mut hears) = (Vec::new(), Vec::new());
        for session in to {
            let Some(member) = self.room.active(*session).filter(|member| !member.native) else {
                continue;
            };
            here.push(*session);
            if member.heard < number {
                hears.push(*session);
            }
        }
        for session in &hears {
            if let Some(member) = self.room.active_mut(*session) {
                member.heard = number;
            }
        }
        let active = self.room.members.active_count();
        match hears.as_slice() {
            [] => {}
            [one] => {
                self.room.say_to(*one, body, &mut self.out);
            }
            _ if active == hears.len() => {
                self.room.say(Recipients::All, None, body, &mut self.out);
            }
            _ => {
                let only = Recipients::Only(hears.into());
                self.room.say(only, None, body, &mut self.out);
            }
        }
        self.out.push(ZoneOutput::ToHub(ToHub::Heard { number, sessions: here }));
    }

    fn latest(&mut self, key: String, message: Option<Spoken<Z::Out>>) {
        let payload = message.as_ref().map(|message| message.payload.clone());
        let body = down::Body::Message(Said {
            payload: payload.clone().unwrap_or_default(),
            key: key.clone(),
            cleared: payload.is_none(),
            wants_reply: false,
        });
        if payload.is_none() && !self.room.stream.latest.contains(&key) {
            return;
        }
        if !self.room.say_latest(key, body, payload, &mut self.out) {
            return;
        }
        let members = self.room.members.iter();
        let natives: Vec<SessionId> =
            members.filter(|(_, m)| m.native && m.is_active()).map(|(id, _)| *id).collect();
        if let (Some(message), false) = (message, natives.is_empty()) {
            let message: Native = native(message.value);
            for session in natives {
                self.tell_native(session, Delivery::Message(message.clone()));
            }
        }
    }

    /// Says something once and keeps nothing of it. The frame names the leg of its reader, so there is
    /// one for each leg that members are in, and few members are in another than the rest.
    fn loose(&mut self, to: Option<Vec<SessionId>>, message: Spoken<Z::Out>) {
        let mut to = to.unwrap_or_else(|| self.room.members.keys().copied().collect());
        to.sort_unstable();
        to.dedup();
        let payload = message.payload;
        let (mut natives, mut frames) = (Vec::new(), BTreeMap::new());
        for session in to {
            let Some(member) = self.room.active(session) else { continue };
            if member.native {
                natives.push(session);
            } else if let Some(link) = member.outbound.link() {
                let leg = member.outbound.leg().to_wire();
                let frame = frames.entry(leg).or_insert_with(|| {
                    let frame = server_frame::Frame::Loose(Loose { leg, payload: payload.clone() });
                    SharedFrame::new(&ServerFrame { frame: Some(frame) })
                });
                self.out.push(ZoneOutput::Send { session, link, frame: frame.clone() });
            }
        }
        let message: Native = native(message.value);
        for session in natives {
            self.tell_native(session, Delivery::Message(message.clone()));
        }
    }

    fn put(&mut self, key: Bytes, value: Option<Bytes>) {
        self.room.dirty.cells.insert(key.clone());
        match value {
            Some(value) => drop(self.room.cells.insert(key, value)),
            None => drop(self.room.cells.remove(&key)),
        }
    }

    fn set_timer(&mut self, now: Time, delay: Duration, key: Bytes) {
        if self.room.clock.timer_count() < self.room.config.timers_max {
            self.room.dirty.timers = true;
            let due = self.room.clock.age(now) + delay;
            self.room.clock.set(due, key);
        }
    }

    fn call(
        &mut self,
        now: Time,
        session: SessionId,
        message: Spoken<Z::Out>,
        deadline: Duration,
        key: Bytes,
    ) {
        let calls_max = self.room.config.calls_max;
        let service = self.room.deadlines.service(now);
        let Some(member) = self.room.active_mut(session).filter(|member| !member.parting) else {
            return self.unanswered(now, session, key, CallFailed::Gone);
        };
        if member.calls.len() >= calls_max {
            return self.unanswered(now, session, key, CallFailed::Timeout);
        }
        let first = member.calls.is_empty();
        let call = member.calls.open(key, service.after(deadline));
        let is_native = member.native;
        self.room.arm(session);
        if is_native {
            self.tell_native(session, Delivery::Call(call, native(message.value)));
        } else {
            let payload = message.payload;
            let call = Call { call: call.0, payload, deadline_ms: millis_u32(deadline) };
            self.room.say_to(session, down::Body::Call(call), &mut self.out);
        }
        if first {
            self.out.tell(session, ToSession::Awaiting { open: true });
        }
    }

    /// Tells the game that a call has no answer. One that asks again at once, and fails again, and so
    /// on for ever, is as faulty as one that panics.
    pub(crate) fn unanswered(
        &mut self,
        now: Time,
        session: SessionId,
        key: Bytes,
        why: CallFailed,
    ) {
        if self.failing >= CALLS_FAILING_MAX {
            let text = format!(
                "on_answer asks {session} again each time it is told that this failed: {why:?}"
            );
            return self.fault(None, text);
        }
        self.failing += 1;
        self.step(now, None, |game, ctx| game.on_answer(ctx, session, key, Err(why)));
        self.failing -= 1;
    }

    fn set_match(&mut self, running: bool) {
        if running == self.room.match_running() {
            return;
        }
        let zone = self.room.id;
        if running {
            hit(Mark::MatchStarted);
            self.room.roster.match_started();
            self.out.push(ZoneOutput::Event(Event::MatchStarted { zone }));
        } else {
            hit(Mark::MatchEnded);
            self.room.roster.match_ended();
            self.out.push(ZoneOutput::Event(Event::MatchEnded { zone }));
        }
        self.room.dirty.all_players = true;
        self.out.push(ZoneOutput::ToHub(ToHub::Match { running }));
    }

    fn set_match_data(&mut self, player: crate::id::PlayerId, data: Bytes) {
        let current = self.room.members.of_player(player).next();
        if let Some(session) = current
            && self.room.roster.set(session, super::room::MatchData(data)).is_ok()
        {
            self.room.dirty.players.insert(player);
        }
    }

    fn start_job(&mut self, key: Bytes, request: Bytes) {
        self.room.last_job = JobId(self.room.last_job.0 + 1);
        let job = self.room.last_job;
        self.room.jobs.insert(job, (key, request.clone()));
        self.room.dirty.jobs = true;
        self.out.push(ZoneOutput::StartJob { job, request });
    }

    pub(crate) fn tell_owner(&mut self, change: Option<OwnerChange>) {
        if let Some(OwnerChange { object, from, to }) = change {
            let zone = self.room.id;
            self.room.dirty.objects.insert(object);
            self.out.push(ZoneOutput::Event(Event::OwnerChanged { zone, object, from, to }));
        }
    }

    pub(crate) fn tell_native(&mut self, session: SessionId, delivery: Delivery) {
        self.out.push(ZoneOutput::Native { session, delivery });
    }
}

/// An ordered message.
fn said(payload: Bytes) -> Said {
    Said { payload, key: String::new(), cleared: false, wants_reply: false }
}
