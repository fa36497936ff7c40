//! How far a connection's reader may run ahead of the hub. The hub decides who is slowed down, but that
//! reaches a reader only after what already waits in the hub's mailbox, and a flood would fill that
//! first. So a reader that is far beyond its connection's budget waits by itself, never longer than the
//! hub will have it wait.

use std::time::Duration;

use rejoin_core::budget::{Budget, Rate};
#[cfg(doc)]
use rejoin_core::hub::FrameKind;
use rejoin_core::time::Time;

/// Frames between two looks at the clock.
const PORTION: u32 = 32;
/// So much beyond the budget is left to the hub to see, so that it is the hub that acts.
const SLACK: Duration = Duration::from_millis(500);

/// What a connection may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rates {
    pub(crate) messages: Rate,
    pub(crate) bytes: Rate,
}

/// One reader's account.
#[derive(Debug)]
pub(crate) struct Pace {
    rates: Rates,
    messages: Budget,
    bytes: Budget,
    frames: u32,
    portion: (u32, u32),
}

impl Pace {
    pub(crate) fn new(rates: Rates) -> Self {
        let (messages, bytes) = (Budget::default(), Budget::default());
        Self { rates, messages, bytes, frames: 0, portion: (0, 0) }
    }

    /// Counts a frame by its [cost](FrameKind::cost); how long to wait, if the reader is far ahead.
    pub(crate) fn count(
        &mut self,
        (messages, bytes): (u32, u32),
        now: impl FnOnce() -> Time,
    ) -> Option<Duration> {
        self.portion.0 += messages;
        self.portion.1 = self.portion.1.saturating_add(bytes);
        self.frames += 1;
        if self.frames < PORTION {
            return None;
        }
        let now = now();
        let (messages, bytes) = std::mem::take(&mut self.portion);
        self.frames = 0;
        let by_messages = self.messages.spend(now, messages, self.rates.messages);
        let by_bytes = self.bytes.spend(now, bytes, self.rates.bytes);
        by_messages.max(by_bytes)?.checked_sub(SLACK).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use rejoin_core::hub::FrameKind;

    use super::*;

    const RATES: Rates = Rates {
        messages: Rate { per_second: 60, burst: 120 },
        bytes: Rate { per_second: 1_000_000, burst: 1_000_000 },
    };

    #[test]
    fn within_the_budget_and_a_little_beyond_nobody_waits() {
        let mut pace = Pace::new(RATES);
        for _ in 0..128 {
            assert_eq!(pace.count(FrameKind::Up.cost(50), || Time::ZERO), None);
        }
        let waits: Vec<_> =
            (0..32).filter_map(|_| pace.count(FrameKind::Up.cost(50), || Time::ZERO)).collect();
        assert_eq!(waits.len(), 1, "{waits:?}");
        // 160 are 40 too many; the hub makes it wait for the rest.
        assert!(waits[0] < Duration::from_millis(40 * 1_000 / 60), "{waits:?}");
    }

    #[test]
    fn answers_cost_their_bytes_and_no_limit_is_no_wait() {
        let mut pace = Pace::new(RATES);
        assert!((0..1_000).all(|_| pace.count(FrameKind::Ack.cost(50), || Time::ZERO).is_none()));
        let free = Rate { per_second: 0, burst: 0 };
        let mut pace = Pace::new(Rates { messages: free, bytes: free });
        assert!((0..100_000).all(|_| pace.count(FrameKind::Up.cost(50), || Time::ZERO).is_none()));
    }
}
