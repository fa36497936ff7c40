//! How a session gets into a zone: the zone is found, the join is committed, then the zone is asked, again after a
//! crash, until it has admitted the session or refused it.

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, RefusalCode};

use super::life::Life;
use super::{
    AfterCommit, FindReason, FindZone, FromSession, InZone, Joining, Outgoing, Place,
    SessionContext, SessionCore,
};
use crate::exchange::{Admit, InPlace, ToZone, ZoneName};
use crate::hub::Answer;
use crate::id::{GameId, Leg, SeatId, SessionEpoch, ZoneId};
use crate::mark::{Mark, hit};
use crate::seat::Seating;
use crate::timeline::What;
use crate::zone_registry::ZoneView;

/// Where a join goes.
struct Target {
    zone: ZoneId,
    name: ZoneName,
    payload: Bytes,
    seat: Option<(GameId, SeatId)>,
}

impl SessionCore {
    /// The zone that the session has asked for.
    pub(crate) fn found(
        &mut self,
        cx: &mut SessionContext<'_>,
        find: FindZone,
        zone: Result<ZoneView, RefusalCode>,
    ) {
        let FindZone { name, payload, reason, .. } = find;
        let shown = match &reason {
            FindReason::Join { seat, .. } => seat.clone(),
            FindReason::Command { seat: Some(seat), .. } => seat.to_string(),
            // The game sends its members on without a seat.
            FindReason::Command { seat: None, .. } | FindReason::Transfer(_) => String::new(),
        };
        let zone = zone.map_err(|code| match &reason {
            FindReason::Join { seat, .. } if !seat.is_empty() => RefusalCode::GameOver,
            FindReason::Join { .. } | FindReason::Command { .. } | FindReason::Transfer(_) => code,
        });
        let target = zone.and_then(|zone| {
            let seat = self.seat_shown(cx, zone, &shown)?;
            Ok(Target { zone: zone.id, name, payload, seat })
        });
        match (reason, target) {
            (FindReason::Join { to, .. }, Ok(target)) => {
                self.begin_join(cx, to, target);
                self.tell_applied();
            }
            (FindReason::Join { to, .. }, Err(code)) => {
                self.refuse(cx, to, code, String::new(), None);
                self.tell_applied();
            }
            (FindReason::Command { ticket, .. }, Ok(target)) => {
                let zone = target.zone;
                self.begin_join(cx, 0, target);
                self.answer_after(ticket, Answer::Zone(zone));
            }
            (FindReason::Command { ticket, .. }, Err(code)) => {
                cx.answer(ticket, Answer::Refused(code));
            }
            (FindReason::Transfer(departure), Ok(target)) => {
                self.begin_join(cx, 0, target);
                self.finish_departure(cx, departure);
            }
            (FindReason::Transfer(departure), Err(code)) => {
                hit(Mark::TransferRefused);
                let leg = self.enter_lobby(cx);
                self.refuse(cx, 0, code, "there is no such zone".to_owned(), Some(leg));
                self.finish_departure(cx, departure);
            }
        }
    }

    /// Commits that the session is on its way into a zone, then asks the zone.
    fn begin_join(&mut self, cx: &mut SessionContext<'_>, to: u64, target: Target) {
        let Target { zone, name, payload, seat } = target;
        self.leg = Leg::first(self.leg.stay.saturating_add(1));
        // What is left of the lobby's leg goes out before the first frame of the zone's.
        let rest = match self.place {
            Place::Lobby(_) => self.downstream.leave(self.leg, cx.config.outbox),
            Place::Joining(_) | Place::In(_) => Some(Vec::new()),
        };
        let joining = Joining { zone, name, to, payload, poisoned: None, asked: None };
        let stay = self.leg.stay;
        self.seats.extend(seat.map(|(game, seat)| Seating::shown(game, seat, stay)));
        self.place = Place::Joining(Box::new(joining));
        self.touch();
        self.route(cx);
        self.send_rest(cx, rest);
        self.after(if seat.is_some() { AfterCommit::Seats } else { AfterCommit::Admit(stay) });
    }

