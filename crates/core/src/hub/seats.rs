//! The seat gate. A zone that runs a Game admits nobody without a seat: the directory is asked first,
//! told when the session is in, and told when its stay is over. Whoever cannot be asked has said no.
//!
//! What the directory does not know yet is kept with the session. A session that has ended stays until
//! the directory has heard of its seat: the source forgets last.

use rejoin_wire::v1::{PartCause, RefusalCode};

use super::commit::After;
use super::deadline::Alarm;
use super::{Hub, HubOutput};
use crate::exchange::ToZone;
use crate::id::{GameId, SeatId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::seat::{SeatAsk, SeatRefusal, SeatRequest, SeatStep, Seating};
use crate::session::Place;
use crate::time::Time;
use crate::zone_registry::ZoneView;

/// Seats of one session that the directory still has to hear of. A session that would have more is
/// refused: it joins and leaves faster than the directory can follow.
const SEATS_MAX: usize = 8;

impl Hub {
    /// The seat that a join shows, if its zone wants one.
    pub(crate) fn seat_shown(
        &self,
        id: SessionId,
        zone: ZoneView,
        ticket: &str,
    ) -> Result<Option<(GameId, SeatId)>, RefusalCode> {
        match (zone.is_seated, ticket) {
            (false, "") => return Ok(None),
            (true, "") => {
                hit(Mark::SeatRequired);
                return Err(RefusalCode::SeatRequired);
            }
            (false, _) => return Err(RefusalCode::SeatUnknown),
            (true, _) => {}
        }
        let open = self.sessions.get(&id).map_or(0, |session| session.seats.len());
        if open >= SEATS_MAX {
            return Err(RefusalCode::SeatsUnavailable);
        }
        match (self.zones.game(zone.id), SeatId::from_hex(ticket)) {
            (Some(game), Some(seat)) => Ok(Some((game, seat))),
            _ => Err(RefusalCode::SeatUnknown),
        }
    }

    /// Whether a join has to wait for the directory.
    pub(crate) fn awaits_seat(&self, id: SessionId, stay: u32) -> bool {
        let seats = self.sessions.get(&id).map_or(&[][..], |session| &session.seats);
        seats.iter().any(|seat| seat.stay == stay && seat.wanted() == Some(SeatAsk::Claim))
    }

    /// Asks the directory whatever it has not been asked yet, once all of that is kept.
    ///
    /// A claim is asked for once its zone is open. Before that nobody knows whether the zone had let the
    /// session in before a crash or a fault: a refused claim would then give up a stay in which the zone has
    /// acknowledged messages.
    pub(crate) fn ask_seats(&mut self, now: Time, id: SessionId) {
        if !self.is_settled(id) {
            return self.after(id, After::Seats);
        }
        let is_zone_open = self.is_zone_open(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let player = session.player;
        let mut requests = Vec::new();
        for seating in session.seats.iter_mut().filter(|seating| seating.asked_at.is_none()) {
            if seating.step == SeatStep::Claiming && !is_zone_open {
                continue;
            }
            let Some(ask) = seating.wanted() else { continue };
            seating.asked_at = Some(now);
            let Seating { game, seat, stay, .. } = *seating;
            requests.push(SeatRequest { session: id, stay, player, game, seat, ask });
        }
        if requests.is_empty() {
            return;
        }
        self.out.extend(requests.into_iter().map(HubOutput::Seat));
        self.alarms.set(now, self.config.seat_limit, Alarm::Seats(id));
    }

    /// Whether the zone that a session is in, or on its way into, can be spoken to.
    fn is_zone_open(&self, id: SessionId) -> bool {
        let zone = self.sessions.get(&id).and_then(|session| session.zone());
        zone.is_some_and(|zone| self.zones.owner(zone).is_some())
    }

    /// What a crash left open is asked again.
    pub(crate) fn ask_seats_again(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        for seating in &session.seats {
            match seating.step {
                SeatStep::Claiming => hit(Mark::SeatClaimRedriven),
                SeatStep::Confirming => hit(Mark::SeatConfirmRedriven),
                SeatStep::Active => hit(Mark::SeatRecovered),
                SeatStep::Abandoning | SeatStep::Completing => hit(Mark::SeatEndRedriven),
            }
        }
        if !session.seats.is_empty() {
            self.after(id, After::Seats);
        }
    }

    /// What the directory has not answered in time is asked again; a join does not wait longer.
    pub(crate) fn seats_due(&mut self, now: Time, id: SessionId) {
        let limit = self.config.seat_limit;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut unanswered = None;
        let mut is_early = false;
        for seating in &mut session.seats {
            match seating.asked_at {
                Some(at) if now.since(at) < limit => is_early = true,
                Some(_) if seating.step == SeatStep::Claiming => unanswered = Some(seating.stay),
                _ => seating.asked_at = None,
            }
        }
        if is_early {
            self.alarms.set(now, limit, Alarm::Seats(id));
        }
        if let Some(stay) = unanswered {
            hit(Mark::SeatUnanswered);
            self.refuse_seat(id, stay, SeatRefusal::Unavailable);
        }
        self.after(id, After::Seats);
    }

    /// The directory's word.
    pub(crate) fn seat_answered(
        &mut self,
        now: Time,
        request: SeatRequest,
        verdict: Result<(), SeatRefusal>,
    ) {
        let SeatRequest { session: id, stay, ask, .. } = request;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let asked = |seating: &&mut Seating| {
            seating.stay == stay && seating.asked_at.is_some() && seating.wanted() == Some(ask)
        };
        let Some(seating) = session.seats.iter_mut().find(asked) else {
            return hit(Mark::StaleIgnored);
        };
        seating.asked_at = None;
        match (seating.step, verdict) {
            (SeatStep::Claiming, Ok(())) => {
                hit(Mark::SeatClaimed);
                seating.is_claimed = true;
                // What the session was told before the zone speaks to it is on its way by then.
                self.after(id, After::Admit(stay));
            }
            (SeatStep::Claiming, Err(refusal)) => self.refuse_seat(id, stay, refusal),
            (_, Err(SeatRefusal::Unavailable)) => {
                self.alarms.set(now, self.config.retry_after, Alarm::Seats(id));
            }
            (SeatStep::Confirming, Ok(())) if ask == SeatAsk::Confirm => {
                hit(Mark::SeatConfirmed);
                seating.step = SeatStep::Active;
                self.touch(id);
            }
            (SeatStep::Confirming, Ok(())) => {
                hit(Mark::SeatReclaimed);
                seating.is_claimed = true;
                self.after(id, After::Seats);
            }
            // The claim ran out while the zone was slow: perhaps nobody has taken the seat since.
            (SeatStep::Confirming, Err(SeatRefusal::NotClaimed)) if ask == SeatAsk::Confirm => {
                seating.is_claimed = false;
                self.after(id, After::Seats);
            }
            (SeatStep::Confirming, Err(_)) => self.lose_seat(id, stay),
            // Whatever it said, it has nothing of this stay any more.
            (step, _) => {
                hit(match step {
                    SeatStep::Completing => Mark::SeatCompleted,
                    _ => Mark::SeatAbandoned,
                });
                self.forget_seat(id, stay);
            }
        }
    }

    fn forget_seat(&mut self, id: SessionId, stay: u32) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.seats.retain(|seating| seating.stay != stay);
        let is_over = session.ending.is_some() && session.place == Place::Nowhere;
        if is_over && session.seats.is_empty() {
            self.finish_end(id, Vec::new());
        } else {
            self.touch(id);
        }
    }

    /// The seat does not let in: only who showed it is told.
    fn refuse_seat(&mut self, id: SessionId, stay: u32, refusal: SeatRefusal) {
        hit(Mark::SeatRefused);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Place::Joining(joining) = &session.place else { return };
        let zone = joining.zone;
        let code = match refusal {
            SeatRefusal::Unknown => RefusalCode::SeatUnknown,
            SeatRefusal::NotYours => RefusalCode::SeatNotYours,
            SeatRefusal::Over => RefusalCode::SeatOver,
            SeatRefusal::Taken => RefusalCode::SeatTaken,
            SeatRefusal::GameOver => RefusalCode::GameOver,
            SeatRefusal::NotClaimed | SeatRefusal::Unavailable => RefusalCode::SeatsUnavailable,
        };
        if refusal != SeatRefusal::Unavailable {
            // There is no claim that could be given back.
            session.seats.retain(|seating| seating.stay != stay);
        }
        self.join_refused(id, (zone, stay), code, String::new());
    }

    /// The seat is somebody else's by now, or its Game is over: the member must go.
    fn lose_seat(&mut self, id: SessionId, stay: u32) {
        hit(Mark::SeatLost);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.seats.retain(|seating| seating.stay != stay);
        let zone = session.zone();
        self.touch(id);
        if let Some(zone) = zone {
            let cause = PartCause::SeatLost;
            self.after(id, After::Zone(zone, ToZone::Part { session: id, stay, cause }));
        }
    }

    /// Whether a member of a zone that runs a Game has no seat there.
    pub(crate) fn lacks_seat(&self, id: SessionId, zone: ZoneId) -> bool {
        let seated = self.zones.view(zone).is_some_and(|zone| zone.is_seated);
        seated
            && self.sessions.get(&id).is_some_and(|session| {
                !session.seats.iter().any(|s| s.stay == session.leg.stay && s.is_open())
            })
    }

    /// The zone has admitted: the directory is told once that is kept.
    pub(crate) fn confirm_seat(&mut self, id: SessionId, stay: u32) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let claiming = |s: &&mut Seating| s.stay == stay && s.step == SeatStep::Claiming;
        if let Some(seating) = session.seats.iter_mut().find(claiming) {
            let is_told = !is_armed(Bug::SeatNotConfirmed);
            seating.let_go(if is_told { SeatStep::Confirming } else { SeatStep::Active });
            seating.is_claimed = true;
            self.touch(id);
            self.after(id, After::Seats);
        }
    }

    /// The open stay is over, or will not begin: the directory is told once that is kept.
    pub(crate) fn let_seats_go(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut is_any = false;
        for seating in session.seats.iter_mut().filter(|seating| seating.is_open()) {
            is_any = true;
            seating.let_go(match seating.step {
                SeatStep::Claiming => SeatStep::Abandoning,
                _ => SeatStep::Completing,
            });
        }
        if is_any && is_armed(Bug::SeatNotFreed) {
            return session.seats.clear();
        }
        if is_any {
            self.touch(id);
            self.after(id, After::Seats);
        }
    }

    /// A session that has ended waits for the directory: whether it has to.
    pub(crate) fn lingers(&mut self, id: SessionId, last: &mut Vec<After>) -> bool {
        self.let_seats_go(id);
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        if session.seats.is_empty() {
            return false;
        }
        hit(Mark::SeatLingered);
        let is_somewhere = session.place != Place::Nowhere;
        session.downstream.clear_earlier();
        if is_somewhere {
            self.enter_lobby(id);
        }
        self.touch(id);
        for effect in last.drain(..) {
            self.after(id, effect);
        }
        self.after(id, After::Seats);
        true
    }
}
