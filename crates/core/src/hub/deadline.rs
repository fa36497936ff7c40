//! Time at the hub: handshakes, holds, idleness and lifetimes. Deadlines are kept in service
//! time, those of holds and of idleness in hold time, see `clock.rs`. At equal instants input comes before
//! expiry, because the driver feeds waiting input before it wakes the hub.

use std::collections::BTreeSet;
use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Notice, NoticeCode, server_frame};

use super::{Hub, HubOutput};
use crate::clock::ServiceClock;
use crate::connection::{AskId, Connection, Due, Idleness, Speaker, Stage, ToConnection};
use crate::event::{EndCause, Event};
use crate::exchange::Hold;
use crate::id::{ConnectionId, Leg, SessionEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::session::{Place, Presence, Session};
use crate::time::{Time, WallTime};
use crate::zone_registry::ZoneView;

/// What a deadline is about. Each is looked at again when it comes. Only those of a connection are
/// cancelled, when it is gone: its session may be held for long, and many may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Alarm {
    Handshake(ConnectionId),
    /// The answer to a question of its handshake.
    Admission(ConnectionId, AskId),
    /// The hold that began when this epoch was lost.
    Hold(SessionId, SessionEpoch),
    Idle(ConnectionId),
    /// It has acknowledged nothing outside zones for so long.
    Progress(ConnectionId),
    Lifetime(SessionId),
    Call(SessionId),
    /// The directory has been asked something about a session's seat.
    Seats(SessionId),
    /// Nothing but the time: while somebody is held a stall must be seen for what it is, even when
    /// no other deadline is near.
    Pulse,
}

/// All deadlines.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    clock: ServiceClock,
    /// In service time.
    due: BTreeSet<(Time, Alarm)>,
    /// In hold time.
    holds: BTreeSet<(Time, SessionId, SessionEpoch)>,
    /// When welcomed connections may have been idle for too long, in hold time.
    idle: BTreeSet<(Time, ConnectionId)>,
    is_pulsing: bool,
}

impl Alarms {
    /// Gives the instant.
    pub(crate) fn set(&mut self, now: Time, in_: Duration, alarm: Alarm) -> Time {
        let at = now.after(in_);
        self.due.insert((at, alarm));
        at
    }

    /// Ends a hold after so much hold time; gives the instant.
    pub(crate) fn set_hold(&mut self, in_: Duration, id: SessionId, epoch: SessionEpoch) -> Time {
        let at = self.clock.hold().after(in_);
        self.holds.insert((at, id, epoch));
        at
    }

    /// Looks at a connection's idleness after so much hold time; gives the instant.
    fn set_idle(&mut self, in_: Duration, id: ConnectionId) -> Time {
        let at = self.clock.hold().after(in_);
        self.idle.insert((at, id));
        at
    }

    /// Takes an instant of the driver's; gives how long the process could not run before it.
    pub(super) fn advance(&mut self, real: Time, stall: Duration) -> Option<Duration> {
        self.clock.advance(real, self.first(), stall)
    }

    pub(crate) fn clock(&self) -> &ServiceClock {
        &self.clock
    }

    /// Forgets one deadline of a connection.
    pub(crate) fn cancel(&mut self, at: Time, alarm: Alarm) {
        self.due.remove(&(at, alarm));
    }

    /// Forgets the deadlines of a connection.
    pub(crate) fn forget(&mut self, id: ConnectionId, due: &Due) {
        let alarms = [(due.handshake, Alarm::Handshake(id)), (due.progress, Alarm::Progress(id))];
        for (at, alarm) in alarms {
            self.due.remove(&(at, alarm));
        }
        self.idle.remove(&(due.idle, id));
    }

    /// When the hub wants to be woken, in real time.
    pub(crate) fn next(&self) -> Option<Time> {
        self.first().map(|at| self.clock.to_real(at))
    }

