//! Coming and going. The session's scope alone decides where a session is; a zone admits a stay
//! once, gives its place to whichever connection has the highest epoch, and forgets a leaver only
//! when the session has committed what it takes over.

use bytes::Bytes;
use rejoin_wire::v1::{
    Joined, PartCause, Parted, RefusalCode, Resync, Rung, RungReason, ServerFrame, ZoneRef, down,
    server_frame,
};
use rejoin_wire::{Limits, SharedFrame};

use super::core::{Delivery, Life, ZoneCore, ZoneOutput};
use super::member::{Leaving, Member};
use super::room::MatchData;
use super::{Disconnect, JoinDenied, Zone};
use crate::call::{CallFailed, Calls};
use crate::connection::{Route, Routed, ToConnection};
use crate::event::Event;
use crate::exchange::{
    Admit, Attach, Departed, InPlace, Link, ResumeFrom, ToSession, ToZone, ZoneName,
};
use crate::id::{Leg, PlayerId, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::never;
use crate::planted::{Bug, is_armed};
use crate::stream::{Inbound, Outbound};
use crate::time::Time;

/// How a connection goes on in place: after which number, what its client has acknowledged, how many of its own
/// messages are lost, and whether it must be told what is applied.
type HowInPlace = (Result<Option<u64>, RungReason>, Option<(Leg, u64)>, u64, bool);

impl<Z: Zone> ZoneCore<Z> {
    pub(crate) fn heed(&mut self, now: Time, message: ToZone) {
        match message {
            ToZone::Admit(admit) => self.admit(now, *admit),
            ToZone::Attach(attach) => self.attach(now, *attach),
            ToZone::Up { session, epoch, stay, up } => self.up(now, session, (epoch, stay), up),
            ToZone::Loose { session, epoch, leg, payload } => {
                self.hear_loose(now, session, epoch, leg, payload);
            }
            ToZone::Ack { session, epoch, leg, seq } => self.acked(now, session, epoch, leg, seq),
            ToZone::Native { session, message } => self.hear_native(now, session, message),
            ToZone::Answer { session, call, message } => {
                self.answer_native(now, session, call, message);
            }
            ToZone::Word { number, to, body } => self.say_word(number, &to, body),
            ToZone::Transfer { session, stay, to, payload } => {
                let here = |member: &Member| member.stay() == stay;
                if self.room.active(session).is_some_and(here) {
                    self.depart(now, session, PartCause::Transferred, Some((to, payload)), 0);
                }
            }
            ToZone::Dropped { session, stay, epoch } => self.dropped(now, session, stay, epoch),
            ToZone::Part { session, stay, cause } => self.part(now, session, stay, cause),
            ToZone::Forget { session, stay } => self.forget(session, stay),
            ToZone::End => self.end_zone(now, PartCause::ZoneEnded),
        }
    }

    fn admit(&mut self, now: Time, admit: Admit) {
        let (session, stay) = (admit.session, admit.stay);
        if let Some(member) = self.room.members.get(&session)
            && member.stay() == stay
        {
            // Said again after a crash: it is here, or has been and its departure is on its way.
            if member.is_active() {
                self.out.tell(session, ToSession::Admitted { stay });
            }
            return;
        }
        if let Some(code) = self.refusal(&admit) {
            return self.refuse_join(session, stay, code, String::new());
        }
        let request = admit.payload.clone();
        self.insert(&admit);
        let culprit = Some((session, admit.to));
        self.culprit = culprit;
        let verdict = self.try_step(now, culprit, |game, ctx| game.on_join(ctx, session, request));
        match verdict {
            Some((Ok(payload), effects)) => {
                self.welcome_member(now, &admit, payload);
                self.carry_out(now, Some(session), effects);
            }
            Some((Err(JoinDenied(text)), _)) => {
                hit(Mark::JoinDenied);
                self.remove(session);
                self.refuse_join(session, stay, RefusalCode::JoinDenied, text);
            }
            None => {}
        }
    }

    fn refusal(&self, admit: &Admit) -> Option<RefusalCode> {
        let room = &self.room;
        let known = room.roster.data(&admit.player).is_some();
        if room.ending || self.closed {
            hit(Mark::ZoneEnding);
            Some(RefusalCode::ZoneEnding)
        } else if room.members.active_count() >= room.config.members_max
            || (!known && room.roster.len() >= room.config.roster_max)
        {
            hit(Mark::ZoneFull);
            Some(RefusalCode::ZoneFull)
        } else if room.members.contains_key(&admit.session)
            || room.members.of_player(admit.player).count() >= room.config.sessions_per_player_max
        {
            hit(Mark::AlreadyHere);
            Some(RefusalCode::AlreadyHere)
        } else {
            None
        }
    }

    fn refuse_join(&mut self, session: SessionId, stay: u32, code: RefusalCode, text: String) {
        self.out.tell(session, ToSession::JoinRefused { stay, code, text });
    }

    fn insert(&mut self, admit: &Admit) {
        let mut outbound = Outbound::new(Leg::first(admit.stay));
        if let Some(connection) = admit.link {
            outbound.attach(Link { connection, epoch: admit.epoch }, 0);
        }
        let mut inbound = Inbound::after(admit.applied);
        admit.poisoned.into_iter().for_each(|number| inbound.poison(number));
        let member = Member {
            player: admit.player,
            native: admit.native,
            joined: self.room.stream.last + 1,
            epoch: admit.epoch,
            leaving: None,
            parting: false,
            outbound,
            inbound,
            acked_at: Time::ZERO,
            alarm_at: None,
            calls: Calls::default(),
            avatar: None,
            data: admit.data.clone(),
            heard: 0,
        };
        self.room.members.insert(admit.session, member);
    }

    fn remove(&mut self, session: SessionId) {
        if let Some(mut member) = self.room.members.remove(session)
            && !is_armed(Bug::DeadlineKept)
        {
            self.room.deadlines.disarm(session, &mut member);
        }
        self.room.dirty.gone.insert(session);
    }

    fn welcome_member(&mut self, now: Time, admit: &Admit, payload: Bytes) {
        hit(Mark::Joined);
        let (session, stay) = (admit.session, admit.stay);
        // Nobody else can hold the session's id here: a leaver of that id is refused above.
        let _ = self.room.roster.connect(now, session, admit.player, MatchData::default());
        self.room.dirty.players.insert(admit.player);
        self.room.dirty.members.insert(session);
        // Whatever the game made of it: who is here is kept before anybody hears of it.
        self.room.dirty.any = true;
        if admit.native {
            // It has no Joined with a number of its own; who comes next has come later.
            self.room.stream.last += 1;
            self.tell_native(session, Delivery::Joined(self.room.name.clone(), payload));
        } else {
            let joined = Joined {
                leg: Leg::first(stay).to_wire(),
                zone: Some(zone_ref(&self.room.name)),
                to: admit.to,
                payload,
                latest: self.room.stream.latest.all(),
                hold_ms: self.room.config.hold.as_millis(),
            };
            if let Some(connection) = admit.link {
                self.tell_routed(session, Link { connection, epoch: admit.epoch });
            }
            self.room.say_to(session, down::Body::Joined(joined), &mut self.out);
        }
        self.out.tell(session, ToSession::Admitted { stay });
        let zone = self.room.name.clone();
        self.out.push(ZoneOutput::Event(Event::ZoneJoined { session, zone }));
    }

    /// A connection takes its place: the fence, the rung and `applied` are one step.
    fn attach(&mut self, now: Time, attach: Attach) {
        let Attach { session, stay, link, from, backlog, welcome, .. } = attach;
        let owner = self.room.owner;
        let Some(member) = self.room.members.get_mut(session).filter(|m| m.stay() == stay) else {
            self.out.tell(session, ToSession::Missing { stay });
            return;
        };
        // A zone that runs again knows the epoch of a connection that it has to find again.
        let is_late = match member.is_connected() {
            true => link.epoch <= member.epoch,
            false => link.epoch < member.epoch,
        };
        if !member.is_active() || is_late {
            // A leaver's departure is on its way, and the hub goes on from there.
            hit(Mark::StaleIgnored);
            return;
        }
        member.epoch = link.epoch;
        member.outbound.detach();
        let continued = member.inbound.continue_at(attach.oldest_unacked, attach.lost_known);
        let applied = member.inbound.applied();
        let resumed = member.outbound.resume(&from, member.outbound.leg().next_turn(owner));
        let player = member.player;
        self.room.dirty.members.insert(session);
        self.room.dirty.any = true;
        // Still connected in the roster after a takeover without a drop: nothing to do then.
        let _ = self.room.roster.connect(now, session, player, MatchData::default());
        self.room.dirty.players.insert(player);
        // A loss in either direction is no replay.
        let is_whole = continued.lost == 0 && !continued.is_behind;
        let resumed = resumed.and_then(|at| is_whole.then_some(at).ok_or(RungReason::RolledBack));
        let Some(mut welcome) = welcome else {
            let owes_applied = applied >= attach.oldest_unacked;
            let ResumeFrom::InPlace(InPlace { acked, .. }) = from else {
                return never!("session {session} takes its place again and names {from:?}");
            };
            let how = (resumed, acked, continued.lost, owes_applied);
            return self.go_on_in_place(now, session, link, how);
        };
        welcome.lost_upstream = continued.lost;
        welcome.applied = applied;
        welcome.zone = Some(zone_ref(&self.room.name));
        match resumed {
            Ok(position) => self.replay(now, session, link, position, backlog, *welcome),
            Err(reason) => self.resync_returning(now, session, link, reason, *welcome),
        }
    }

    /// A connection that was welcomed before goes on with this incarnation. Its client has not been away, so the
    /// game is not told; at most it is given the whole state.
    fn go_on_in_place(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        (resumed, acked, lost, owes_applied): HowInPlace,
    ) {
        // What was on the wire is committed in a zone that is gated; in another one the client may have heard
        // what is gone, under numbers that are given again.
        let is_kept = self.room.config.durability.is_gated();
        let resumed = resumed.and_then(|at| is_kept.then_some(at).ok_or(RungReason::RolledBack));
        match resumed {
            Ok(sent) => {
                hit(Mark::WentOnInPlace);
                self.room.go_on(now, session, link, (acked, sent.unwrap_or(0)));
                self.tell_routed(session, link);
                if owes_applied {
                    // It was kept, and the zone failed before it was acknowledged.
                    self.tell_applied(session);
                }
                self.room.pump(session, &mut self.out);
            }
            Err(reason) => {
                hit(Mark::ResyncedAfterFault);
                self.resync(now, session, link, (reason, lost), None);
            }
        }
    }

    /// Tells a connection that this zone consumes its client's frames from here on.
    fn tell_routed(&mut self, session: SessionId, link: Link) {
        let Some(member) = self.room.members.get(&session) else {
            return never!("session {session} is told where its frames go and is no member");
        };
        let route = Route::Zone(self.room.owner, self.room.id);
        let routed = Routed { stay: member.stay(), route, applied: member.inbound.applied() };
        let message = ToConnection::Routed(routed);
        self.out.push(ZoneOutput::ToConnection { session, link, message });
    }

    fn replay(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        position: Option<u64>,
        backlog: Vec<SharedFrame>,
        mut welcome: rejoin_wire::v1::Welcome,
    ) {
        // With nothing on the link yet, what is said here comes after what is said again.
        if self.step(now, None, |game, ctx| game.on_reconnect(ctx, session)).is_none()
            && self.life == Life::Done
        {
            return;
        }
        let Some(member) = self.room.active_mut(session) else {
            // The game has sent it away. The hub hears of its departure, and welcomes it where it goes.
            return hit(Mark::StaleIgnored);
        };
        if member.outbound.lost() > position.unwrap_or(0) {
            // What the game said just now pushed out something the client has not had.
            let lost = welcome.lost_upstream;
            self.resync(now, session, link, (RungReason::Overrun, lost), Some(welcome));
            return self.tell_attached(session, link.epoch, RungReason::Overrun, 0);
        }
        member.outbound.replay(link, position);
        if position.is_some() {
            welcome.leg = member.outbound.leg().to_wire();
        }
        welcome.rung = Rung::Replayed.into();
        welcome.reason = RungReason::Complete.into();
        self.tell_routed(session, link);
        self.send_frame(session, link, server_frame::Frame::Welcome(welcome));
        hit(Mark::ReplayedInZone);
        if !backlog.is_empty() {
            hit(Mark::ReplayedOlderLeg);
        }
        let replayed = backlog.len() as u64;
        self.out.push_frames(None, session, link, backlog);
        let before = self.room.stream.sent;
        self.room.pump(session, &mut self.out);
        let replayed = replayed + self.room.stream.sent - before;
        self.tell_attached(session, link.epoch, RungReason::Complete, replayed);
    }

    /// Gives a member the whole state on a new leg.
    fn resync(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        (reason, lost_upstream): (RungReason, u64),
        welcome: Option<rejoin_wire::v1::Welcome>,
    ) {
        let owner = self.room.owner;
        let seq = self.room.stream.last;
        let taken = self.try_step(now, None, |game, ctx| {
            let (snapshot, most) =
                (game.on_resync(ctx, session), Limits::DEFAULT.snapshot_bytes_max);
            assert!(
                snapshot.len() <= most,
                "a snapshot of {} bytes; clients take {most}",
                snapshot.len()
            );
            snapshot
        });
        let Some((snapshot, effects)) = taken else {
            if self.closed {
                self.depart(now, session, PartCause::ZoneFault, None, 0);
            }
            return;
        };
        let latest = self.room.stream.latest.all();
        let zone = zone_ref(&self.room.name);
        let Some(member) = self.room.active_mut(session) else {
            return never!("session {session} gets the whole state and is no member");
        };
        let Some(leg) = member.outbound.leg().next_turn(owner) else {
            return self.depart(now, session, PartCause::Lost, None, 0);
        };
        member.outbound.restart(leg, seq, reason, Some(link));
        let applied = member.inbound.applied();
        self.tell_routed(session, link);
        if let Some(mut welcome) = welcome {
            welcome.rung = Rung::Resynced.into();
            welcome.reason = reason.into();
            welcome.leg = leg.to_wire();
            self.send_frame(session, link, server_frame::Frame::Welcome(welcome));
        }
        let resync = Resync {
            leg: leg.to_wire(),
            seq,
            reason: reason.into(),
            snapshot,
            latest,
            zone: Some(zone),
            applied,
            lost_upstream,
        };
        let frame = server_frame::Frame::Resync(resync);
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.out.push_numbered(seq, ZoneOutput::Send { session, link, frame });
        self.carry_out(now, None, effects);
    }

    /// Gives a returning member the whole state.
    fn resync_returning(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        reason: RungReason,
        welcome: rejoin_wire::v1::Welcome,
    ) {
        hit(match reason {
            RungReason::Cold => Mark::ResyncedCold,
            RungReason::RolledBack => Mark::ResyncedRolledBack,
            RungReason::UnknownPosition => Mark::ResyncedUnknownPosition,
            _ => Mark::ResyncedOverrun,
        });
        let lost = welcome.lost_upstream;
        self.resync(now, session, link, (reason, lost), Some(welcome));
        self.tell_attached(session, link.epoch, reason, 0);
        // Nothing is said again, so what the game says now is not lost with what was.
        self.step(now, None, |game, ctx| game.on_reconnect(ctx, session));
    }

    /// A live member missed something for good.
    pub(crate) fn resync_in_place(&mut self, now: Time, session: SessionId) {
        if let Some(link) = self.room.active(session).and_then(|member| member.outbound.link()) {
            hit(Mark::ResyncedInPlace);
            self.room.dirty.any = true;
            self.resync(now, session, link, (RungReason::Overrun, 0), None);
        }
    }

    fn dropped(&mut self, now: Time, session: SessionId, stay: u32, epoch: SessionEpoch) {
        // The session has lost this epoch, and with it every earlier one.
        let is_meant = |member: &&mut Member| {
            member.stay() == stay && member.epoch <= epoch && member.is_connected()
        };
        let Some(member) = self.room.active_mut(session).filter(is_meant) else {
            // It has left, was dropped before, or a newer connection has its place.
            return hit(Mark::StaleIgnored);
        };
        member.outbound.detach();
        let player = member.player;
        let _ = self.room.roster.disconnect(now, session);
        self.room.dirty.players.insert(player);
        self.room.dirty.any = true;
        match self.step(now, None, |game, ctx| game.on_disconnect(ctx, session)) {
            Some(Disconnect::Hard) => {
                hit(Mark::DisconnectHard);
                self.depart(now, session, PartCause::Disconnected, None, 0);
            }
            _ => hit(Mark::DisconnectSoft),
        }
    }

    fn part(&mut self, now: Time, session: SessionId, stay: u32, cause: PartCause) {
        match self.room.members.get(&session) {
            Some(member) if member.stay() == stay => {
                if member.is_active() {
                    self.depart(now, session, cause, None, 0);
                }
            }
            _ => self.out.tell(session, ToSession::Missing { stay }),
        }
    }

    /// Ends a member's stay: its last frame, the game's callback, its objects, and what it takes
    /// along. `to`: the number of the client's own wish.
    pub(crate) fn depart(
        &mut self,
        now: Time,
        session: SessionId,
        cause: PartCause,
        next: Option<(ZoneName, Bytes)>,
        to: u64,
    ) {
        let Some(member) = self.room.active_mut(session).filter(|member| !member.parting) else {
            // It has left or is about to: a game may part whom it likes, also the peer of a call that
            // failed because of this departure.
            return hit(Mark::StaleIgnored);
        };
        let (player, stay, is_native) = (member.player, member.stay(), member.native);
        member.parting = true;
        let calls = member.calls.take_all();
        if member.inbound.unacked() > 0 {
            self.tell_applied(session);
        }
        for call in calls {
            self.unanswered(now, session, call.key, CallFailed::Gone);
        }
        if is_native {
            self.tell_native(session, Delivery::Parted(cause));
        } else {
            let leg = Leg::first(stay.saturating_add(1)).to_wire();
            let parted = Parted { leg, cause: cause.into(), text: String::new(), to };
            self.room.say_to(session, down::Body::Parted(parted), &mut self.out);
        }
        self.room.close_stream(session);
        self.room.dirty.members.insert(session);
        self.room.members.leave(session, Leaving { cause, next });
        self.room.dirty.any = true;
        // A clean leave during a match keeps the match data as a drop does.
        let _ = self.room.roster.disconnect(now, session);
        self.room.dirty.players.insert(player);
        let heir = self.room.members.longest_here();
        let stays = is_armed(Bug::ObjectsNotParted) && cause == PartCause::Transferred;
        let player = if stays { PlayerId::default() } else { player };
        for change in self.room.objects.part(player, heir) {
            self.tell_owner(Some(change));
            self.step(now, None, |game, ctx| game.on_owner(ctx, change));
        }
        self.step(now, None, |game, ctx| game.on_part(ctx, session, cause));
        self.tell_departed(session);
        let zone = self.room.name.clone();
        self.out.push(ZoneOutput::Event(Event::ZoneParted { session, zone, cause }));
    }

    /// Says that a member has left; said again after a crash until the session has taken over.
    pub(crate) fn tell_departed(&mut self, session: SessionId) {
        let member = self.room.members.get(&session);
        let Some((member, leaving)) = member.and_then(|it| Some((it, it.leaving.as_ref()?))) else {
            return never!("session {session} has departed and is not leaving");
        };
        let departed = Departed {
            stay: member.stay(),
            tail: member.outbound.tail(),
            sent: match member.outbound.link() {
                Some(_) => member.outbound.sent(),
                None => member.outbound.acked(),
            },
            has_link: member.outbound.link().is_some(),
            epoch: member.epoch,
            applied: member.inbound.applied(),
            cause: leaving.cause,
            next: leaving.next.clone(),
            data: member.data.clone(),
            heard: member.heard,
        };
        self.out.tell(session, ToSession::Departed(Box::new(departed)));
    }

    fn forget(&mut self, session: SessionId, stay: u32) {
        let member = self.room.members.get(&session);
        if member.is_some_and(|member| member.stay() == stay && !member.is_active()) {
            self.remove(session);
            self.room.dirty.any = true;
        }
    }

    /// Ends the zone: nobody comes in, everybody is parted; the scope goes when all are forgotten.
    pub(crate) fn end_zone(&mut self, now: Time, cause: PartCause) {
        if self.room.ending {
            return;
        }
        hit(Mark::ZoneEnded);
        self.room.ending = true;
        self.room.dirty.any = true;
        let sessions: Vec<SessionId> = self.room.members.keys().copied().collect();
        for session in sessions {
            self.depart(now, session, cause, None, 0);
        }
    }

    fn tell_attached(
        &mut self,
        session: SessionId,
        epoch: SessionEpoch,
        reason: RungReason,
        replayed: u64,
    ) {
        self.out.tell(session, ToSession::Attached { epoch, reason, replayed });
    }

    fn send_frame(&mut self, session: SessionId, link: Link, frame: server_frame::Frame) {
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.out.push(ZoneOutput::Send { session, link, frame });
    }
}

pub(crate) fn zone_ref(name: &ZoneName) -> ZoneRef {
    ZoneRef { kind: name.kind.clone(), name: name.name.clone() }
}
