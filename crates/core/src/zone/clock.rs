//! A zone's time: its age, its ticks and its timers. Age counts only while the zone can run, so a
//! timer that was saved with ten seconds to go has ten seconds to go after a crash. Ticks of
//! different zones are spread over the period, and after a delay only a few are made up for. While
//! nothing that a zone does can be kept, its time stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use crate::id::ZoneId;
use crate::mark::{Mark, hit};
use crate::time::{Time, micros};

/// Age, ticks and timers.
#[derive(Debug)]
pub(crate) struct Clock {
    opened_at: Time,
    age_then: Duration,
    period: Option<Duration>,
    /// Where in the period this zone ticks.
    phase: Duration,
    next_tick: Option<Time>,
    ticks: u64,
    skipped: u64,
    /// Since when it stands still.
    paused_at: Option<Time>,
    due: BTreeMap<Bytes, Duration>,
    order: BTreeSet<(Duration, Bytes)>,
}

impl Clock {
    pub(crate) fn new(id: ZoneId, period: Option<Duration>) -> Self {
        let phase = period.map_or(0, |period| id.0 % micros(period).max(1));
        Self {
            opened_at: Time::ZERO,
            age_then: Duration::ZERO,
            period,
            phase: Duration::from_micros(phase),
            next_tick: None,
            ticks: 0,
            skipped: 0,
            paused_at: None,
            due: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// The zone runs from here on.
    pub(crate) fn start(&mut self, now: Time) {
        self.opened_at = now;
        self.next_tick = self.period.map(|_| now.after(self.phase));
    }

    /// Takes up age, ticks and timers of an earlier incarnation.
    pub(crate) fn restore(&mut self, age: Duration, ticks: u64) {
        self.age_then = age;
        self.ticks = ticks;
    }

    pub(crate) fn age(&self, now: Time) -> Duration {
        self.age_then + self.paused_at.unwrap_or(now).since(self.opened_at)
    }

    /// Stands still from here on, or runs on from where it stood.
    pub(crate) fn pause(&mut self, now: Time, is_paused: bool) {
        match (is_paused, self.paused_at) {
            (true, None) => self.paused_at = Some(now),
            (false, Some(since)) => {
                let gap = now.since(since);
                self.paused_at = None;
                self.opened_at = self.opened_at.after(gap);
                self.next_tick = self.next_tick.map(|at| at.after(gap));
            }
            _ => {}
        }
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Whether a tick is due. Late ones are made up for, `catch_up_max` at most.
    pub(crate) fn take_tick(&mut self, now: Time, catch_up_max: u32) -> bool {
        let is_due = |(at, _): &(Time, Duration)| now >= *at && self.paused_at.is_none();
        // A zone without a period has no ticks.
        let due = self.next_tick.zip(self.period).filter(is_due);
        if let Some((at, period)) = due {
            self.tick(now, at, period, catch_up_max);
        }
        due.is_some()
    }

    /// Counts the tick that was due at this instant, and those after it that are skipped.
    fn tick(&mut self, now: Time, at: Time, period: Duration, catch_up_max: u32) {
        let late = micros(now.since(at)) / micros(period).max(1);
        let mut next = at.after(period);
        if late > u64::from(catch_up_max) {
            hit(Mark::TickSkipped);
            self.skipped += late - u64::from(catch_up_max);
            let skip = micros(period).saturating_mul(late - u64::from(catch_up_max));
            next = next.after(Duration::from_micros(skip));
        }
        self.next_tick = Some(next);
        self.ticks += 1;
    }

    /// Sets a timer; one of the same key gives way.
    pub(crate) fn set(&mut self, due: Duration, key: Bytes) {
        self.cancel(&key);
        self.order.insert((due, key.clone()));
        self.due.insert(key, due);
    }

    pub(crate) fn cancel(&mut self, key: &Bytes) {
        if let Some(due) = self.due.remove(key) {
            self.order.remove(&(due, key.clone()));
        }
    }

    /// A timer whose time has come.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Bytes> {
        let (due, _) = self.order.first()?;
        if self.age(now) < *due || self.paused_at.is_some() {
            return None;
        }
        let (_, key) = self.order.pop_first()?;
        self.due.remove(&key);
        Some(key)
    }

    pub(crate) fn timers(&self) -> impl Iterator<Item = (&Bytes, Duration)> {
        self.due.iter().map(|(key, due)| (key, *due))
    }

    pub(crate) fn timer_count(&self) -> usize {
        self.due.len()
    }

    pub(crate) fn next_deadline(&self) -> Option<Time> {
        if self.paused_at.is_some() {
            return None;
        }
        let timer = self
            .order
            .first()
            .map(|(due, _)| self.opened_at.after(due.saturating_sub(self.age_then)));
        [self.next_tick, timer].into_iter().flatten().min()
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }
}
