//! What happens to sessions when something happens to their zone. Which zones exist and what becomes of
//! each is decided by the `ZoneRegistry`; here its outputs are passed on, a zone's messages about sessions
//! are given to whom they concern, and the members of a zone are compared with the sessions in it.

use std::collections::BTreeSet;

use rejoin_wire::v1::{CloseCode, PartCause, RefusalCode, Refused, down};

use super::commit::After;
use super::{Hub, HubOutput};
use crate::connection::Connection;
use crate::event::EndCause;
use crate::exchange::{ToHub, ToZone, ZoneName};
use crate::id::{GameId, Leg, OwnerEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Flags, Place};
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

    /// Sends a message to the open incarnation of a zone, if there is one.
    pub(crate) fn tell_zone(&mut self, zone: ZoneId, message: ToZone) {
        if let Some(owner) = self.zones.owner(zone) {
            self.push(HubOutput::ToZone(zone, owner, message));
        }
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
            ToHub::Opened { members, .. } => self.zone_opened(now, zone, members),
            ToHub::OpenRefused { text } => self.zone_gone(now, zone, &text),
            ToHub::Admitted { session, stay } => self.admitted(now, session, stay),
            ToHub::JoinRefused { session, stay, code, text } => {
                self.join_refused(session, (zone, stay), code, text);
            }
            ToHub::Missing { session, stay } => self.missing(now, zone, session, stay),
            ToHub::Attached { session, epoch, reason, replayed } => {
                self.attached(now, session, epoch, reason, replayed);
            }
            ToHub::Heard { number, sessions } => {
                sessions.into_iter().for_each(|session| self.words_heard(session, number));
            }
            ToHub::Departed(departed) => self.departed(now, zone, *departed),
            ToHub::Sever { session, epoch, code } => {
                let link = self.link_of(session).filter(|link| link.epoch == epoch);
                // The zone asks again while a member that stays connected acknowledges nothing.
                let link = link.filter(|link| {
                    code != CloseCode::TooSlow || !self.is_throttled(link.connection)
                });
                if let Some(link) = link {
                    self.drop_connection(now, link.connection, code, "severed by its zone");
                }
            }
            ToHub::Answered { session, call, number, payload } => {
                if let Some(code) = self.answered(session, call, payload) {
                    let refused = Refused { to: number, code: code.into(), ..Refused::default() };
                    // Where it does not arrive, its call is over as well.
                    let _ = self.say_anywhere(session, down::Body::Refused(refused), None);
                }
            }
            ToHub::Awaiting { session, open } => self.set_awaiting(session, open),
            ToHub::Avatar { session, avatar } => {
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.avatar = avatar;
                }
            }
            ToHub::Match { running: true } => {}
            ToHub::Match { running: false } => self.match_ended(now, zone),
            ToHub::Faulted { poisoned, left, .. } => self.zone_faulted(zone, poisoned, &left),
            ToHub::Ended => self.zone_gone(now, zone, "the zone ended"),
        }
    }

    pub(crate) fn set_awaiting(&mut self, session: SessionId, open: bool) {
        if let Some(session) = self.sessions.get_mut(&session) {
            let own = session.calls.as_ref().is_some_and(|calls| !calls.is_empty());
            session.zone_awaits = open;
            session.flags.set(Flags::AWAITING_RESPONSE, open || own);
        }
    }

    /// The zone is open: what it holds and what the sessions say are brought together.
    fn zone_opened(&mut self, now: Time, zone: ZoneId, members: Vec<(SessionId, u32)>) {
        let members: BTreeSet<(SessionId, u32)> = members.into_iter().collect();
        for (session, stay) in self.leftovers(zone, &members) {
            hit(Mark::Leftover);
            let cause = PartCause::Lost;
            self.tell_zone(zone, ToZone::Part { session, stay, cause });
        }
        let theirs: Vec<SessionId> = self.sessions_in(zone);
        for id in theirs {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            let (stay, ending) = (session.leg.stay, session.ending);
            match &mut session.place {
                Place::Joining(joining) => {
                    joining.asked = None;
                    match ending {
                        // The zone has admitted it, and its seat is claimed if it needs one.
                        None if members.contains(&(id, stay)) => {
                            self.found_inside(now, id, stay);
                        }
                        None => {
                            self.after(id, After::Seats);
                            self.after(id, After::Admit(stay));
                        }
                        // The zone had committed the admission: it must part the member first.
                        Some(cause) if members.contains(&(id, stay)) => {
                            let cause = cause.part_cause();
                            self.tell_zone(zone, ToZone::Part { session: id, stay, cause });
                        }
                        Some(_) => self.missing(now, zone, id, stay),
                    }
                }
                Place::In(_) if !members.contains(&(id, stay)) => {
                    self.missing(now, zone, id, stay);
                }
                Place::In(_) => {
                    let lost = || self.lacks_seat(id, zone).then_some(PartCause::SeatLost);
                    match ending.map(EndCause::part_cause).or_else(lost) {
                        Some(cause) => {
                            self.tell_zone(zone, ToZone::Part { session: id, stay, cause });
                        }
                        None => self.find_place_again(id),
                    }
                    self.flush_words(id);
                    self.reattach(id);
                }
                Place::Nowhere => {}
            }
        }
        self.end_if_unused(zone);
        self.finish_recovery(now);
    }

    /// Members whose sessions are in another place, or in another stay, by now.
    fn leftovers(
        &self,
        zone: ZoneId,
        members: &BTreeSet<(SessionId, u32)>,
    ) -> Vec<(SessionId, u32)> {
        let is_left = |(session, stay): &&(SessionId, u32)| {
            let known = self.sessions.get(session);
            known.is_none_or(|known| known.leg.stay != *stay || known.zone() != Some(zone))
        };
        members.iter().filter(is_left).copied().collect()
    }

    /// If no session is in a zone or on its way there, the zone ends unless it was used.
    pub(crate) fn end_if_unused(&mut self, zone: ZoneId) {
        if self.sessions.in_zone(zone).next().is_none() {
            self.with_zones(|zones| zones.end_unused(zone));
        }
    }

    /// There is no such zone any more: whoever was on its way there, or in it, is not.
    fn zone_gone(&mut self, now: Time, zone: ZoneId, text: &str) {
        for id in self.sessions_in(zone) {
            let Some(session) = self.sessions.get(&id) else { continue };
            let stay = session.leg.stay;
            match &session.place {
                Place::Joining(_) => {
                    let code = RefusalCode::UnknownZone;
                    self.join_refused(id, (zone, stay), code, text.to_owned());
                }
                _ => self.missing(now, zone, id, stay),
            }
        }
        self.finish_recovery(now);
    }

    /// A callback panicked or is stuck: its members go on with the next incarnation, which finds them connected.
    fn zone_faulted(
        &mut self,
        zone: ZoneId,
        culprit: Option<(SessionId, u64)>,
        left: &[(SessionId, Leg, u64)],
    ) {
        for (session, leg, seq) in left {
            let connection = self.link_of(*session).map(|link| link.connection);
            let known = connection.and_then(|id| self.connections.get_mut(&id));
            if let Some(attached) = known.and_then(Connection::attached_mut) {
                attached.left = Some((*leg, *seq));
            }
        }
        let poisoned = self.charge_fault(zone, culprit);
        self.with_zones(|zones| zones.reopen(zone, poisoned));
        for id in self.sessions_in(zone) {
            if let Some(session) = self.sessions.get_mut(&id)
                && let Place::Joining(joining) = &mut session.place
            {
                joining.asked = None;
            }
        }
    }

    /// Charges a panic to whoever caused it: a Join is refused here, a later number is left to the
    /// zone's next incarnation, which may not know the joiner yet.
    fn charge_fault(
        &mut self,
        zone: ZoneId,
        culprit: Option<(SessionId, u64)>,
    ) -> Option<(SessionId, u64)> {
        let (id, number) = culprit?;
        if let Some(session) = self.sessions.get_mut(&id)
            && let Place::Joining(joining) = &mut session.place
            && joining.zone == zone
        {
            if joining.to == number {
                let stay = session.leg.stay;
                let code = RefusalCode::ZoneFault;
                self.join_refused(id, (zone, stay), code, String::new());
                return None;
            }
            joining.poisoned = Some(number).filter(|number| *number > 0);
            self.touch(id);
        }
        Some((id, number)).filter(|(_, number)| *number > 0)
    }

    /// The sessions in a zone and on their way into it.
    pub(crate) fn sessions_in(&self, zone: ZoneId) -> Vec<SessionId> {
        self.sessions.in_zone(zone).collect()
    }
}
