//! Where a session is. The session's scope alone decides; every change of place is an intent that
//! is committed first, told to the zone after that, and told again after a crash until the zone has
//! done its part. The source forgets last.

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, PartCause, RefusalCode};

use super::commit::After;
use super::{Hub, HubOutput};
use crate::call::Calls;
use crate::connection::{Connection, ConnectionPhase};
use crate::event::{EndCause, Event};
use crate::exchange::{Admit, Departed, InPlace, ToZone, ZoneName};
use crate::id::{ConnectionId, GameId, Leg, SeatId, SessionEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::seat::Seating;
use crate::session::{Joining, Outgoing, Place, Presence};
use crate::time::Time;
use crate::timeline::What;
use crate::zone::Delivery;
use crate::zone_registry::Creator;

impl Hub {
    /// Commits that a session is on its way into a zone, then asks the zone.
    pub(crate) fn begin_join(
        &mut self,
        id: SessionId,
        zone: ZoneId,
        name: ZoneName,
        to: u64,
        payload: Bytes,
        seat: Option<(GameId, SeatId)>,
    ) {
        let limits = self.config.outbox;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.leg = Leg::first(session.leg.stay.saturating_add(1));
        // What is left of the lobby's leg goes out before the first frame of the zone's.
        let rest = match session.place {
            Place::Nowhere => session.downstream.leave(session.leg, limits),
            Place::Joining(_) | Place::In(_) => Some(Vec::new()),
        };
        let joining = Joining { zone, name, to, payload, poisoned: None, asked: None };
        let stay = session.leg.stay;
        session.seats.extend(seat.map(|(game, seat)| Seating::shown(game, seat, stay)));
        self.set_place(id, Place::Joining(Box::new(joining)));
        self.touch(id);
        self.route(id);
        self.send_rest(id, rest);
        self.after(id, if seat.is_some() { After::Seats } else { After::Admit(stay) });
    }

    /// Sends the rest of a leg that is over; none: something before it is gone for good, and the client must
    /// come back for the whole state.
    fn send_rest(&mut self, id: SessionId, rest: Option<Vec<Outgoing>>) {
        match (rest, self.link_of(id)) {
            (Some(rest), _) => self.send_after(id, rest),
            (None, Some(link)) => {
                let now = self.alarms.clock().now();
                self.drop_connection(now, link.connection, CloseCode::TooSlow, "overrun");
            }
            (None, None) => {}
        }
    }

    /// Asks the zone, if it is open; otherwise its opening asks again.
    pub(crate) fn ask_zone(&mut self, id: SessionId, stay: u32) {
        // A later stay is not committed yet when this one is.
        let Some(session) = self.sessions.get(&id).filter(|s| s.leg.stay == stay) else { return };
        let Place::Joining(joining) = &session.place else { return };
        let zone = joining.zone;
        let Some(owner) = self.zones.owner(zone) else { return };
        if joining.asked == Some(owner) || session.ending.is_some() || self.awaits_seat(id, stay) {
            return;
        }
        let welcomed = session.connection().filter(|connection| {
            let known = self.connections.get(connection);
            known.is_some_and(Connection::is_welcomed)
        });
        // A connection that is not welcomed yet comes with an Attach of its own, above this epoch.
        let epoch = match welcomed {
            Some(_) => session.epoch,
            None => SessionEpoch(session.epoch.0.saturating_sub(1)),
        };
        let admit = Admit {
            session: id,
            stay: session.leg.stay,
            player: session.player,
            epoch,
            link: welcomed,
            native: session.presence == Presence::Native,
            applied: session.inbound.applied(),
            to: joining.to,
            poisoned: joining.poisoned,
            payload: joining.payload.clone(),
            data: session.data.clone(),
        };
        if let Some(session) = self.sessions.get_mut(&id)
            && let Place::Joining(joining) = &mut session.place
        {
            joining.asked = Some(owner);
        }
        self.tell_zone(zone, ToZone::Admit(Box::new(admit)));
        self.reattach(id);
    }

    pub(crate) fn admitted(&mut self, now: Time, id: SessionId, stay: u32) {
        let at = self.wall(now);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.leg.stay != stay {
            return hit(Mark::StaleIgnored);
        }
        if let Place::Joining(joining) = &session.place {
            let zone = joining.zone;
            session.timeline.record(at, What::Joined, 0);
            self.set_place(id, Place::In(zone));
            self.zones.note_used(zone);
            self.touch(id);
            self.confirm_seat(id, stay);
            self.flush_words(id);
            self.hold_inside(now, id);
        }
    }

    /// A zone that is open again has a session that was on its way: the zone had admitted it.
    pub(crate) fn found_inside(&mut self, now: Time, id: SessionId, stay: u32) {
        self.admitted(now, id, stay);
        self.reattach(id);
        // Nothing of this stay has left: its frames leave with the message that the session is a member.
        let applied = self.sessions.get(&id).map_or(0, |session| session.inbound.applied());
        self.attach_again(id, stay, InPlace::default(), applied.saturating_add(1));
    }

    pub(crate) fn join_refused(
        &mut self,
        id: SessionId,
        (zone, stay): (ZoneId, u32),
        code: RefusalCode,
        text: String,
    ) {
        let Some(session) = self.sessions.get_mut(&id).filter(|s| s.leg.stay == stay) else {
            let forget = ToZone::Forget { session: id, stay };
            return self.after(id, After::Zone(zone, forget));
        };
        let Place::Joining(joining) = &session.place else { return };
        let to = joining.to;
        if to == 0 {
            hit(Mark::TransferRefused);
        }
        if session.ending.is_some() {
            return self.finish_end(id, Vec::new());
        }
        self.let_seats_go(id);
        let leg = self.enter_lobby(id);
        self.refuse_up(id, to, code, text, Some(leg));
        self.after(id, After::Zone(zone, ToZone::Forget { session: id, stay }));
        self.flush_words(id);
        self.reattach(id);
    }

    /// A member has left its zone: the session takes over what it is owed, then the zone forgets.
    pub(crate) fn departed(&mut self, now: Time, zone: ZoneId, departed: Departed) {
        let (id, stay) = (departed.session, departed.stay);
        let forget = ToZone::Forget { session: id, stay };
        let at = self.wall(now);
        let limits = self.config.outbox;
        let link = self.hearing_link(id);
        let Some(session) = self.sessions.get_mut(&id).filter(|s| s.leg.stay == stay) else {
            // Taken over before, or no session is left to take over. The commit of that may still be under
            // way when the zone has started again and says so once more.
            return self.after(id, After::Zone(zone, forget));
        };
        session.inbound.take_back(departed.applied);
        session.data = departed.data;
        session.avatar = None;
        session.timeline.record(at, What::Parted, departed.cause as u32);
        self.words_heard(id, departed.heard);
        self.set_awaiting(id, false);
        self.confirm_seat(id, stay);
        self.let_seats_go(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if departed.cause == PartCause::Left && session.ending.is_none() {
            hit(Mark::Left);
            self.end_connection(id, EndCause::Left);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.ending.is_some() {
            return self.finish_end(id, vec![After::Zone(zone, forget)]);
        }
        // A connection that its zone parted before the Welcome still waits for its place.
        let link = link.filter(|link| !departed.has_link || link.epoch == departed.epoch);
        // An incarnation that runs again parts a member before it has its connection again. What the client has
        // is known only of a zone that let out nothing that was not kept, and of the first turn of its leg.
        let is_gated = self.zones.view(zone).is_some_and(|zone| zone.is_gated);
        let is_known = departed.has_link || (is_gated && departed.tail.leg.turn == 0);
        let has_link = departed.has_link;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let rest = session.downstream.take_tail(departed.tail, departed.sent, link, limits);
        let is_broken = rest.is_none();
        self.touch(id);
        // Before the first frame of the leg that follows.
        self.send_after(id, rest.into_iter().flatten());
        match departed.next {
            Some((name, payload)) => self.transfer(id, name, payload),
            None => drop(self.enter_lobby(id)),
        }
        match link {
            Some(link) if !is_known => {
                let text = "the zone was left behind";
                self.drop_connection(now, link.connection, CloseCode::ZoneFault, text);
            }
            Some(link) if is_broken => {
                self.drop_connection(now, link.connection, CloseCode::TooSlow, "overrun");
            }
            Some(_) if !has_link => self.tell_applied(id),
            Some(_) => {}
            None => self.reattach(id),
        }
        self.flush_words(id);
        self.hold_outside(now, id);
        if is_armed(Bug::ForgottenBeforeKept) {
            return self.tell_zone(zone, forget);
        }
        self.after(id, After::Zone(zone, forget));
    }

    fn transfer(&mut self, id: SessionId, name: ZoneName, payload: Bytes) {
        hit(Mark::Transferred);
        let zone = self.with_zones(|zones| zones.find(&name, Some(Creator::Server)));
        // The game sends its members on without a seat.
        match zone.and_then(|zone| self.seat_shown(id, zone, "").map(|_| zone.id)) {
            Ok(zone) => self.begin_join(id, zone, name, 0, payload, None),
            Err(code) => {
                hit(Mark::TransferRefused);
                let leg = self.enter_lobby(id);
                self.refuse_up(id, 0, code, "there is no such zone".to_owned(), Some(leg));
            }
        }
    }

    /// A connection that waits for its place tries again, once its epoch is committed: its zone was
    /// not open, or had a member that was leaving.
    pub(crate) fn reattach(&mut self, id: SessionId) {
        if let Some(link) = self.link_of(id)
            && self.connections.get(&link.connection).is_some_and(Connection::is_pending)
        {
            self.after(id, After::Attach(link.epoch));
        }
    }

    /// The zone knows nothing of a member.
    pub(crate) fn missing(&mut self, now: Time, zone: ZoneId, id: SessionId, stay: u32) {
        let Some(session) = self.sessions.get(&id).filter(|s| s.leg.stay == stay) else {
            return hit(Mark::StaleIgnored);
        };
        if session.ending.is_some() {
            return self.finish_end(id, Vec::new());
        }
        if session.place == Place::In(zone) {
            self.lose_zone(now, id);
        }
    }

    /// The zone of a session is gone, and its stream with it.
    pub(crate) fn lose_zone(&mut self, now: Time, id: SessionId) {
        hit(Mark::ZoneLost);
        let at = self.wall(now);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.downstream.clear_earlier();
            session.zone_lost = true;
            session.avatar = None;
            session.timeline.record(at, What::ZoneLost, 0);
        }
        self.set_awaiting(id, false);
        self.let_seats_go(id);
        self.enter_lobby(id);
        self.flush_words(id);
        if self.sessions.get(&id).is_some_and(|session| session.is_native()) {
            self.tell_native(id, Delivery::Lost);
        }
        match self.link_of(id) {
            Some(link) if self.is_live(link.connection, link.epoch) => {
                self.drop_connection(
                    now,
                    link.connection,
                    CloseCode::ZoneFault,
                    "the zone is gone",
                );
            }
            _ => self.reattach(id),
        }
        self.hold_outside(now, id);
    }

    /// A session's connection is gone; it is held.
    pub(crate) fn dropped(
        &mut self,
        now: Time,
        id: SessionId,
        epoch: SessionEpoch,
        connection: ConnectionId,
        code: CloseCode,
    ) {
        let at = self.wall(now);
        let spent = self.spent_of(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.presence != Presence::Here(connection) || session.epoch != epoch {
            return hit(Mark::StaleIgnored);
        }
        session.spent = spent;
        session.presence = Presence::Away(None);
        session.downstream.detach();
        session.tokens.rest();
        session.timeline.record(at, What::Dropped, code as u32);
        session.timeline.rest();
        let (stay, zone) = (session.leg.stay, session.zone());
        let callback = session.disconnect_callback;
        self.touch(id);
        if let Some(callback) = callback {
            hit(Mark::CallbackRun);
            self.push(HubOutput::RunCallback { session: id, callback });
        }
        if let Some(zone) = zone {
            self.tell_zone(zone, ToZone::Dropped { session: id, stay, epoch });
        }
        let event = Event::PlayerDropped { session: id, code };
        self.after(id, After::Output(HubOutput::Event(event)));
        self.start_hold(now, id);
    }

    /// Ends a session: its zone parts it first.
    pub(crate) fn end(&mut self, now: Time, id: SessionId, cause: EndCause) {
        let Some(session) = self.sessions.get(&id) else { return };
        if session.ending.is_some() {
            return;
        }
        self.end_connection(id, cause);
        let at = self.wall(now);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.timeline.record(at, What::Ending, cause as u32);
        let stay = session.leg.stay;
        let zone = match &session.place {
            Place::In(zone) => Some(*zone),
            Place::Joining(joining) => joining.asked.map(|_| joining.zone),
            Place::Nowhere => None,
        };
        match zone {
            Some(zone) => {
                self.touch(id);
                let cause = cause.part_cause();
                self.after(id, After::Zone(zone, ToZone::Part { session: id, stay, cause }));
            }
            None => self.finish_end(id, Vec::new()),
        }
    }

    /// Marks a session as ending and takes its voice; its connection is told once that is committed.
    fn end_connection(&mut self, id: SessionId, cause: EndCause) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.ending = Some(cause);
        let connection = session.connection();
        session.presence = Presence::Away(None);
        let (player, credential) = (session.player, session.credential);
        let text = match cause {
            EndCause::Banned => self.ban_text(player),
            _ => String::new(),
        };
        self.by_player.remove(&(player, id));
        self.ending_of.extend([(player, id), (credential, id)]);
        self.after(id, After::EndCommitted(player, credential));
        if let Some(connection) = connection {
            self.set_over(connection, ConnectionPhase::Fenced);
            self.after(id, After::Close(connection, cause.close_code(), text));
        }
    }

    /// Nothing of the session is anywhere else: its scope goes.
    pub(crate) fn finish_end(&mut self, id: SessionId, mut last: Vec<After>) {
        self.fail_words(id);
        if self.lingers(id, &mut last) {
            return;
        }
        let Some(session) = self.sessions.remove(id) else { return };
        let cause = session.ending.unwrap_or(EndCause::Left);
        if let Some(calls) = &session.calls {
            self.fail_calls(id, Calls::clone(calls));
        }
        if session.is_native() {
            let delivery = Delivery::Ended(cause);
            last.push(After::Output(HubOutput::Native { session: id, delivery }));
        }
        let event = Event::PlayerLeft { session: id, player: session.player, cause };
        last.push(After::Output(HubOutput::Event(event)));
        let zone = session.zone();
        self.submit_removal(id, session.gate, last);
        if let Some(zone) = zone {
            self.end_if_unused(zone);
        }
    }

    /// Sets where a session is. No other function does: the index of sessions by zone depends on it.
    pub(crate) fn set_place(&mut self, id: SessionId, place: Place) {
        if let Some(left) = self.sessions.set_place(id, place) {
            self.end_if_unused(left);
        }
    }
}
