//! The seats of a session. A zone that runs a Game admits nobody without a seat: the directory is asked first,
//! told when the session is in, and told when its stay is over. Where the directory cannot be asked, the answer
//! is no.
//!
//! What the directory does not know yet is kept with the session. A session that has ended stays until
//! the directory has heard of its seat: the source forgets last.

use rejoin_wire::v1::{PartCause, RefusalCode};

use super::{AfterCommit, Place, SessionContext, SessionCore};
use crate::exchange::ToZone;
use crate::hub::{Alarm, HubOutput};
use crate::id::{GameId, SeatId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::seat::{SeatAsk, SeatRefusal, SeatRequest, SeatStep, Seating};
use crate::zone_registry::ZoneView;

/// Seats of one session that the directory still has to hear of. A session that would have more is
/// refused: it joins and leaves faster than the directory can follow.
const SEATS_MAX: usize = 8;

impl SessionCore {
    /// The seat that a join shows, if its zone wants one.
    pub(super) fn seat_shown(
        &self,
        cx: &SessionContext<'_>,
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
        if self.seats.len() >= SEATS_MAX {
            return Err(RefusalCode::SeatsUnavailable);
        }
        match (cx.zones.game(zone.id), SeatId::from_hex(ticket)) {
            (Some(game), Some(seat)) => Ok(Some((game, seat))),
            _ => Err(RefusalCode::SeatUnknown),
        }
    }

    /// Whether the join of this stay has to wait for the directory.
    pub(super) fn awaits_seat(&self, stay: u32) -> bool {
        self.seats.iter().any(|seat| seat.stay == stay && seat.wanted() == Some(SeatAsk::Claim))
    }

    /// Asks the directory whatever it has not been asked yet, once all of that is kept.
    ///
    /// A claim is asked for once its zone is open. Before that nobody knows whether the zone had let the
    /// session in before a crash or a fault: a refused claim would then give up a stay in which the zone has
    /// acknowledged messages.
    pub(super) fn ask_seats(&mut self, cx: &mut SessionContext<'_>) {
        if !self.gate.is_settled() {
            return self.after(AfterCommit::Seats);
        }
        let is_zone_open = self.zone().is_some_and(|zone| cx.zones.owner(zone).is_some());
        let (session, player) = (self.id, self.player);
        let mut is_any = false;
        for seating in self.seats.iter_mut().filter(|seating| seating.asked_at.is_none()) {
            if seating.step == SeatStep::Claiming && !is_zone_open {
                continue;
            }
            let Some(ask) = seating.wanted() else { continue };
            seating.asked_at = Some(cx.at.now);
            let Seating { game, seat, stay, .. } = *seating;
            is_any = true;
            cx.push(HubOutput::Seat(SeatRequest { session, stay, player, game, seat, ask }));
        }
        if is_any {
            cx.alarms.set(cx.at.now, cx.config.seat_limit, Alarm::Seats(session));
        }
    }

    /// What a crash left open is asked again.
    pub(super) fn ask_seats_again(&mut self) {
        for seating in &self.seats {
            match seating.step {
                SeatStep::Claiming => hit(Mark::SeatClaimRedriven),
                SeatStep::Confirming => hit(Mark::SeatConfirmRedriven),
                SeatStep::Active => hit(Mark::SeatRecovered),
                SeatStep::Abandoning | SeatStep::Completing => hit(Mark::SeatEndRedriven),
            }
        }
        if !self.seats.is_empty() {
            self.after(AfterCommit::Seats);
        }
    }

    /// What the directory has not answered in time is asked again; a join does not wait longer.
    pub(crate) fn seats_due(&mut self, cx: &mut SessionContext<'_>) {
        let limit = cx.config.seat_limit;
        let mut unanswered = None;
        let mut is_early = false;
        for seating in &mut self.seats {
            match seating.asked_at {
                Some(at) if cx.at.now.since(at) < limit => is_early = true,
                Some(_) if seating.step == SeatStep::Claiming => unanswered = Some(seating.stay),
                _ => seating.asked_at = None,
            }
        }
        if is_early {
            cx.alarms.set(cx.at.now, limit, Alarm::Seats(self.id));
        }
        if let Some(stay) = unanswered {
            hit(Mark::SeatUnanswered);
            self.refuse_seat(cx, stay, SeatRefusal::Unavailable);
        }
        self.after(AfterCommit::Seats);
    }

    /// The directory's answer.
    pub(crate) fn seat_answered(
        &mut self,
        cx: &mut SessionContext<'_>,
        request: SeatRequest,
        verdict: Result<(), SeatRefusal>,
    ) {
        let SeatRequest { stay, ask, .. } = request;
        let asked = |seating: &&mut Seating| {
            seating.stay == stay && seating.asked_at.is_some() && seating.wanted() == Some(ask)
        };
        let Some(seating) = self.seats.iter_mut().find(asked) else {
            return hit(Mark::StaleIgnored);
        };
        seating.asked_at = None;
        match (seating.step, verdict) {
            (SeatStep::Claiming, Ok(())) => {
                hit(Mark::SeatClaimed);
                seating.is_claimed = true;
                // What the session was told before the zone speaks to it is on its way by then.
                self.after(AfterCommit::Admit(stay));
            }
            (SeatStep::Claiming, Err(refusal)) => self.refuse_seat(cx, stay, refusal),
            (_, Err(SeatRefusal::Unavailable)) => {
                cx.alarms.set(cx.at.now, cx.config.retry_after, Alarm::Seats(self.id));
            }
            (SeatStep::Confirming, Ok(())) if ask == SeatAsk::Confirm => {
                hit(Mark::SeatConfirmed);
                seating.step = SeatStep::Active;
                self.touch();
            }
            (SeatStep::Confirming, Ok(())) => {
                hit(Mark::SeatReclaimed);
                seating.is_claimed = true;
                self.after(AfterCommit::Seats);
            }
            // The claim ran out while the zone was slow: perhaps nobody has taken the seat since.
            (SeatStep::Confirming, Err(SeatRefusal::NotClaimed)) if ask == SeatAsk::Confirm => {
                seating.is_claimed = false;
                self.after(AfterCommit::Seats);
            }
            (SeatStep::Confirming, Err(_)) => self.lose_seat(stay),
            // Whatever it said, it has nothing of this stay any more.
            (SeatStep::Completing, _) => {
                hit(Mark::SeatCompleted);
                self.forget_seat(cx, stay);
            }
            (SeatStep::Abandoning | SeatStep::Active, _) => {
                hit(Mark::SeatAbandoned);
                self.forget_seat(cx, stay);
            }
        }
    }

    fn forget_seat(&mut self, cx: &mut SessionContext<'_>, stay: u32) {
        self.seats.retain(|seating| seating.stay != stay);
        let is_over = self.is_ending() && self.place.is_lobby();
        if is_over && self.seats.is_empty() {
            self.finish_end(cx, None);
        } else {
            self.touch();
        }
    }

    /// The seat does not let in: only its client is told.
    fn refuse_seat(&mut self, cx: &mut SessionContext<'_>, stay: u32, refusal: SeatRefusal) {
        hit(Mark::SeatRefused);
        let Place::Joining(joining) = &self.place else { return hit(Mark::StaleIgnored) };
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
            self.seats.retain(|seating| seating.stay != stay);
        }
        self.join_refused(cx, zone, stay, code, String::new());
    }

    /// Another player has the seat by now, or its Game is over: the member must go.
    fn lose_seat(&mut self, stay: u32) {
        hit(Mark::SeatLost);
        self.seats.retain(|seating| seating.stay != stay);
        self.touch();
        if let Some(zone) = self.zone() {
            let (session, cause) = (self.id, PartCause::SeatLost);
            self.after(AfterCommit::Zone(zone, ToZone::Part { session, stay, cause }));
        }
    }

    /// Whether it is a member of a zone that runs a Game and has no seat there.
    pub(super) fn lacks_seat(&self, cx: &SessionContext<'_>, zone: ZoneId) -> bool {
        let is_seated = cx.zone(Some(zone)).is_some_and(|zone| zone.is_seated);
        is_seated && !self.seats.iter().any(|seat| seat.stay == self.leg.stay && seat.is_open())
    }

    /// The zone has admitted: the directory is told once that is kept.
    pub(super) fn confirm_seat(&mut self, stay: u32) {
        let claiming = |s: &&mut Seating| s.stay == stay && s.step == SeatStep::Claiming;
        if let Some(seating) = self.seats.iter_mut().find(claiming) {
            let is_told = !is_armed(Bug::SeatNotConfirmed);
            seating.let_go(if is_told { SeatStep::Confirming } else { SeatStep::Active });
            seating.is_claimed = true;
            self.touch();
            self.after(AfterCommit::Seats);
        }
    }

    /// The open stay is over, or will not begin: the directory is told once that is kept.
    pub(super) fn let_seats_go(&mut self) {
        let mut is_any = false;
        for seating in self.seats.iter_mut().filter(|seating| seating.is_open()) {
            is_any = true;
            seating.let_go(match seating.step {
                SeatStep::Claiming => SeatStep::Abandoning,
                _ => SeatStep::Completing,
            });
        }
        if is_any && is_armed(Bug::SeatNotFreed) {
            return self.seats.clear();
        }
        if is_any {
            self.touch();
            self.after(AfterCommit::Seats);
        }
    }
}