    /// The first deadline, in service time.
    fn first(&self) -> Option<Time> {
        let hold = self.holds.first().map(|(at, ..)| *at);
        let idle = self.idle.first().map(|(at, _)| *at);
        let in_hold_time = hold.into_iter().chain(idle).min();
        let in_hold_time = in_hold_time.and_then(|at| self.clock.hold_to_service(at));
        self.due.first().map(|(at, _)| *at).into_iter().chain(in_hold_time).min()
    }

    fn take(&mut self) -> Option<Alarm> {
        if self.due.first().is_some_and(|(at, _)| *at <= self.clock.now()) {
            return self.due.pop_first().map(|(_, alarm)| alarm);
        }
        if self.clock.is_full() {
            return None;
        }
        let hold = self.clock.hold();
        if self.holds.first().is_some_and(|(at, ..)| *at <= hold) {
            return self.holds.pop_first().map(|(_, id, epoch)| Alarm::Hold(id, epoch));
        }
        if self.idle.first().is_some_and(|(at, _)| *at <= hold) {
            return self.idle.pop_first().map(|(_, id)| Alarm::Idle(id));
        }
        None
    }
}

/// How far the wall clock may be set back without being believed.
const WALL_STEP_MAX: Duration = Duration::from_secs(300);

impl Hub {
    /// Takes an instant of the driver's, and gives the service time by which the hub goes. After a stall
    /// everything that waits gets all the time since something was last heard. A little of that the
    /// process may have been there; who is held is given it.
    ///
    /// A stall is judged by the gap between two inputs, not by how late a deadline is looked at: a hub that
    /// is handed one input after the other is overloaded, and its deadlines are what relieves it.
    pub(crate) fn note_time(&mut self, real: Time) -> Time {
        if let Some(late) = self.alarms.advance(real, self.config.stall) {
            hit(Mark::Stalled);
            // The wall clock went on.
            let (_, WallTime(wall_ms)) = &mut self.wall;
            let late_ms = u64::try_from(late.as_millis()).unwrap_or(u64::MAX);
            *wall_ms = wall_ms.saturating_add(late_ms);
        }
        self.alarms.clock().now()
    }

    pub(crate) fn wake(&mut self, now: Time) {
        while let Some(alarm) = self.alarms.take() {
            match alarm {
                Alarm::Handshake(connection) => self.handshake_due(now, connection),
                Alarm::Admission(connection, ask) => self.admission_due(connection, ask),
                Alarm::Hold(session, epoch) => self.hold_due(now, session, epoch),
                Alarm::Idle(connection) => self.idle_due(connection),
                Alarm::Progress(connection) => self.progress_due(now, connection),
                Alarm::Lifetime(session) => self.lifetime_due(now, session),
                Alarm::Call(session) => self.calls_due(now, session),
                Alarm::Seats(session) => self.seats_due(now, session),
                Alarm::Pulse => {
                    self.alarms.is_pulsing = false;
                    self.pulse(now);
                }
            }
        }
    }

    /// Asks to be woken soon, while somebody is held.
    fn pulse(&mut self, now: Time) {
        if !self.alarms.holds.is_empty() && !self.alarms.is_pulsing {
            self.alarms.is_pulsing = true;
            self.alarms.set(now, self.config.stall, Alarm::Pulse);
        }
    }

    /// The store has no room, or has room again.
    pub(crate) fn store_full(&mut self, now: Time, is_full: bool) {
        let was_full = self.alarms.clock.is_full();
        self.alarms.clock.set_full(is_full);
        match (was_full, is_full) {
            (false, true) => {
                hit(Mark::HoldsStoodStill);
                let text = "the server's disk is full; nothing is lost";
                self.tell_frozen(NoticeCode::Frozen, text);
            }
            (true, false) => {
                self.pulse(now);
                self.tell_frozen(NoticeCode::Thawed, "");
            }
            (false, false) | (true, true) => {}
        }
    }

