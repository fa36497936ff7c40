//! An instant on both clocks. Leases and time-outs run on the monotonic one; what must mean
//! something after a restart (expiry of seats, retention, placements) is kept as wall time.

use std::time::Duration;

use rejoin_core::time::{Time, WallTime};

/// Now, on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Since the driver's origin.
    pub time: Time,
    /// What people's clocks show; never runs backwards.
    pub wall: WallTime,
}

impl Moment {
    /// The wall time in a while.
    #[must_use]
    pub fn wall_after(self, while_: Duration) -> WallTime {
        later(self.wall, while_)
    }

    /// When the monotonic clock will show that this wall time has come.
    #[must_use]
    pub fn time_of(self, wall: WallTime) -> Time {
        self.time.after(Duration::from_millis(wall.0.saturating_sub(self.wall.0)))
    }
}

/// A wall time and a while.
#[must_use]
pub fn later(wall: WallTime, while_: Duration) -> WallTime {
    let ms = u64::try_from(while_.as_millis()).unwrap_or(u64::MAX);
    WallTime(wall.0.saturating_add(ms))
}
