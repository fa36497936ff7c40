//! What can happen next, and when. Events of one instant happen in the order they were planned,
//! but waking comes last: input that waits is fed before a deadline is looked at.

use std::collections::BTreeMap;

/// Something that can be planned.
pub trait Planned {
    /// Whether it is the news that time has passed.
    fn is_wake(&self) -> bool;
    /// Whether the server must be running and awake for it.
    fn is_servers(&self) -> bool;
}

/// What is planned, soonest first.
#[derive(Debug)]
pub struct Queue<E> {
    events: BTreeMap<(u64, bool, u64), E>,
    order: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { events: BTreeMap::new(), order: 0 }
    }
}

impl<E: Planned> Queue<E> {
    /// Plans an event.
    pub fn push(&mut self, at: u64, event: E) {
        self.order += 1;
        self.events.insert((at, event.is_wake(), self.order), event);
    }

    /// Puts off an event, keeping its place among those of the same instant.
    pub fn put_off(&mut self, until: u64, order: u64, event: E) {
        self.events.insert((until, event.is_wake(), order), event);
    }

    /// When the next event is due.
    #[must_use]
    pub fn next_at(&self) -> Option<u64> {
        self.events.first_key_value().map(|((at, ..), _)| *at)
    }

    /// The next event: when, its place, what.
    pub fn pop(&mut self) -> Option<(u64, u64, E)> {
        let ((at, _, order), event) = self.events.pop_first()?;
        Some((at, order, event))
    }

    /// Nothing could happen until now: what was due before is due now, wakes after all else.
    pub fn catch_up(&mut self, now: u64) {
        let later = self.events.split_off(&(now, false, 0));
        let late = std::mem::replace(&mut self.events, later);
        for event in late.into_values() {
            self.push(now, event);
        }
    }

    /// Forgets what the server had planned: it crashed.
    pub fn forget_servers(&mut self) {
        self.events.retain(|_, event| !event.is_servers());
    }
}
