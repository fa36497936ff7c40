//! What the connection of a session says: frames and acknowledgements outside zones, and that it is gone. What
//! a connection says that does not speak for the session any more is ignored.

use rejoin_wire::v1::{CloseCode, Farewell, Notice, NoticeCode, Position, Up, server_frame};

use super::life::{Away, Life};
use super::{FromSession, Place, SessionContext, SessionCore};
use crate::connection::{Route, Routed, ToConnection};
use crate::event::{Event, Offence, Step};
use crate::exchange::{Link, ToZone};
use crate::hub::HubOutput;
use crate::id::{ConnectionId, Leg, SessionEpoch};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::History;
use crate::stream::{AckAhead, Acked};
use crate::text::clip;
use crate::timeline::What;

impl SessionCore {
    /// A numbered frame for a session that was in no zone when the frame was handed on. What is not taken is
    /// kept by its connection, and comes again once it is asked for or the session has its place.
    pub(crate) fn up(
        &mut self,
        cx: &mut SessionContext<'_>,
        connection: ConnectionId,
        stay: u32,
        up: Up,
    ) {
        let is_here = self.place.is_lobby() && self.leg.stay == stay;
        if !self.is_live_on(connection) || !(is_here || is_armed(Bug::OldStayTaken)) {
            return hit(Mark::StaleIgnored);
        }
        if self.takes_no_frames(cx) {
            hit(Mark::Waited);
            if let Some(lobby) = self.lobby_mut() {
                lobby.owes_resend = true;
            }
            return;
        }
        self.consume(cx, up);
    }

    /// An acknowledgement that is not for the zone.
    pub(crate) fn ack(
        &mut self,
        cx: &mut SessionContext<'_>,
        connection: ConnectionId,
        position: Position,
    ) {
        if !self.is_live_on(connection) {
            return hit(Mark::StaleIgnored);
        }
        let (leg, seq) = (Leg::from_wire(position.leg), position.seq);
        if matches!(self.place, Place::In(_)) && self.parted_to() == (leg, seq) {
            // The zone's Parted named this leg, and its departure is still on its way here.
            return;
        }
        if leg.stay > self.leg.stay {
            hit(Mark::AckAhead);
            return self.sever(cx, CloseCode::AckAhead, "a leg that is not yours");
        }
        self.reads_leg(connection, leg);
        let is_open = leg.stay == self.leg.stay;
        if is_open && self.zone().is_some() {
            // Its zone has not told the connection yet that it is there; the next one goes to the zone.
            return;
        }
        let acked = match is_open {
            true => self.downstream.acknowledge(leg, seq),
            false => self.downstream.acknowledge_earlier(leg, seq).map(|()| Acked::Stale),
        };
        match acked {
            Ok(_) if is_armed(Bug::AckBlamed) => self.acked_ahead(cx),
            Err(AckAhead) => self.acked_ahead(cx),
            Ok(Acked::Stale) => {}
            Ok(Acked::Taken { is_overrun, is_due }) => {
                if is_due {
                    self.downstream.expect_by(cx.at.now.after(cx.config.progress));
                }
                match is_overrun {
                    true => self.resync_in_place(),
                    false => drop(self.send_waiting(cx)),
                }
                self.ask_for_frames(cx);
            }
        }
    }

    fn acked_ahead(&mut self, cx: &mut SessionContext<'_>) {
        hit(Mark::AckAhead);
        self.sever(cx, CloseCode::AckAhead, "more than was said");
    }

    /// The client has acknowledged something in this leg: if that is the open one, it has all of earlier ones.
    pub(crate) fn reads_leg(&mut self, connection: ConnectionId, leg: Leg) {
        if !self.is_live_on(connection) {
            return hit(Mark::StaleIgnored);
        }
        let is_open = leg.stay == self.leg.stay;
        self.losses.reads(leg.stay);
        if is_open && self.zone().is_some() {
            self.downstream.clear_earlier();
        }
        // It has heard of the leg that was opened for it: nothing it names from now on is of another.
        if is_open && self.losses.set_history(History::Whole) {
            self.touch();
        }
    }

