//! Members that lose their connection or leave. A leaver is forgotten only when its session has committed what it
//! takes over.

use bytes::Bytes;
use rejoin_wire::v1::{PartCause, Parted, down};

use super::core::ZoneCore;
use super::member::{Leaving, Member};
use super::output::{Delivery, ZoneOutput};
use super::{Disconnect, Zone};
use crate::call::CallFailed;
use crate::event::Event;
use crate::exchange::{Departed, ToSession, ZoneName};
use crate::id::{Leg, PlayerId, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::never;
use crate::planted::{Bug, is_armed};
use crate::time::Time;

impl<Z: Zone> ZoneCore<Z> {
    pub(super) fn dropped(
        &mut self,
        now: Time,
        session: SessionId,
        stay: u32,
        epoch: SessionEpoch,
    ) {
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

    pub(super) fn part(&mut self, now: Time, session: SessionId, stay: u32, cause: PartCause) {
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

    pub(super) fn forget(&mut self, session: SessionId, stay: u32) {
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
}
