//! The driver's clock: tokio's instants as the client's numbers, from an origin at the start.

use std::time::Duration;

use tokio::time::Instant;

use crate::time::Time;

/// Counts from the moment it was made.
#[derive(Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// What the client is told.
    pub(super) fn now(self) -> Time {
        Time::ZERO.after(self.0.elapsed())
    }

    /// When a client's instant is, for a timer.
    pub(super) fn instant(self, at: Time) -> Instant {
        // A deadline that no timer can hold is one that does not come.
        self.0.checked_add(Duration::from_micros(at.0)).unwrap_or(self.0 + FAR)
    }
}

/// A year: longer than any connection lives.
const FAR: Duration = Duration::from_secs(31_536_000);