    /// Asks for the frames that the session did not take, if it takes frames now.
    pub(super) fn ask_for_frames(&mut self, cx: &mut SessionContext<'_>) {
        if let Some(link) = self.hearing_link()
            && self.has_room_again(cx)
            && self.lobby_mut().is_some_and(|lobby| std::mem::take(&mut lobby.owes_resend))
        {
            let resend = ToConnection::Resend(self.inbound.applied());
            cx.tell_connection(link.connection, resend);
        }
    }

    /// Tells its connection where the client's frames go, once its Welcome is on its way.
    pub(super) fn route(&mut self, cx: &mut SessionContext<'_>) {
        let route = match self.place {
            Place::Lobby(_) => Route::Session,
            Place::Joining(_) | Place::In(_) => Route::Nowhere,
        };
        if let Some(lobby) = self.lobby_mut() {
            lobby.owes_resend = false;
        }
        if let Some(connection) = self.welcomed() {
            let routed = Routed { stay: self.leg.stay, route, applied: self.inbound.applied() };
            cx.tell_connection(connection, ToConnection::Routed(routed));
        }
    }

    /// Tells a client in a zone that stands still while the store is full, or goes on. A client that has no
    /// Welcome yet hears nothing before it.
    pub(crate) fn tell_frozen(&self, cx: &mut SessionContext<'_>, code: NoticeCode, text: &str) {
        if let Some(connection) = self.welcomed()
            && cx.zone(self.zone()).is_some_and(|zone| zone.is_gated)
        {
            let notice = Notice { code: code.into(), text: text.to_owned(), wait_ms: 0 };
            cx.send_frame(connection, server_frame::Frame::Notice(notice));
        }
    }

    /// Closes its connection, if there is one, and goes on without.
    pub(crate) fn sever(&mut self, cx: &mut SessionContext<'_>, code: CloseCode, text: &str) {
        if let Some(link) = self.link() {
            self.sever_link(cx, link, code, text);
        }
    }

    fn sever_link(&mut self, cx: &mut SessionContext<'_>, link: Link, code: CloseCode, text: &str) {
        if let Some(what) = Offence::of(code) {
            let (step, session) = (Step::Sever, Some(self.id));
            let connection = Some(link.connection);
            cx.event(Event::GuardStep { step, connection, session, what });
        }
        let text = clip(text.to_owned());
        let farewell = Farewell { code: code.into(), text, ..Farewell::default() };
        cx.send_frame(link.connection, server_frame::Frame::Farewell(farewell));
        cx.push(HubOutput::Close { connection: link.connection, code });
        cx.tell(self.id, FromSession::Closed(link.connection));
        self.dropped(cx, link, code);
    }

    /// Its zone wants a member's connection closed.
    pub(super) fn sever_for_zone(
        &mut self,
        cx: &mut SessionContext<'_>,
        epoch: SessionEpoch,
        code: CloseCode,
    ) {
        // The zone asks again while a member that stays connected acknowledges nothing.
        let is_excused = code == CloseCode::TooSlow && self.is_throttled(cx);
        if self.epoch == epoch && !is_excused {
            self.sever(cx, code, "severed by its zone");
        }
    }

    /// The connection is gone; the session is held.
    pub(crate) fn dropped(&mut self, cx: &mut SessionContext<'_>, link: Link, code: CloseCode) {
        if self.link() != Some(link) {
            return hit(Mark::StaleIgnored);
        }
        self.detach(cx, Life::Away(Away::default()));
        self.tokens.rest();
        self.timeline.record(cx.at.wall, What::Dropped, code as u32);
        self.timeline.rest();
        self.touch();
        let session = self.id;
        if let Some(callback) = self.disconnect_callback {
            hit(Mark::CallbackRun);
            cx.push(HubOutput::RunCallback { session, callback });
        }
        if let Some(zone) = self.zone() {
            let (stay, epoch) = (self.leg.stay, link.epoch);
            cx.tell_zone(zone, ToZone::Dropped { session, stay, epoch });
        }
        self.after_event(Event::PlayerDropped { session, code });
        self.start_hold(cx);
    }
}