    /// Sends the rest of a leg that is over; none: something before it is gone for good, and the client must
    /// come back for the whole state.
    fn send_rest(&mut self, cx: &mut SessionContext<'_>, rest: Option<Vec<Outgoing>>) {
        match rest {
            Some(rest) => self.send_after(rest),
            None => self.sever(cx, CloseCode::TooSlow, "overrun"),
        }
    }

    /// Asks the zone, if it is open; otherwise its opening asks again.
    pub(super) fn ask_zone(&mut self, cx: &mut SessionContext<'_>, stay: u32) {
        // A later stay is not committed yet when this one is.
        if self.leg.stay != stay || self.is_ending() || self.awaits_seat(stay) {
            return;
        }
        let welcomed = self.welcomed();
        // A connection that is not welcomed yet comes with an Attach of its own, above this epoch.
        let epoch = match welcomed {
            Some(_) => self.epoch,
            None => SessionEpoch(self.epoch.0.saturating_sub(1)),
        };
        let native = matches!(self.life, Life::Local);
        let joining = match &mut self.place {
            Place::Joining(joining) => joining,
            // The zone has answered what it was asked in an earlier call.
            Place::In(_) | Place::Lobby(_) => return hit(Mark::StaleIgnored),
        };
        let (zone, owner) = (joining.zone, cx.zones.owner(joining.zone));
        if owner.is_none() || owner == joining.asked {
            // The opening of its next incarnation asks, or this one was asked already.
            return;
        }
        joining.asked = owner;
        let admit = Admit {
            session: self.id,
            stay,
            player: self.player,
            epoch,
            link: welcomed,
            native,
            applied: self.inbound.applied(),
            to: joining.to,
            poisoned: joining.poisoned,
            payload: joining.payload.clone(),
            data: self.data.clone(),
        };
        cx.tell_zone(zone, ToZone::Admit(Box::new(admit)));
        self.reattach();
    }

    /// The zone has let it in.
    pub(super) fn admitted(&mut self, cx: &mut SessionContext<'_>, stay: u32) {
        if self.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        if let Place::Joining(joining) = &self.place {
            let zone = joining.zone;
            self.timeline.record(cx.at.wall, What::Joined, 0);
            self.place = Place::In(InZone::new(zone));
            cx.tell(self.id, FromSession::ZoneUsed(zone));
            self.touch();
            self.confirm_seat(stay);
            self.flush_words(cx);
            self.hold_inside(cx);
        }
    }

    /// A zone that is open again has a session that was on its way: the zone had admitted it.
    pub(super) fn found_inside(&mut self, cx: &mut SessionContext<'_>, stay: u32) {
        self.admitted(cx, stay);
        self.reattach();
        // Nothing of this stay has left: its frames leave with the message that the session is a member.
        let oldest_unacked = self.inbound.applied().saturating_add(1);
        self.attach_again(cx, stay, InPlace::default(), oldest_unacked);
    }

    /// The zone does not let it in, or there is no such zone any more.
    pub(super) fn join_refused(
        &mut self,
        cx: &mut SessionContext<'_>,
        zone: ZoneId,
        stay: u32,
        code: RefusalCode,
        text: String,
    ) {
        if self.leg.stay != stay {
            return self.forget_after(zone, stay);
        }
        let Place::Joining(joining) = &self.place else { return hit(Mark::StaleIgnored) };
        let to = joining.to;
        if to == 0 {
            hit(Mark::TransferRefused);
        }
        if self.is_ending() {
            return self.finish_end(cx, None);
        }
        self.let_seats_go();
        let leg = self.enter_lobby(cx);
        self.refuse(cx, to, code, text, Some(leg));
        self.forget_after(zone, stay);
        self.flush_words(cx);
        self.reattach();
    }

    /// Its frame of this number made the zone fail. A Join is refused here; a later number is left to the zone's
    /// next incarnation, which may not know the joiner yet: true.
    pub(crate) fn charge_fault(
        &mut self,
        cx: &mut SessionContext<'_>,
        zone: ZoneId,
        number: u64,
    ) -> bool {
        if let Place::Joining(joining) = &mut self.place
            && joining.zone == zone
        {
            if joining.to == number {
                let stay = self.leg.stay;
                self.join_refused(cx, zone, stay, RefusalCode::ZoneFault, String::new());
                return false;
            }
            joining.poisoned = Some(number).filter(|number| *number > 0);
            self.touch();
        }
        number > 0
    }
}
