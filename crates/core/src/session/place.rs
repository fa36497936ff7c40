//! Where a session is. Its scope alone decides; every change of place is an intent that is committed first,
//! told to the zone after that, and told again after a crash until the zone has done its part. The source
//! forgets last.

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, PartCause, RefusalCode};

use super::life::Attached;
use super::{
    AfterCommit, FindReason, FindZone, FromSession, Joining, Outgoing, Place, SessionContext,
    SessionCore,
};
use crate::event::EndCause;
use crate::exchange::{Admit, Departed, InPlace, Link, ToZone, ZoneName};
use crate::hub::Answer;
use crate::id::{GameId, Leg, SeatId, SessionEpoch, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::seat::Seating;
use crate::timeline::What;
use crate::zone::Delivery;
use crate::zone_registry::{Creator, ZoneView};

/// What has still to be done once it is known where a session goes that has left its zone.
#[derive(Debug)]
pub(crate) struct Departure {
    zone: ZoneId,
    stay: u32,
    /// The link on which the client heard the zone.
    link: Option<Link>,
    /// The zone had that link in its present incarnation.
    has_link: bool,
    /// It is known what of the zone's leg was put on that link.
    is_known: bool,
    /// Something of the zone's leg is gone for good.
    is_broken: bool,
}

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
            Place::Nowhere => self.downstream.leave(self.leg, cx.config.outbox),
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
        if self.leg.stay != stay || self.ending.is_some() || self.awaits_seat(stay) {
            return;
        }
        let welcomed = self.connection().filter(|_| self.is_welcomed());
        // A connection that is not welcomed yet comes with an Attach of its own, above this epoch.
        let epoch = match welcomed {
            Some(_) => self.epoch,
            None => SessionEpoch(self.epoch.0.saturating_sub(1)),
        };
        let native = matches!(self.life, super::life::Life::Local);
        let Place::Joining(joining) = &mut self.place else { return };
        let zone = joining.zone;
        let Some(owner) = cx.zones.owner(zone).filter(|owner| joining.asked != Some(*owner)) else {
            return;
        };
        joining.asked = Some(owner);
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
            self.place = Place::In(zone);
            cx.tell(self.id, FromSession::ZoneUsed(zone));
            self.touch();
            self.confirm_seat(stay);
            self.flush_words(cx);
            self.hold_inside(cx);
        }
    }

    /// Its zone is open; `is_member`: the zone has it in its present stay.
    pub(crate) fn zone_opened(
        &mut self,
        cx: &mut SessionContext<'_>,
        zone: ZoneId,
        is_member: bool,
    ) {
        let (session, stay) = (self.id, self.leg.stay);
        let is_joining = match &mut self.place {
            Place::Joining(joining) => {
                joining.asked = None;
                true
            }
            Place::In(_) => false,
            Place::Nowhere => return crate::never!("{session:?} is in no zone, not in {zone:?}"),
        };
        if !is_member && (!is_joining || self.ending.is_some()) {
            return self.missing(cx, zone, stay);
        }
        let lost = || self.lacks_seat(cx, zone).then_some(PartCause::SeatLost);
        let part = self.ending.map(EndCause::part_cause);
        let part = if is_joining { part } else { part.or_else(lost) };
        if let Some(cause) = part {
            cx.tell_zone(zone, ToZone::Part { session, stay, cause });
        }
        match (is_joining, is_member) {
            // The zone had committed the admission: it parts the member first.
            (true, true) if part.is_some() => {}
            // The zone has admitted it, and its seat is claimed if it needs one.
            (true, true) => self.found_inside(cx, stay),
            (true, false) => {
                self.after(AfterCommit::Seats);
                self.after(AfterCommit::Admit(stay));
            }
            (false, _) => {
                if part.is_none() {
                    self.find_place_again(cx);
                }
                self.flush_words(cx);
                self.reattach();
            }
        }
    }

    /// A zone that is open again has a session that was on its way: the zone had admitted it.
    fn found_inside(&mut self, cx: &mut SessionContext<'_>, stay: u32) {
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
        if self.ending.is_some() {
            return self.finish_end(cx, None);
        }
        self.let_seats_go();
        let leg = self.enter_lobby(cx);
        self.refuse(cx, to, code, text, Some(leg));
        self.forget_after(zone, stay);
        self.flush_words(cx);
        self.reattach();
    }

    /// A zone may forget this member once everything so far is committed.
    pub(crate) fn forget_after(&mut self, zone: ZoneId, stay: u32) {
        let forget = ToZone::Forget { session: self.id, stay };
        self.after(AfterCommit::Zone(zone, forget));
    }

    /// A member has left its zone: the session takes over what it is owed, then the zone forgets.
    pub(super) fn departed(
        &mut self,
        cx: &mut SessionContext<'_>,
        zone: ZoneId,
        departed: Departed,
    ) {
        let stay = departed.stay;
        if self.leg.stay != stay {
            // Taken over before. The commit of that may still be under way when the zone has started again and
            // says so once more.
            return self.forget_after(zone, stay);
        }
        let link = self.hearing_link();
        self.inbound.take_back(departed.applied);
        self.data = departed.data;
        self.avatar = None;
        self.timeline.record(cx.at.wall, What::Parted, departed.cause as u32);
        self.words_heard(cx, departed.heard);
        self.set_awaiting(false);
        self.confirm_seat(stay);
        self.let_seats_go();
        if departed.cause == PartCause::Left && self.ending.is_none() {
            hit(Mark::Left);
            self.lose_voice(cx, EndCause::Left);
        }
        if self.ending.is_some() {
            let forget = AfterCommit::Zone(zone, ToZone::Forget { session: self.id, stay });
            return self.finish_end(cx, Some(forget));
        }
        // A connection that its zone parted before the Welcome still waits for its place.
        let has_link = departed.has_link;
        let link = link.filter(|link| !has_link || link.epoch == departed.epoch);
        // An incarnation that runs again parts a member before it has its connection again. What the client has
        // is known only of a zone that let out nothing that was not kept, and of the first turn of its leg.
        let is_gated = cx.zone(Some(zone)).is_some_and(|zone| zone.is_gated);
        let is_known = has_link || (is_gated && departed.tail.leg.turn == 0);
        let (tail, sent) = (departed.tail, departed.sent);
        let rest = self.downstream.take_tail(tail, sent, link, cx.config.outbox);
        let is_broken = rest.is_none();
        self.touch();
        // Before the first frame of the leg that follows.
        self.send_after(rest.into_iter().flatten());
        let departure = Departure { zone, stay, link, has_link, is_known, is_broken };
        match departed.next {
            Some((name, payload)) => {
                hit(Mark::Transferred);
                let (creator, reason) = (Some(Creator::Server), FindReason::Transfer(departure));
                let find = FindZone { name, creator, payload, reason };
                cx.tell(self.id, FromSession::Find(Box::new(find)));
            }
            None => {
                self.enter_lobby(cx);
                self.finish_departure(cx, departure);
            }
        }
    }

    /// The session has left a zone and is somewhere else.
    fn finish_departure(&mut self, cx: &mut SessionContext<'_>, departure: Departure) {
        let Departure { zone, stay, link, has_link, is_known, is_broken } = departure;
        match link {
            Some(_) if !is_known => {
                self.sever(cx, CloseCode::ZoneFault, "the zone was left behind");
            }
            Some(_) if is_broken => self.sever(cx, CloseCode::TooSlow, "overrun"),
            Some(_) if !has_link => self.tell_applied(),
            Some(_) => {}
            None => self.reattach(),
        }
        self.flush_words(cx);
        self.hold_outside(cx);
        if is_armed(Bug::ForgottenBeforeKept) {
            return cx.tell_zone(zone, ToZone::Forget { session: self.id, stay });
        }
        self.forget_after(zone, stay);
    }

    /// The zone knows nothing of it.
    pub(super) fn missing(&mut self, cx: &mut SessionContext<'_>, zone: ZoneId, stay: u32) {
        if self.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        if self.ending.is_some() {
            return self.finish_end(cx, None);
        }
        if self.place == Place::In(zone) {
            self.lose_zone(cx);
        }
    }

    /// The zone of the session is gone, and its stream with it.
    fn lose_zone(&mut self, cx: &mut SessionContext<'_>) {
        hit(Mark::ZoneLost);
        self.downstream.clear_earlier();
        self.zone_lost = true;
        self.avatar = None;
        self.timeline.record(cx.at.wall, What::ZoneLost, 0);
        self.set_awaiting(false);
        self.let_seats_go();
        self.enter_lobby(cx);
        self.flush_words(cx);
        if self.is_native() {
            self.tell_local(Delivery::Lost);
        }
        match self.attached().is_some_and(Attached::is_live) {
            true => self.sever(cx, CloseCode::ZoneFault, "the zone is gone"),
            false => self.reattach(),
        }
        self.hold_outside(cx);
    }

    /// There is no such zone any more.
    pub(crate) fn zone_gone(&mut self, cx: &mut SessionContext<'_>, zone: ZoneId, text: &str) {
        let stay = self.leg.stay;
        match self.place {
            Place::Joining(_) => {
                let code = RefusalCode::UnknownZone;
                self.join_refused(cx, zone, stay, code, text.to_owned());
            }
            Place::In(_) => self.missing(cx, zone, stay),
            Place::Nowhere => crate::never!("{:?} is in no zone, not in {zone:?}", self.id),
        }
    }

    /// A callback of its zone failed: the next incarnation has not been asked to let it in.
    pub(crate) fn zone_faulted(&mut self) {
        if let Place::Joining(joining) = &mut self.place {
            joining.asked = None;
        }
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

    /// After a start: what nobody will answer is done again.
    pub(crate) fn drive_again(&mut self, cx: &mut SessionContext<'_>) {
        self.start_lifetime(cx);
        let stay = self.leg.stay;
        match (&self.place, self.ending) {
            (Place::Nowhere, Some(_)) => self.end_again(cx),
            (Place::In(zone), _) if !cx.zones.contains(*zone) => {
                let zone = *zone;
                self.missing(cx, zone, stay);
            }
            (Place::Joining(joining), _) if !cx.zones.contains(joining.zone) => {
                let zone = joining.zone;
                self.join_refused(cx, zone, stay, RefusalCode::GameOver, String::new());
            }
            (Place::Joining(joining), None) => {
                hit(Mark::JoinRedriven);
                // A zone that keeps nothing back may have told the client about this stay before the
                // crash. What it says now has the same numbers.
                if cx.zone(Some(joining.zone)).is_some_and(|zone| !zone.is_gated) {
                    self.rejoined_stay = Some(stay);
                }
            }
            (Place::Joining(_), Some(_)) | (Place::In(_), _) | (Place::Nowhere, None) => {}
        }
        self.ask_seats_again();
    }
}
