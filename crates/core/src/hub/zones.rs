//! The zones as the hub sees them: which are open, under which owner, and what to do when one
//! faults. A zone that panics is opened again from its last cut; one that does so too often is
//! opened once more only to part everybody.

use std::collections::{BTreeSet, VecDeque};

use rejoin_wire::v1::{CloseCode, PartCause, RefusalCode, Refused, down};

use super::commit::After;
use super::table::Opener;
use super::{Hub, HubOutput};
use crate::event::{EndCause, Event};
use crate::exchange::{Hold, ToHub, ToZone, ZoneName};
use crate::id::{ConnectionId, OwnerEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::seat::GameNews;
use crate::session::{Flags, Place};
use crate::time::Time;
use crate::zone::{ZoneConfig, ZoneSpec};

/// Whether a zone can be spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ZoneState {
    Opening,
    Open(OwnerEpoch),
}

/// A zone.
#[derive(Debug)]
pub(crate) struct ZoneInfo {
    pub name: ZoneName,
    pub hold: Hold,
    pub match_running: bool,
    /// It runs a Game: nobody is in it without a seat.
    pub seated: bool,
    state: ZoneState,
    config: ZoneConfig,
    /// When it faulted, as far as that still counts.
    faults: VecDeque<Time>,
    /// The client whose Join opened it. Not known after a restart: then it counts for nobody.
    opened_by: Option<Opener>,
    /// Somebody has been let in: from then on it is the game's to end it.
    is_used: bool,
    /// The hub is not ready before this zone is open.
    awaited: bool,
    /// An incarnation of it has been open since the start of the process.
    has_opened: bool,
    /// It was told to end: every incarnation is told again.
    pub end_asked: bool,
}

impl ZoneInfo {
    /// The incarnation that can be spoken to.
    pub(crate) fn owner(&self) -> Option<OwnerEpoch> {
        match self.state {
            ZoneState::Open(owner) => Some(owner),
            ZoneState::Opening => None,
        }
    }

    /// Whether what it says waits for its store.
    pub(crate) fn is_gated(&self) -> bool {
        self.config.durability.is_gated()
    }

    pub(crate) fn opener(&self) -> Option<Opener> {
        self.opened_by
    }

    /// Whether the hub is not ready before this zone is open.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// It is open, and nobody waits for that any more; true if somebody did.
    pub(super) fn settle(&mut self) -> bool {
        std::mem::take(&mut self.awaited)
    }

    /// Whether it is there: open, or about to be opened again from what the store or a faulted
    /// incarnation has left.
    pub(crate) fn is_kept(&self) -> bool {
        self.awaited || self.has_opened
    }
}

impl Hub {
    /// The zone of this name; opened if there is none and that is allowed. `client`: whose Join asks
    /// for it; none: the server itself does.
    pub(crate) fn find_zone(
        &mut self,
        name: &ZoneName,
        create: bool,
        client: Option<Opener>,
    ) -> Result<ZoneId, RefusalCode> {
        let id = ZoneId::of(&name.kind, &name.name);
        if self.zones.contains_key(&id) {
            return Ok(id);
        }
        let kind = self.config.kinds.get(&name.kind).ok_or(RefusalCode::UnknownKind)?;
        if !create {
            return Err(RefusalCode::UnknownZone);
        }
        let allowed = match client {
            None => true,
            Some(opener) => {
                let (by_player, by_origin) = self.zones.opened_by(opener);
                kind.client_may_create
                    && by_player < self.config.zones_per_player_max
                    && by_origin < self.config.guard.address_zones_max
            }
        };
        if !allowed || self.zones.len() >= self.config.zones_max {
            return Err(RefusalCode::CreateDenied);
        }
        self.open_zone(name.clone(), client, false, false);
        Ok(id)
    }

    /// The zone of this name, opened if need be, for a session that shows no seat.
    pub(crate) fn find_open_zone(
        &mut self,
        id: SessionId,
        name: &ZoneName,
    ) -> Result<ZoneId, RefusalCode> {
        let zone = self.find_zone(name, true, None)?;
        self.seat_shown(id, zone, "").map(|_| zone)
    }

