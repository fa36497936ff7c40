//! What a session does when its zone has opened, again perhaps, has faulted or is gone. What the zone holds and what
//! the session says are brought together, and a connected client goes on where it is.

use rejoin_wire::v1::{PartCause, Position, RefusalCode};

use super::{AfterCommit, Place, SessionContext, SessionCore};
use crate::connection::ToConnection;
use crate::event::EndCause;
use crate::exchange::{Attach, InPlace, ResumeFrom, ToZone};
use crate::id::{ConnectionId, Leg, ZoneId};
use crate::mark::{Mark, hit};

impl SessionCore {
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
            Place::Lobby(_) => return crate::never!("{session:?} is in no zone, not in {zone:?}"),
        };
        if !is_member && (!is_joining || self.is_ending()) {
            return self.missing(cx, zone, stay);
        }
        let lost = || self.lacks_seat(cx, zone).then_some(PartCause::SeatLost);
        let part = self.ending.cause().map(EndCause::part_cause);
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

    /// There is no such zone any more.
    pub(crate) fn zone_gone(&mut self, cx: &mut SessionContext<'_>, zone: ZoneId, text: &str) {
        let stay = self.leg.stay;
        match self.place {
            Place::Joining(_) => {
                let code = RefusalCode::UnknownZone;
                self.join_refused(cx, zone, stay, code, text.to_owned());
            }
            Place::In(_) => self.missing(cx, zone, stay),
            Place::Lobby(_) => crate::never!("{:?} is in no zone, not in {zone:?}", self.id),
        }
    }

    /// A callback of its zone failed: the next incarnation has not been asked to let it in.
    pub(crate) fn zone_faulted(&mut self) {
        if let Place::Joining(joining) = &mut self.place {
            joining.asked = None;
        }
    }

    /// Its zone runs again from its last commit: the connection is asked where its client's streams are, so that
    /// its place can be given to it again without a Welcome.
    pub(super) fn find_place_again(&self, cx: &mut SessionContext<'_>) {
        if let Some(link) = self.hearing_link() {
            let ask = ToConnection::NamePosition(self.leg.stay);
            cx.tell_connection(link.connection, ask);
        }
    }

    /// The connection says where its client's streams are.
    pub(crate) fn take_place_again(
        &mut self,
        cx: &mut SessionContext<'_>,
        connection: ConnectionId,
        stay: u32,
        acked: Option<Position>,
        oldest_unacked: u64,
    ) {
        if !self.is_live_on(connection) {
            return hit(Mark::StaleIgnored);
        }
        // What the zone had sent is exact; a zone that got stuck cannot say it.
        let sent = self.attached_mut().and_then(|attached| attached.left.take());
        let acked = acked.map(|acked| (Leg::from_wire(acked.leg), acked.seq));
        self.attach_again(cx, stay, InPlace { acked, sent }, oldest_unacked);
    }

    /// Gives a connection that was welcomed before its place in an incarnation of its zone that is new.
    pub(super) fn attach_again(
        &mut self,
        cx: &mut SessionContext<'_>,
        stay: u32,
        known: InPlace,
        oldest_unacked: u64,
    ) {
        let zone = match self.place {
            Place::In(inside) if self.leg.stay == stay => inside.zone,
            Place::In(_) | Place::Joining(_) | Place::Lobby(_) => return hit(Mark::StaleIgnored),
        };
        // A connection that waits for its place, or comes later, is given it with its Welcome.
        if let Some(link) = self.hearing_link() {
            let attach = Attach {
                session: self.id,
                stay,
                link,
                from: ResumeFrom::InPlace(known),
                backlog: Vec::new(),
                oldest_unacked,
                lost_known: self.losses.known(),
                welcome: None,
            };
            cx.tell_zone(zone, ToZone::Attach(Box::new(attach)));
        }
    }

    /// The last number that its zone had sent to its client when a callback failed.
    pub(crate) fn note_left(&mut self, left: (Leg, u64)) {
        if let Some(attached) = self.attached_mut() {
            attached.left = Some(left);
        }
    }

    /// After a start: what nobody will answer is done again.
    pub(crate) fn drive_again(&mut self, cx: &mut SessionContext<'_>) {
        self.start_lifetime(cx);
        let stay = self.leg.stay;
        match (&self.place, self.ending.cause()) {
            (Place::Lobby(_), Some(_)) => self.end_again(cx),
            (Place::In(inside), _) if !cx.zones.contains(inside.zone) => {
                let zone = inside.zone;
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
                    self.losses.rejoin(stay);
                }
            }
            (Place::Joining(_), Some(_)) | (Place::In(_), _) | (Place::Lobby(_), None) => {}
        }
        self.ask_seats_again();
    }
}
