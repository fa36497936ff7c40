//! Instants as the core sees them: numbers that the driver hands in. Nothing here reads a clock.

use std::fmt;
use std::time::Duration;

/// A monotonic instant in microseconds since an origin that the driver chose at its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The driver's origin.
    pub const ZERO: Self = Self(0);

    /// The instant this many milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000))
    }

    /// Whole milliseconds since the origin.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// This instant and a while.
    #[must_use]
    pub fn after(self, while_: Duration) -> Self {
        Self(self.0.saturating_add(micros(while_)))
    }

    /// How long since `earlier`; nothing when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Milliseconds since 1970. Only for absolute lifetimes, bans and what people read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct WallTime(pub u64);

impl WallTime {
    /// This time and a while.
    #[must_use]
    pub fn after(self, while_: Duration) -> Self {
        let ms = u64::try_from(while_.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(ms))
    }
}

/// A duration in whole microseconds; what does not fit is for ever.
#[must_use]
pub fn micros(while_: Duration) -> u64 {
    u64::try_from(while_.as_micros()).unwrap_or(u64::MAX)
}

/// A duration in whole milliseconds for a 32-bit field; what does not fit is the largest.
#[must_use]
pub fn millis_u32(while_: Duration) -> u32 {
    u32::try_from(while_.as_millis()).unwrap_or(u32::MAX)
}
