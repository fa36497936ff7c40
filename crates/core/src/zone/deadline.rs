//! What is due of members: an acknowledgement of what has left, an answer to a call. Deadlines are kept
//! in the zone's service time, which stands still while the zone could not have heard its members: while
//! the process did not run, while the store is full, and while so much waits for a commit that nothing
//! is read. Each member has at most one entry, which may come early: then it is looked at and set again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::member::Member;
use crate::id::SessionId;
use crate::time::{Time, micros};

/// The deadlines of all members, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    due: BTreeSet<(Time, SessionId)>,
    /// How long time has stood still here, all in all.
    stood: Duration,
    /// Since when it stands still.
    paused_at: Option<Time>,
}

impl Deadlines {
    /// An instant in service time.
    pub(crate) fn service(&self, now: Time) -> Time {
        Time(self.paused_at.unwrap_or(now).0.saturating_sub(micros(self.stood)))
    }

    /// Stands still from here on, or runs on from where it stood.
    pub(crate) fn pause(&mut self, now: Time, is_paused: bool) {
        match (is_paused, self.paused_at) {
            (true, None) => self.paused_at = Some(now),
            (false, Some(since)) => {
                self.stood += now.since(since);
                self.paused_at = None;
            }
            _ => {}
        }
    }

    /// The process did not run for so long.
    pub(crate) fn stall(&mut self, gap: Duration) {
        // Of a pause all the time counts anyway.
        if self.paused_at.is_none() {
            self.stood += gap;
        }
    }

    /// Makes sure that a member is looked at when the first of its deadlines comes.
    pub(crate) fn arm(&mut self, session: SessionId, member: &mut Member) {
        if let Some(next) = member.next_deadline()
            && member.alarm_at.is_none_or(|at| next < at)
        {
            self.disarm(session, member);
            self.due.insert((next, session));
            member.alarm_at = Some(next);
        }
    }

    /// Forgets the entry of a member.
    pub(crate) fn disarm(&mut self, session: SessionId, member: &mut Member) {
        if let Some(at) = member.alarm_at.take() {
            self.due.remove(&(at, session));
        }
    }

    /// Takes out the entries that have come.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<SessionId> {
        let service = self.service(now);
        let mut due = Vec::new();
        while self.paused_at.is_none()
            && self.due.first().is_some_and(|(at, _)| *at <= service)
            && let Some((_, session)) = self.due.pop_first()
        {
            due.push(session);
        }
        due
    }

    /// When the next entry comes; none while time stands still.
    pub(crate) fn next(&self) -> Option<Time> {
        let (at, _) = self.due.first().filter(|_| self.paused_at.is_none())?;
        Some(at.after(self.stood))
    }
}