    /// Tells those who are in zones that stand still, or go on. Who has no Welcome yet hears of
    /// nothing before it.
    fn tell_frozen(&mut self, code: NoticeCode, text: &str) {
        let hears = |id: ConnectionId, known: &Connection| {
            let (session, _) = known.session().filter(|_| known.is_welcomed())?;
            let session = self.sessions.get(&session)?;
            let zone = self.zones.view(session.zone()?)?;
            (session.connection() == Some(id) && zone.is_gated).then_some(id)
        };
        let hearers: Vec<ConnectionId> =
            self.connections.iter().filter_map(|(id, known)| hears(*id, known)).collect();
        for connection in hearers {
            let notice = Notice { code: code.into(), text: text.to_owned(), wait_ms: 0 };
            self.send(connection, server_frame::Frame::Notice(notice));
        }
    }

    fn handshake_due(&mut self, now: Time, connection: ConnectionId) {
        let waiting = |known: &Connection| known.stage() == Stage::AwaitingHello;
        if self.connections.get(&connection).is_some_and(waiting) {
            hit(Mark::HandshakeTimeout);
            self.drop_connection(now, connection, CloseCode::HandshakeTimeout, "no hello in time");
        }
    }

    /// How a drop of this session is held where it is now; what a `Welcome` tells. The zone decides, also
    /// while the session is on its way into it. A zone without a hold ends only those it has let in: the
    /// client of a session on its way has not heard of that zone, and the connection may have been lost by
    /// a crash of the server, or closed by the server because the rest of the former stay did not fit.
    pub(crate) fn hold_of(&self, session: &Session) -> Hold {
        let zone = session.zone().and_then(|zone| self.zones.view(zone));
        match zone.map_or(session.hold, |zone| zone.hold) {
            Hold::None if matches!(session.place, Place::Joining(_)) => session.hold,
            hold @ (Hold::None | Hold::Timed(_) | Hold::UntilMatchEnds(_)) => hold,
        }
    }

