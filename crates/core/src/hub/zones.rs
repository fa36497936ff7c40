//! What happens to sessions when something happens to their zone. Which zones exist and what becomes of
//! each is decided by the `ZoneRegistry`; here a zone's messages about sessions are given to those, and the members
//! of a zone are compared with the sessions in it.

use std::collections::{BTreeSet, VecDeque};

use rejoin_wire::v1::PartCause;

use super::{Hub, HubOutput, Sessions};
use crate::exchange::{ToHub, ToZone};
use crate::id::{Leg, OwnerEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
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

impl ZoneRegistry {
    /// If no session is in a zone or on its way there, the zone ends unless it was used.
    pub(super) fn end_if_empty(
        &mut self,
        out: &mut VecDeque<HubOutput>,
        sessions: &Sessions,
        zone: ZoneId,
    ) {
        if sessions.in_zone(zone).next().is_none() {
            self.carry(out, |zones| zones.end_unused(zone));
        }
    }

    /// Calls the registry and passes on what it wants done, before anything that follows.
    pub(super) fn carry<T>(
        &mut self,
        out: &mut VecDeque<HubOutput>,
        call: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let result = call(self);
        while let Some(output) = self.next_output() {
            out.push_back(output.into());
        }
        result
    }

    /// A message to the open incarnation of a zone, if there is one.
    pub(crate) fn message(&self, zone: ZoneId, message: ToZone) -> Option<HubOutput> {
        self.owner(zone).map(|owner| HubOutput::ToZone(zone, owner, message))
    }
}

impl Hub {
    /// Takes a message of a zone: the registry what concerns the zone, sessions what concerns them.
    pub(crate) fn on_zone_message(&mut self, zone: ZoneId, owner: OwnerEpoch, message: ToHub) {
        let (now, input) = (self.alarms.moment().now, RegistryInput::of(&message));
        if !self.zones.carry(&mut self.out, |zones| zones.handle(now, zone, owner, input)) {
            return;
        }
        let inside = || self.sessions.in_zone(zone).collect();
        match message {
            ToHub::Opened { members, .. } => self.zone_opened(zone, members),
            ToHub::OpenRefused { text } => {
                self.with_sessions(inside(), |session, cx| session.zone_gone(cx, zone, &text));
            }
            ToHub::Ended => {
                let text = "the zone ended";
                self.with_sessions(inside(), |session, cx| session.zone_gone(cx, zone, text));
            }
            ToHub::Match { running: true } => {}
            // Once the process is about to end, every session has all of its hold in the next one.
            ToHub::Match { running: false } if self.going_down => {}
            ToHub::Match { running: false } => {
                self.with_sessions(inside(), |session, cx| session.match_ended(cx, zone));
            }
            ToHub::Faulted { poisoned, left, .. } => self.zone_faulted(zone, poisoned, &left),
            ToHub::Heard { number, sessions } => {
                self.with_sessions(sessions, |session, cx| session.words_heard(cx, number));
            }
            ToHub::Session(id, message) => {
                let kept = message.keeps();
                let known = self.with_session(id, |one, cx| one.on_zone_message(cx, zone, message));
                // No session is left to take over what the zone keeps of it. Its deletion may not be committed yet.
                if let (None, Some(stay)) = (known, kept)
                    && self.call_session(id, |known, _| known.forget_after(zone, stay)).is_none()
                {
                    let forget = ToZone::Forget { session: id, stay };
                    self.out.extend(self.zones.message(zone, forget));
                }
            }
        }
    }

    /// The zone is open: what it holds and what the sessions say are brought together.
    fn zone_opened(&mut self, zone: ZoneId, members: Vec<(SessionId, u32)>) {
        let members: BTreeSet<(SessionId, u32)> = members.into_iter().collect();
        for (session, stay) in &members {
            let known = self.session(*session);
            if known.is_none_or(|known| known.leg().stay != *stay || known.zone() != Some(zone)) {
                // It is in another place, or in another stay, by now.
                hit(Mark::Leftover);
                let (session, stay, cause) = (*session, *stay, PartCause::Lost);
                let part = ToZone::Part { session, stay, cause };
                self.out.extend(self.zones.message(zone, part));
            }
        }
        self.with_sessions(self.sessions.in_zone(zone).collect(), |session, cx| {
            let is_member = members.contains(&(session.id(), session.leg().stay));
            session.zone_opened(cx, zone, is_member);
        });
        self.zones.end_if_empty(&mut self.out, &self.sessions, zone);
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
        self.zones.carry(&mut self.out, |zones| zones.reopen(zone, charged));
        let inside = self.sessions.in_zone(zone).collect();
        self.with_sessions(inside, |session, _| session.zone_faulted());
    }
}
