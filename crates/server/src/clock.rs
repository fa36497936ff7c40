//! The two clocks, read here and nowhere else: the monotonic one that machines count their deadlines
//! on, and the one on people's walls.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rejoin_core::time::{Time, WallTime};

/// The monotonic clock of this process; its origin is the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(self) -> Time {
        Time(rejoin_core::time::micros(self.origin.elapsed()))
    }

    /// How long until an instant; nothing when it is past.
    pub(crate) fn until(self, at: Time) -> Duration {
        at.since(self.now())
    }
}

/// The wall clock. A clock before 1970 counts as 1970: the machines never let it run backwards.
pub(crate) fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
