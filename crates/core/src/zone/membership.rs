//! Coming and going. The session's scope alone decides where a session is; a zone admits a stay
//! once, gives its place to whichever connection has the highest epoch, and forgets a leaver only
//! when the session has committed what it takes over.

use bytes::Bytes;
use rejoin_wire::v1::{Joined, PartCause, RefusalCode, RungReason, ZoneRef, down};

use super::core::ZoneCore;
use super::member::Member;
use super::output::{Delivery, ZoneOutput};
use super::room::MatchData;
use super::{JoinDenied, Zone};
use crate::call::Calls;
use crate::event::Event;
use crate::exchange::{Admit, Link, ToSession, ToZone, ZoneName};
use crate::id::{Leg, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::stream::{Inbound, Outbound};
use crate::time::Time;

/// How a connection goes on in place: after which number, what its client has acknowledged, how many of its own
/// messages are lost, and whether it must be told what is applied.
pub(super) type HowInPlace = (Result<Option<u64>, RungReason>, Option<(Leg, u64)>, u64, bool);

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
        if let Some(before) = self.room.members.get(&session).map(|member| member.stay())
            && before < stay
        {
            // Its session has committed a later stay, and so what it took over from this one, if that is over.
            self.forget(session, before);
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

    pub(super) fn remove(&mut self, session: SessionId) {
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
}

pub(crate) fn zone_ref(name: &ZoneName) -> ZoneRef {
    ZoneRef { kind: name.kind.clone(), name: name.name.clone() }
}
