//! How a session leaves its zone: it takes over what its client is owed and commits that, and the zone forgets last.

use rejoin_wire::v1::{CloseCode, PartCause};

use super::life::Attached;
use super::{AfterCommit, FindReason, FindZone, FromSession, SessionContext, SessionCore};
use crate::event::EndCause;
use crate::exchange::{Departed, Link, ToZone};
use crate::id::ZoneId;
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::timeline::What;
use crate::zone::Delivery;
use crate::zone_registry::Creator;

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

impl SessionCore {
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
        self.timeline.record(cx.at.wall, What::Parted, departed.cause as u32);
        self.words_heard(cx, departed.heard);
        self.set_awaiting(false);
        self.confirm_seat(stay);
        self.let_seats_go();
        if departed.cause == PartCause::Left && !self.is_ending() {
            hit(Mark::Left);
            self.lose_voice(cx, EndCause::Left);
        }
        if self.is_ending() {
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
    pub(super) fn finish_departure(&mut self, cx: &mut SessionContext<'_>, departure: Departure) {
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

    /// A zone may forget this member once everything so far is committed.
    pub(crate) fn forget_after(&mut self, zone: ZoneId, stay: u32) {
        let forget = ToZone::Forget { session: self.id, stay };
        self.after(AfterCommit::Zone(zone, forget));
    }

    /// The zone knows nothing of it.
    pub(super) fn missing(&mut self, cx: &mut SessionContext<'_>, zone: ZoneId, stay: u32) {
        if self.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        if self.is_ending() {
            return self.finish_end(cx, None);
        }
        if self.place.is_in(zone) {
            self.lose_zone(cx);
        }
    }

    /// The zone of the session is gone, and its stream with it.
    fn lose_zone(&mut self, cx: &mut SessionContext<'_>) {
        hit(Mark::ZoneLost);
        self.downstream.clear_earlier();
        self.timeline.record(cx.at.wall, What::ZoneLost, 0);
        self.set_awaiting(false);
        self.let_seats_go();
        self.enter_lobby(cx);
        if let Some(lobby) = self.lobby_mut() {
            lobby.has_lost_zone = true;
        }
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
}