    pub(crate) fn open_zone(
        &mut self,
        name: ZoneName,
        opened_by: Option<Opener>,
        awaited: bool,
        seated: bool,
    ) {
        let Some(kind) = self.config.kinds.get(&name.kind) else { return };
        let id = ZoneId::of(&name.kind, &name.name);
        let config = kind.config.clone();
        let info = ZoneInfo {
            name: name.clone(),
            hold: config.hold,
            match_running: false,
            seated,
            state: ZoneState::Opening,
            config: config.clone(),
            faults: VecDeque::new(),
            opened_by,
            is_used: false,
            awaited,
            has_opened: false,
            end_asked: false,
        };
        self.zones.insert(id, info);
        let spec = ZoneSpec { id, name, config, seated, poisoned: None, closed: false };
        self.push(HubOutput::OpenZone(Box::new(spec)));
    }

    pub(crate) fn heed_zone(&mut self, now: Time, zone: ZoneId, owner: OwnerEpoch, said: ToHub) {
        let Some(info) = self.zones.get_mut(&zone) else { return };
        match (info.state, &said) {
            (ZoneState::Opening, ToHub::Opened { .. }) => {
                info.state = ZoneState::Open(owner);
                info.has_opened = true;
            }
            // A zone whose state cannot be saved faults before it has opened.
            (ZoneState::Opening, ToHub::OpenRefused { .. } | ToHub::Faulted { .. }) => {}
            (ZoneState::Open(current), _) if current == owner => {}
            _ => return hit(Mark::StaleIgnored),
        }
        match said {
            ToHub::Opened { members, match_running } => {
                self.zone_opened(now, zone, &members, match_running);
            }
            ToHub::OpenRefused { text } => self.open_refused(now, zone, text),
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
            ToHub::Forgotten { session, stay } => self.forgotten(now, zone, session, stay),
            ToHub::Bounced { session, epoch, up } => self.bounced(now, session, epoch, up),
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
            ToHub::Match { running } => self.set_match(now, zone, running),
            ToHub::Faulted { poisoned, stuck, text } => {
                self.faulted(now, zone, poisoned, stuck, text);
            }
            ToHub::Ended => self.zone_ended(now, zone),
        }
    }