    /// A session lost its connection: how long is it waited for?
    pub(crate) fn start_hold(&mut self, now: Time, id: SessionId) {
        if self.going_down {
            // It begins when the next process is ready, as after a crash.
            return;
        }
        let Some(session) = self.sessions.get(&id) else { return };
        let zone = session.zone().and_then(|zone| self.zones.view(zone));
        let is_inside = matches!(session.place, Place::In(_));
        let running = is_inside && zone.is_some_and(|zone| zone.match_running);
        let epoch = session.epoch;
        let while_ = match self.hold_of(session) {
            Hold::Timed(while_) => Some(while_),
            Hold::UntilMatchEnds(_) if running => None,
            Hold::UntilMatchEnds(while_) => Some(while_),
            Hold::None => {
                hit(Mark::HoldNone);
                return self.end(now, id, EndCause::HoldEnded);
            }
        };
        let while_ =
            while_.map(|while_| if is_armed(Bug::HoldHalved) { while_ / 2 } else { while_ });
        let until = while_.map(|while_| self.alarms.set_hold(while_, id, epoch));
        self.pulse(now);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.presence = Presence::Away(until);
            session.absence.since = self.alarms.clock().real();
            session.absence.stood_still = Duration::ZERO;
        }
    }

    /// A session that dropped on its way in is held as the members of its zone are from now on.
    pub(crate) fn hold_inside(&mut self, now: Time, id: SessionId) {
        let session = self.sessions.get(&id).filter(|session| session.ending.is_none());
        let is_away = session.is_some_and(|session| matches!(session.presence, Presence::Away(_)));
        let zone =
            session.and_then(|session| session.zone()).and_then(|zone| self.zones.view(zone));
        let is_until = |zone: ZoneView| matches!(zone.hold, Hold::UntilMatchEnds(_));
        if is_away
            && !self.recovering
            && zone.is_some_and(|zone| zone.match_running && is_until(zone))
        {
            self.start_hold(now, id);
        }
    }

    /// A hold that waited for the end of a match has nothing to wait for outside that zone.
    pub(crate) fn hold_outside(&mut self, now: Time, id: SessionId) {
        let waits = self.sessions.get(&id).is_some_and(|session| {
            session.presence == Presence::Away(None) && session.ending.is_none()
        });
        if waits && !self.recovering {
            self.start_hold(now, id);
        }
    }

    fn hold_due(&mut self, now: Time, id: SessionId, epoch: SessionEpoch) {
        if self.going_down || is_armed(Bug::HoldForgotten) {
            return;
        }
        let session = self.sessions.get(&id).filter(|session| session.epoch == epoch);
        let Some(Presence::Away(Some(until))) = session.map(|session| session.presence) else {
            // Somebody came back: this timer belongs to an earlier drop.
            return hit(Mark::StaleIgnored);
        };
        let rest = until.since(self.alarms.clock().hold());
        if !rest.is_zero() {
            // Its player was here and told to wait.
            self.alarms.set_hold(rest, id, epoch);
            return self.pulse(now);
        }
        if let Some(more) = self.barred_more(id) {
            let until = self.alarms.set_hold(more, id, epoch);
            if let Some(session) = self.sessions.get_mut(&id) {
                session.absence.stood_still += more;
                session.presence = Presence::Away(Some(until));
            }
            return self.pulse(now);
        }
        self.hold_ended(now, id);
    }

    pub(crate) fn hold_ended(&mut self, now: Time, id: SessionId) {
        hit(Mark::HoldEnded);
        let event = HubOutput::Event(Event::HoldEnded { session: id });
        self.after(id, super::commit::After::Output(event));
        let is_wrong = is_armed(Bug::WrongCause);
        self.end(now, id, if is_wrong { EndCause::Left } else { EndCause::HoldEnded });
    }

    /// The match of a zone ended: holds that waited for that end with it.
    pub(crate) fn match_ended(&mut self, now: Time, zone: ZoneId) {
        if self.going_down {
            // Whoever was sent away has all of its hold in the next process.
            return;
        }
        for session in self.sessions_in(zone) {
            let waits = self.sessions.get(&session).is_some_and(|s| {
                s.place == Place::In(zone)
                    && s.presence == Presence::Away(None)
                    && s.ending.is_none()
            });
            if !waits {
                continue;
            }
            hit(Mark::HoldMatchEnded);
            self.hold_ended(now, session);
        }
    }

    /// A frame leaves for a session in no zone: its client has `progress` to acknowledge it.
    pub(crate) fn expect_progress(
        &mut self,
        now: Time,
        session: SessionId,
        id: ConnectionId,
        at: Option<(Leg, u64)>,
    ) {
        let Some((at, known)) = at.zip(self.sessions.get_mut(&session)) else { return };
        if known.downstream.released(at) {
            known.downstream.expect_by(now.after(self.config.progress));
            self.progress_in(now, id, self.config.progress);
        }
    }

    fn progress_in(&mut self, now: Time, id: ConnectionId, rest: Duration) {
        let Some(known) = self.connections.get_mut(&id) else { return };
        self.alarms.cancel(known.due.progress, Alarm::Progress(id));
        known.due.progress = self.alarms.set(now, rest, Alarm::Progress(id));
    }

    fn progress_due(&mut self, now: Time, id: ConnectionId) {
        let known = self.connections.get(&id).and_then(Connection::session);
        let Some((session, _)) = known else { return };
        let is_throttled = self.is_throttled(id);
        let progress = self.config.progress;
        // A connection that gave way to another is told that, once it is committed.
        let known = self.sessions.get_mut(&session).filter(|known| known.connection() == Some(id));
        let Some((session, at)) = known.and_then(|known| {
            let at = known.downstream.progress_at()?;
            Some((known, at))
        }) else {
            return;
        };
        if now < at {
            return self.progress_in(now, id, at.since(now));
        }
        if is_throttled {
            // A sender that is read slowly has its acknowledgements behind what it sends.
            session.downstream.expect_by(now.after(progress));
            return self.progress_in(now, id, progress);
        }
        hit(Mark::TooSlow);
        let text = "nothing was acknowledged for too long";
        self.drop_connection(now, id, CloseCode::TooSlow, text);
    }

    /// Counts the idleness of a connection whose Welcome leaves. Before that a client may send nothing, however
    /// long the server takes.
    pub(crate) fn start_idleness(&mut self, now: Time, connection: ConnectionId) {
        let asked_at = (now, self.alarms.clock().hold());
        if let Some(known) = self.connections.get_mut(&connection) {
            known.idleness = Idleness { asked_at, stood_still: Duration::ZERO };
        }
        self.idle_in(connection, self.config.idle);
    }

    /// Looks again when the session of this connection may have been idle for too long. Whoever is
    /// held is not idle, and has no such deadline. While the store is full nothing is acknowledged, and a
    /// client whose window is full can send nothing: idleness goes by hold time.
    fn idle_in(&mut self, connection: ConnectionId, rest: Duration) {
        if self.config.idle.is_zero() {
            return;
        }
        if let Some(known) = self.connections.get_mut(&connection) {
            self.alarms.idle.remove(&(known.due.idle, connection));
            known.due.idle = self.alarms.set_idle(rest, connection);
        }
    }

    /// Its connection knows when the client last sent a message.
    fn idle_due(&mut self, connection: ConnectionId) {
        if self.speaker(connection).is_some() {
            self.push(HubOutput::ToConnection(connection, ToConnection::NameActivity));
        }
    }

    /// The last message of a client came so long ago, in service time. What of that the store was full does not
    /// count.
    pub(crate) fn active(&mut self, now: Time, connection: ConnectionId, ago: Duration) {
        let Some(Speaker { session, .. }) = self.speaker(connection) else { return };
        let hold = self.alarms.clock().hold();
        let Some(known) = self.connections.get_mut(&connection) else { return };
        let Idleness { asked_at: (service_then, hold_then), stood_still } = known.idleness;
        let (passed, held) = (now.since(service_then), hold.since(hold_then));
        let since = passed.saturating_sub(held).min(ago);
        let stood_still = if ago >= passed { stood_still + since } else { since };
        let quiet = ago.saturating_sub(stood_still);
        known.idleness = Idleness { asked_at: (now, hold), stood_still };
        if quiet >= self.config.idle {
            hit(Mark::Idle);
            self.end(now, session, EndCause::Idle);
        } else {
            self.idle_in(connection, self.config.idle - quiet);
        }
    }

    pub(crate) fn start_lifetime(&mut self, now: Time, id: SessionId) {
        if self.config.lifetime.is_zero() {
            return;
        }
        let Some(session) = self.sessions.get(&id) else { return };
        let age = Duration::from_millis(self.wall(now).0.saturating_sub(session.began.0));
        let rest = self.config.lifetime.saturating_sub(age);
        self.alarms.set(now, rest, Alarm::Lifetime(id));
    }

    fn lifetime_due(&mut self, now: Time, id: SessionId) {
        if self.sessions.contains_key(&id) {
            hit(Mark::Lifetime);
            self.end(now, id, EndCause::Lifetime);
        }
    }

    pub(crate) fn set_wall(&mut self, now: Time, wall: WallTime) {
        let known = self.wall(now);
        let behind = Duration::from_millis(known.0.saturating_sub(wall.0));
        if behind <= WALL_STEP_MAX {
            // A small step back is waited out: what has ended by this clock stays over.
            self.wall = (now, wall.max(known));
            return self.sweep_guests(now);
        }
        // It was wrong before, or is now. Kept ahead of the real time, it would end every ban at once; set back,
        // a ban lasts too long at worst.
        self.wall = (now, wall);
        self.push(HubOutput::Warn(super::Warning::ClockWentBack { by: behind }));
        self.sweep_guests(now);
    }

    /// The wall clock, as far as it is known.
    pub(crate) fn wall(&self, now: Time) -> WallTime {
        let (at, wall) = self.wall;
        let since = u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX);
        WallTime(wall.0.saturating_add(since))
    }
}
