//! How long a session waits for its player. A hold runs in hold time, so that nobody loses a session in the
//! time in which the server could not have taken the player back.

use std::time::Duration;

use super::life::{Away, Life};
use super::token::Presented;
use super::{Place, SessionContext, SessionCore};
use crate::event::{EndCause, Event};
use crate::exchange::Hold;
use crate::hub::Alarm;
use crate::id::{SessionEpoch, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};

impl SessionCore {
    /// How a drop of this session is held where it is now; what a `Welcome` tells. The zone decides, also
    /// while the session is on its way into it. A zone without a hold ends only those it has let in: the
    /// client of a session on its way has not heard of that zone, and the connection may have been lost by
    /// a crash of the server, or closed by the server because the rest of the former stay did not fit.
    pub(super) fn hold_of(&self, cx: &SessionContext<'_>) -> Hold {
        match cx.zone(self.zone()).map_or(self.hold, |zone| zone.hold) {
            Hold::None if matches!(self.place, Place::Joining(_)) => self.hold,
            hold @ (Hold::None | Hold::Timed(_) | Hold::UntilMatchEnds(_)) => hold,
        }
    }

    /// The session lost its connection: how long is it waited for?
    pub(crate) fn start_hold(&mut self, cx: &mut SessionContext<'_>) {
        if cx.is_stopping {
            // It begins when the next process is ready, as after a crash.
            return;
        }
        let is_inside = matches!(self.place, Place::In(_));
        let is_running = is_inside && cx.zone(self.zone()).is_some_and(|zone| zone.match_running);
        let hold = match self.hold_of(cx) {
            Hold::Timed(hold) => Some(hold),
            Hold::UntilMatchEnds(_) if is_running => None,
            Hold::UntilMatchEnds(hold) => Some(hold),
            Hold::None => {
                hit(Mark::HoldNone);
                return self.end(cx, EndCause::HoldEnded);
            }
        };
        let hold = hold.map(|hold| if is_armed(Bug::HoldHalved) { hold / 2 } else { hold });
        let until = hold.map(|hold| cx.alarms.set_hold(hold, self.id, self.epoch));
        cx.alarms.pulse(cx.config.stall);
        self.life = Life::Away(Away { until, since: cx.at.real, stood_still: Duration::ZERO });
    }

    /// Its hold has not begun, or waits for the end of a match.
    fn is_held_without_end(&self) -> bool {
        matches!(self.life, Life::Away(Away { until: None, .. })) && !self.is_ending()
    }

    /// After a start every zone of before is open, and players are let in: holds begin to run.
    pub(crate) fn hold_from_start(&mut self, cx: &mut SessionContext<'_>) {
        if self.is_held_without_end() {
            self.start_hold(cx);
        }
    }

    /// A session that dropped on its way in is held as the members of its zone are from now on.
    pub(super) fn hold_inside(&mut self, cx: &mut SessionContext<'_>) {
        let is_away = !self.is_ending() && self.is_held();
        let waits = cx
            .zone(self.zone())
            .is_some_and(|zone| zone.match_running && matches!(zone.hold, Hold::UntilMatchEnds(_)));
        if is_away && waits && !cx.is_recovering {
            self.start_hold(cx);
        }
    }

    /// A hold that waited for the end of a match has nothing to wait for outside that zone.
    pub(super) fn hold_outside(&mut self, cx: &mut SessionContext<'_>) {
        if self.is_held_without_end() && !cx.is_recovering {
            self.start_hold(cx);
        }
    }

    /// The hold that began when this epoch was lost may be over.
    pub(crate) fn hold_due(&mut self, cx: &mut SessionContext<'_>, epoch: SessionEpoch) {
        if cx.is_stopping || is_armed(Bug::HoldForgotten) {
            return;
        }
        let Life::Away(away) = self.life else { return hit(Mark::StaleIgnored) };
        let Some(until) = away.until.filter(|_| self.epoch == epoch) else {
            // The player came back: this timer belongs to an earlier drop.
            return hit(Mark::StaleIgnored);
        };
        let rest = until.since(cx.at.hold);
        if !rest.is_zero() {
            // Its player was here and told to wait.
            cx.alarms.set_hold(rest, self.id, epoch);
            return cx.alarms.pulse(cx.config.stall);
        }
        if let Some(more) = self.barred_more(cx, &away) {
            let until = Some(cx.alarms.set_hold(more, self.id, epoch));
            let stood_still = away.stood_still + more;
            self.life = Life::Away(Away { until, stood_still, ..away });
            return cx.alarms.pulse(cx.config.stall);
        }
        self.hold_ended(cx);
    }

    /// How much longer a hold must run because its player could not come in: while the address that
    /// it was last seen at is barred, it stands still. Never for longer than violations are counted.
    fn barred_more(&self, cx: &SessionContext<'_>, away: &Away) -> Option<Duration> {
        let barred = cx.rations.barred_between(self.seen_from?, away.since, cx.at.real)?;
        let most = cx.config.guard.address_violations.within;
        barred.min(most).checked_sub(away.stood_still).filter(|more| !more.is_zero())
    }

    fn hold_ended(&mut self, cx: &mut SessionContext<'_>) {
        hit(Mark::HoldEnded);
        self.after_event(Event::HoldEnded { session: self.id });
        let is_wrong = is_armed(Bug::WrongCause);
        self.end(cx, if is_wrong { EndCause::Left } else { EndCause::HoldEnded });
    }

    /// The match of a zone ended: a hold that waited for that ends with it.
    pub(crate) fn match_ended(&mut self, cx: &mut SessionContext<'_>, zone: ZoneId) {
        if self.place.is_in(zone) && self.is_held_without_end() {
            hit(Mark::HoldMatchEnded);
            self.hold_ended(cx);
        }
    }

    /// Its player shows a valid token and is told to wait: the session is held for that much longer. It is
    /// never more than a whole hold from then, however often this happens.
    pub(crate) fn hold_longer(
        &mut self,
        cx: &mut SessionContext<'_>,
        token: &[u8],
        wait: Duration,
    ) {
        if !matches!(self.presented(token), Presented::Valid(_)) {
            return;
        }
        let hold = Duration::from_millis(u64::from(self.hold_of(cx).as_millis()));
        if let Life::Away(away) = &mut self.life
            && let Some(until) = &mut away.until
        {
            let rest = until.since(cx.at.hold).min(hold);
            *until = (*until).max(cx.at.hold.after(rest + wait));
        }
    }

    /// Ends the session when it has lived as long as one may.
    pub(crate) fn start_lifetime(&self, cx: &mut SessionContext<'_>) {
        if !cx.config.lifetime.is_zero() {
            let rest = cx.config.lifetime.saturating_sub(cx.age(self.began));
            cx.alarms.set(cx.at.now, rest, Alarm::Lifetime(self.id));
        }
    }

    /// It has lived as long as a session may.
    pub(crate) fn lifetime_due(&mut self, cx: &mut SessionContext<'_>) {
        hit(Mark::Lifetime);
        self.end(cx, EndCause::Lifetime);
    }
}
