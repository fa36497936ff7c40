//! The hub's deadlines, its wall clock, and what it does when time has passed. Deadlines are kept in service
//! time, those of holds and of idleness in hold time, see `clock.rs`. At equal instants input comes before
//! expiry, because the driver feeds waiting input before it wakes the hub.

use std::collections::BTreeSet;
use std::time::Duration;

use rejoin_wire::v1::NoticeCode;

use super::{Hub, Warning};
use crate::clock::{ServiceClock, WallClock};
use crate::connection::AskId;
use crate::handshake::HandshakeCore;
use crate::id::{ConnectionId, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::session::{Moment, SessionCore};
use crate::time::{Time, WallTime};

/// What a deadline is about. Each is looked at again when it comes. Only those that belong to a connection are
/// cancelled, when it is gone: its session may be held for long, and many may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Alarm {
    Handshake(ConnectionId),
    /// The answer to a question of its handshake.
    Admission(ConnectionId, AskId),
    /// The hold that began when this epoch was lost.
    Hold(SessionId, SessionEpoch),
    /// The client of a session may have sent nothing for too long.
    Idle(SessionId),
    /// The client of a session has acknowledged nothing outside zones for so long.
    Progress(SessionId),
    Lifetime(SessionId),
    Call(SessionId),
    /// The directory has been asked something about a session's seat.
    Seats(SessionId),
    /// Nothing but the time: while somebody is held a stall must be seen for what it is, even when
    /// no other deadline is near.
    Pulse,
}

/// The deadlines of handshakes and sessions, each on the clock that it goes by.
#[derive(Debug)]
pub(crate) struct Alarms {
    clock: ServiceClock,
    wall: WallClock,
    /// In service time.
    due: BTreeSet<(Time, Alarm)>,
    /// In hold time.
    holds: BTreeSet<(Time, SessionId, SessionEpoch)>,
    /// When welcomed clients may have been idle for too long, in hold time.
    idle: BTreeSet<(Time, SessionId)>,
    is_pulsing: bool,
}

impl Alarms {
    /// No deadlines; `wall`: what the wall clock is known to have shown.
    pub(super) fn new(now: Time, wall: WallTime) -> Self {
        Self {
            clock: ServiceClock::default(),
            wall: WallClock::new(now, wall),
            due: BTreeSet::new(),
            holds: BTreeSet::new(),
            idle: BTreeSet::new(),
            is_pulsing: false,
        }
    }

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

    /// Looks at the idleness of a session's client after so much hold time; gives the instant.
    pub(crate) fn set_idle(&mut self, in_: Duration, id: SessionId) -> Time {
        let at = self.clock.hold().after(in_);
        self.idle.insert((at, id));
        at
    }

    /// Takes an instant of the driver's. A stall is judged by the gap between two inputs, not by how late a deadline
    /// is looked at: a hub that is handed one input after the other is overloaded, and its deadlines are what
    /// relieves it.
    pub(super) fn advance(&mut self, real: Time, stall: Duration) {
        if let Some(late) = self.clock.advance(real, self.first(), stall) {
            hit(Mark::Stalled);
            self.wall.went_on(late);
        }
    }

    /// What time it is, on each clock.
    pub(crate) fn moment(&self) -> Moment {
        let (now, hold, real) = (self.clock.now(), self.clock.hold(), self.clock.real());
        Moment { now, hold, real, wall: self.wall.at(now) }
    }

    /// Takes a reading of the wall clock. A warning: it went back, and is believed all the same.
    pub(super) fn set_wall(&mut self, reading: WallTime) -> Option<Warning> {
        let by = self.wall.set(self.clock.now(), reading)?;
        Some(Warning::ClockWentBack { by })
    }

    /// Forgets a deadline.
    pub(crate) fn cancel(&mut self, at: Time, alarm: Alarm) {
        self.due.remove(&(at, alarm));
    }

    /// Forgets when to look at the idleness of a session's client.
    pub(crate) fn cancel_idle(&mut self, at: Time, id: SessionId) {
        self.idle.remove(&(at, id));
    }

    /// Asks to be woken soon, while a session is held.
    pub(crate) fn pulse(&mut self, stall: Duration) {
        if !self.holds.is_empty() && !self.is_pulsing {
            self.is_pulsing = true;
            self.set(self.clock.now(), stall, Alarm::Pulse);
        }
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

impl Hub {
    pub(crate) fn wake(&mut self) {
        while let Some(alarm) = self.alarms.take() {
            match alarm {
                Alarm::Handshake(connection) => {
                    self.with_handshake(connection, HandshakeCore::hello_due);
                }
                Alarm::Admission(connection, ask) => {
                    self.with_handshake(connection, |one, cx| one.admission_due(cx, ask));
                }
                Alarm::Hold(id, epoch) => {
                    self.with_session(id, |session, cx| session.hold_due(cx, epoch));
                }
                Alarm::Idle(id) => drop(self.with_session(id, SessionCore::idle_due)),
                Alarm::Progress(id) => drop(self.with_session(id, SessionCore::progress_due)),
                Alarm::Lifetime(id) => drop(self.with_session(id, SessionCore::lifetime_due)),
                Alarm::Call(id) => drop(self.with_session(id, SessionCore::calls_due)),
                Alarm::Seats(id) => drop(self.with_session(id, SessionCore::seats_due)),
                Alarm::Pulse => {
                    self.alarms.is_pulsing = false;
                    self.alarms.pulse(self.config.stall);
                }
            }
        }
    }

    /// The store has no room, or has room again: those who are in zones hear that these stand still, or go on.
    pub(crate) fn store_full(&mut self, is_full: bool) {
        if self.alarms.clock.is_full() == is_full {
            return;
        }
        self.alarms.clock.set_full(is_full);
        let (code, text) = match is_full {
            true => (NoticeCode::Frozen, "the server's disk is full; nothing is lost"),
            false => (NoticeCode::Thawed, ""),
        };
        if is_full {
            hit(Mark::HoldsStoodStill);
        }
        self.alarms.pulse(self.config.stall);
        let sessions = self.connections.values().filter_map(HandshakeCore::session);
        let sessions: Vec<SessionId> = sessions.map(|(session, _)| session).collect();
        for id in sessions {
            self.with_session(id, |session, cx| session.tell_frozen(cx, code, text));
        }
    }
}