    fn set_match(&mut self, now: Time, zone: ZoneId, running: bool) {
        if let Some(info) = self.zones.get_mut(&zone) {
            info.match_running = running;
        }
        self.tell_host(zone, GameNews::Match(running));
        if !running {
            self.match_ended(now, zone);
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
    fn zone_opened(
        &mut self,
        now: Time,
        zone: ZoneId,
        members: &[(SessionId, u32)],
        match_running: bool,
    ) {
        self.zones.settle(zone);
        if let Some(info) = self.zones.get_mut(&zone) {
            info.match_running = match_running;
            let (name, end_asked) = (info.name.clone(), info.end_asked);
            if end_asked {
                self.tell_zone(zone, ToZone::End);
            }
            self.push(HubOutput::Event(Event::ZoneOpened { zone, name }));
            self.tell_host(zone, GameNews::Opened);
            self.tell_host(zone, GameNews::Match(match_running));
        }
        let members: BTreeSet<(SessionId, u32)> = members.iter().copied().collect();
        self.part_leftovers(zone, &members);
        let seated = self.zones.get(&zone).is_some_and(|info| info.seated);
        let theirs: Vec<SessionId> = self.sessions_in(zone);
        for id in theirs {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            let (stay, ending) = (session.leg.stay, session.ending);
            match &mut session.place {
                Place::Joining(joining) => {
                    joining.asked = None;
                    match ending {
                        // Its seat is claimed: going on to confirm it does not ask again.
                        None if seated && members.contains(&(id, stay)) => {
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
                    if let Some(cause) = ending.map(EndCause::part_cause).or_else(lost) {
                        self.tell_zone(zone, ToZone::Part { session: id, stay, cause });
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

    /// Parts members whose sessions are in another place, or in another stay, by now.
    fn part_leftovers(&mut self, zone: ZoneId, members: &BTreeSet<(SessionId, u32)>) {
        for (session, stay) in members {
            let known = self.sessions.get(session);
            if known.is_none_or(|known| known.leg.stay != *stay || known.zone() != Some(zone)) {
                hit(Mark::Leftover);
                let cause = PartCause::Lost;
                self.tell_zone(zone, ToZone::Part { session: *session, stay: *stay, cause });
            }
        }
    }

    /// Ends a zone that a client's Join has opened if nobody was ever let in and nobody is on the way
    /// there any more. The game cannot do that: it has not heard of anybody.
    pub(crate) fn end_if_unused(&mut self, zone: ZoneId) {
        let is_unused =
            self.zones.get(&zone).is_some_and(|info| info.opened_by.is_some() && !info.is_used);
        // Frames that the zone still has to give back would be lost with it.
        if is_unused
            && self.sessions.in_zone(zone).next().is_none()
            && self.connections_at(zone).is_empty()
        {
            self.tell_zone(zone, ToZone::End);
        }
    }

    /// A zone has let a session in.
    pub(crate) fn note_used(&mut self, zone: ZoneId) {
        if let Some(info) = self.zones.get_mut(&zone) {
            info.is_used = true;
        }
    }

    fn open_refused(&mut self, now: Time, zone: ZoneId, text: String) {
        self.push(HubOutput::Event(Event::ZoneOpenRefused { zone, text: text.clone() }));
        self.tell_host(zone, GameNews::Refused(text.clone()));
        self.abandon_zone(now, zone, &text);
    }

    fn zone_ended(&mut self, now: Time, zone: ZoneId) {
        self.tell_host(zone, GameNews::Ended);
        self.abandon_zone(now, zone, "the zone ended");
    }

    /// There is no such zone any more: whoever was on its way there, or in it, is not.
    fn abandon_zone(&mut self, now: Time, zone: ZoneId, text: &str) {
        self.zones.remove(zone);
        self.push(HubOutput::DropZone(zone));
        for id in self.sessions_in(zone) {
            let Some(session) = self.sessions.get(&id) else { continue };
            let stay = session.leg.stay;
            match &session.place {
                Place::Joining(joining) => {
                    let asked = joining.asked.is_some();
                    let code = RefusalCode::UnknownZone;
                    self.join_refused(id, (zone, stay), code, text.to_owned());
                    if !asked {
                        // Nothing was sent there that could come back.
                        self.forgotten(now, zone, id, stay);
                    }
                }
                _ => self.missing(now, zone, id, stay),
            }
        }
        // Frames that were on their way there will not come back: their senders say them again.
        for connection in self.connections_at(zone) {
            self.drop_connection(now, connection, CloseCode::ZoneFault, "the zone is gone");
        }
        self.finish_recovery(now);
    }

    /// A callback panicked or is stuck: its members resume on the next incarnation.
    fn faulted(
        &mut self,
        now: Time,
        zone: ZoneId,
        poisoned: Option<(SessionId, u64)>,
        stuck: bool,
        text: String,
    ) {
        let (mut within, most) = (self.config.faults_within, self.config.faults_max as usize);
        let Some(info) = self.zones.get_mut(&zone) else { return };
        if stuck {
            hit(Mark::ZoneStuck);
            // To be found stuck takes a while: that time does not make its faults rare.
            within += info.config.callback_budget * self.config.faults_max.saturating_add(1);
        }
        info.state = ZoneState::Opening;
        info.faults.push_back(now);
        while info.faults.front().is_some_and(|at| now.since(*at) >= within) {
            info.faults.pop_front();
        }
        let closed = info.faults.len() > most;
        let (name, config, seated) = (info.name.clone(), info.config.clone(), info.seated);
        self.push(HubOutput::Event(Event::ZoneFault { zone, text, closed }));
        let poisoned = self.charge_fault(zone, poisoned);
        let spec = ZoneSpec { id: zone, name, config, seated, poisoned, closed };
        self.push(HubOutput::OpenZone(Box::new(spec)));
        for id in self.sessions_in(zone) {
            if let Some(session) = self.sessions.get_mut(&id)
                && let Place::Joining(joining) = &mut session.place
            {
                joining.asked = None;
            }
        }
        for connection in self.connections_at(zone) {
            self.drop_connection(now, connection, CloseCode::ZoneFault, "the zone starts again");
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

    /// Connections whose streams depend on an incarnation of a zone, in the order of their ids.
    fn connections_at(&self, zone: ZoneId) -> BTreeSet<ConnectionId> {
        let all = (zone, ConnectionId(0))..=(zone, ConnectionId(u64::MAX));
        let settling = self.settling.range(all).map(|(_, connection)| *connection);
        let here =
            self.sessions.in_zone(zone).filter_map(|id| self.sessions.get(&id)?.connection());
        settling.chain(here).collect()
    }
}
