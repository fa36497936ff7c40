//! What happens to sessions when something happens to their zone. Which zones exist and what becomes of
//! each is decided by the `ZoneRegistry`; here its outputs are passed on, a zone's messages about sessions
//! are given to whom they concern, and the members of a zone are compared with the sessions in it.

use std::collections::BTreeSet;

use rejoin_wire::v1::PartCause;

use super::{Hub, HubOutput};
use crate::exchange::{ToHub, ToZone, ZoneName};
use crate::id::{GameId, Leg, OwnerEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{SessionContext, SessionCore};
use crate::time::Time;
use crate::zone_registry::{RegistryInput, RegistryOutput, ZoneRegistry};

impl From<RegistryOutput> for HubOutput {
    fn from(output: RegistryOutput) -> Self {
        match output {
            RegistryOutput::OpenZone(spec) => Self::OpenZone(spec),
            RegistryOutput::DropZone(zone) => Self::DropZone(zone),
            RegistryOutput::EndZone(zone, owner) => Self::ToZone(zone, owner, ToZone::End),
            RegistryOutput::Game(name, news) => Self::Game(name, news),
            RegistryOutput::Event(event) => Self::Event(event),
        }
    }
}

impl Hub {
    /// The zones that run Games: those that are open, and those that are kept and about to be.
    pub fn games(&self) -> impl Iterator<Item = (GameId, &ZoneName)> {
        self.zones.games()
    }

    /// Whether a match runs in a zone; none while the zone has not said.
    #[must_use]
    pub fn match_running(&self, zone: ZoneId) -> Option<bool> {
        let open = self.zones.view(zone).filter(|zone| zone.owner.is_some());
        open.map(|zone| zone.match_running)
    }

    /// Calls the registry of zones and passes on what it wants done, before anything that follows.
    pub(crate) fn with_zones<T>(&mut self, call: impl FnOnce(&mut ZoneRegistry) -> T) -> T {
        let result = call(&mut self.zones);
        while let Some(output) = self.zones.next_output() {
            self.push(output.into());
        }
        result
    }

    /// Takes a message of a zone: the registry what concerns the zone, the hub what concerns sessions.
    pub(crate) fn on_zone_message(
        &mut self,
        now: Time,
        zone: ZoneId,
        owner: OwnerEpoch,
        message: ToHub,
    ) {
        let input = RegistryInput::of(&message);
        if !self.with_zones(|zones| zones.handle(now, zone, owner, input)) {
            return;
        }
        match message {
            ToHub::Opened { members, .. } => self.zone_opened(zone, members),
            ToHub::OpenRefused { text } => {
                self.with_sessions_in(zone, |session, cx| session.zone_gone(cx, zone, &text));
                self.finish_recovery();
            }
            ToHub::Admitted { session, stay } => {
                self.with_session(session, |session, cx| session.admitted(cx, stay));
            }
            ToHub::JoinRefused { session, stay, code, text } => {
                let at = (zone, stay);
                let known =
                    self.with_session(session, |known, cx| known.join_refused(cx, at, code, text));
                self.forget_if_none(known, zone, (session, stay));
            }
            ToHub::Missing { session, stay } => {
                self.with_session(session, |session, cx| session.missing(cx, zone, stay));
            }
            ToHub::Attached { session, epoch, reason, replayed } => {
                self.with_session(session, |session, cx| {
                    session.attached_by_zone(cx, epoch, reason, replayed);
                });
            }
            ToHub::Heard { number, sessions } => {
                for session in sessions {
                    self.with_session(session, |session, cx| session.words_heard(cx, number));
                }
            }
            ToHub::Departed(departed) => {
                let (session, stay) = (departed.session, departed.stay);
                let known =
                    self.with_session(session, |known, cx| known.departed(cx, zone, *departed));
                self.forget_if_none(known, zone, (session, stay));
            }
            ToHub::Sever { session, epoch, code } => {
                self.with_session(session, |session, cx| session.sever_for_zone(cx, epoch, code));
            }
            ToHub::Answered { session, call, number: to, payload } => {
                let number = self.tellings.next_number(self.ids.owner());
                self.with_session(session, |session, cx| {
                    session.answered_in_zone(cx, call, to, payload, number);
                });
            }
            ToHub::Awaiting { session, open } => {
                self.with_session(session, |session, _| session.set_awaiting(open));
            }
            ToHub::Avatar { session, avatar } => {
                self.with_session(session, |session, _| session.set_avatar(avatar));
            }
            ToHub::Match { running: true } => {}
            // Once the process is about to end, every session has all of its hold in the next one.
            ToHub::Match { running: false } if self.going_down => {}
            ToHub::Match { running: false } => {
                self.with_sessions_in(zone, |session, cx| session.match_ended(cx, zone));
            }
            ToHub::Faulted { poisoned, left, .. } => self.zone_faulted(zone, poisoned, &left),
            ToHub::Ended => {
                let text = "the zone ended";
                self.with_sessions_in(zone, |session, cx| session.zone_gone(cx, zone, text));
                self.finish_recovery();
            }
        }
    }

    /// No session is left to take over what a zone keeps of a member.
    fn forget_if_none(&mut self, known: Option<()>, zone: ZoneId, (id, stay): (SessionId, u32)) {
        if known.is_none() {
            // Its deletion may not be committed yet.
            let forget = ToZone::Forget { session: id, stay };
            let later = |session: &mut SessionCore, _: &mut SessionContext<'_>| {
                session.forget_after(zone, stay);
            };
            if self.call_session(id, later).is_none() {
                self.tell_zone(zone, forget);
            }
        }
    }

    /// The zone is open: what it holds and what the sessions say are brought together.
    fn zone_opened(&mut self, zone: ZoneId, members: Vec<(SessionId, u32)>) {
        let members: BTreeSet<(SessionId, u32)> = members.into_iter().collect();
        for (session, stay) in self.leftovers(zone, &members) {
            hit(Mark::Leftover);
            let cause = PartCause::Lost;
            self.tell_zone(zone, ToZone::Part { session, stay, cause });
        }
        for id in self.sessions_in(zone) {
            self.with_session(id, |session, cx| {
                let is_member = members.contains(&(id, session.leg().stay));
                session.zone_opened(cx, zone, is_member);
            });
        }
        self.end_if_unused(zone);
        self.finish_recovery();
    }

    /// Members whose sessions are in another place, or in another stay, by now.
    fn leftovers(
        &self,
        zone: ZoneId,
        members: &BTreeSet<(SessionId, u32)>,
    ) -> Vec<(SessionId, u32)> {
        let is_left = |(session, stay): &&(SessionId, u32)| {
            let known = self.sessions.get(session);
            known.is_none_or(|known| known.leg().stay != *stay || known.zone() != Some(zone))
        };
        members.iter().filter(is_left).copied().collect()
    }

    /// If no session is in a zone or on its way there, the zone ends unless it was used.
    pub(crate) fn end_if_unused(&mut self, zone: ZoneId) {
        if self.sessions.in_zone(zone).next().is_none() {
            self.with_zones(|zones| zones.end_unused(zone));
        }
    }

    /// Calls the sessions that are in a zone and on their way into it.
    fn with_sessions_in(
        &mut self,
        zone: ZoneId,
        call: impl Fn(&mut SessionCore, &mut SessionContext<'_>),
    ) {
        for id in self.sessions_in(zone) {
            self.with_session(id, &call);
        }
    }

    /// A callback panicked or is stuck: its members go on with the next incarnation, which finds them connected.
    fn zone_faulted(
        &mut self,
        zone: ZoneId,
        culprit: Option<(SessionId, u64)>,
        left: &[(SessionId, Leg, u64)],
    ) {
        for (id, leg, seq) in left {
            self.with_session(*id, |session, _| session.note_left((*leg, *seq)));
        }
        let charged = culprit.filter(|(id, number)| {
            let charge = self.with_session(*id, |one, cx| one.charge_fault(cx, zone, *number));
            charge.unwrap_or(*number > 0)
        });
        self.with_zones(|zones| zones.reopen(zone, charged));
        self.with_sessions_in(zone, |session, _| session.zone_faulted());
    }

    /// The sessions in a zone and on their way into it.
    pub(crate) fn sessions_in(&self, zone: ZoneId) -> Vec<SessionId> {
        self.sessions.in_zone(zone).collect()
    }
}
