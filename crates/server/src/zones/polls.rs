//! When a thread of zones last ran. A thread that did not run for long although it wanted to, because
//! the process was stopped, the machine slept or one callback took that long, tells its zones: what is
//! due of their members moves by that time, because the thread did not read what they sent.

use std::cell::Cell;
use std::time::Duration;

use rejoin_core::time::Time;

/// A thread waits no longer than this at a time while one of its zones has a deadline, so that it
/// knows when it did not run.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(1);
/// Not to have run for this long is a stall, as it is for the hub by default (`stall_ms`).
const STALL_MIN: Duration = Duration::from_secs(1);

/// The last instant at which a thread looked at the clock, and what it has missed since it was asked.
/// An overloaded thread looks often and stalls never: its zones' deadlines come.
#[derive(Debug, Default)]
pub(super) struct Polls {
    seen_at: Cell<Option<Time>>,
    stalled: Cell<Duration>,
}

impl Polls {
    /// The clock is looked at; `planned`: how long the thread meant to wait.
    pub(super) fn look(&self, now: Time, planned: Duration) {
        let Some(before) = self.seen_at.replace(Some(now)) else { return };
        let gap = now.since(before);
        if gap > planned.saturating_add(STALL_MIN) {
            self.stalled.set(self.stalled.get() + gap);
        }
    }

    /// How long the thread did not run since this was last asked; none if it did.
    pub(super) fn take_stall(&self) -> Option<Duration> {
        Some(self.stalled.take()).filter(|stalled| !stalled.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_stall_only_if_the_thread_did_not_mean_to_wait_that_long() {
        let polls = Polls::default();
        let at = Time::from_millis;
        polls.look(at(1_000), Duration::ZERO);
        polls.look(at(2_900), WAIT_MAX);
        assert_eq!(polls.take_stall(), None, "it waited for a second, and was 0.9 s late");
        polls.look(at(13_900), WAIT_MAX);
        assert_eq!(polls.take_stall(), Some(Duration::from_secs(11)));
        assert_eq!(polls.take_stall(), None, "each stall is reported once");
    }

    #[test]
    fn a_thread_that_is_always_busy_never_stalls() {
        let polls = Polls::default();
        for ms in 0..60_000 {
            polls.look(Time::from_millis(ms), Duration::ZERO);
        }
        assert_eq!(polls.take_stall(), None);
    }
}
