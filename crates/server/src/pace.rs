//! How far a connection's reader may run ahead of the hub. The hub decides who is slowed down, but that
//! reaches a reader only after what already waits in the hub's mailbox, and a flood would fill that
//! first. So a reader that is far beyond its connection's budget waits by itself: within the lead that
//! the hub gives a sender it reads at four times the rate, beyond it at the rate.

use std::time::Duration;

use rejoin_core::budget::{Budget, Rate, cost};
#[cfg(doc)]
use rejoin_core::hub::FrameKind;
use rejoin_core::time::Time;

/// Frames between two looks at the clock.
const PORTION: u32 = 32;
/// So much beyond the budget is left to the hub to see, so that it is the hub that acts.
const SLACK: Duration = Duration::from_millis(500);

/// How many times its rate a connection is read at within its lead. Counted by portions, not by
/// frames: on a busy machine a pause for each frame would be far longer than it is meant to be.
const READ_AHEAD: u32 = 4;

/// What a connection may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rates {
    pub(crate) messages: Rate,
    pub(crate) bytes: Rate,
    /// How far beyond its burst a connection is read faster than its rate.
    pub(crate) lead: Duration,
}

/// One reader's account.
#[derive(Debug)]
pub(crate) struct Pace {
    rates: Rates,
    messages: Budget,
    bytes: Budget,
    frames: u32,
    portion: (u32, u32),
    /// When the last portion was over, what it had to wait included.
    counted_at: Time,
}

impl Pace {
    pub(crate) fn new(rates: Rates) -> Self {
        let (messages, bytes) = (Budget::default(), Budget::default());
        Self { rates, messages, bytes, frames: 0, portion: (0, 0), counted_at: Time::ZERO }
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
        let Rates { messages: of_messages, bytes: of_bytes, lead } = self.rates;
        // What the hub had the reader wait for this portion counts.
        let took = now.since(self.counted_at);
        let wait = |over: Duration, cost: Duration| {
            let over = over.saturating_sub(SLACK);
            let ahead = over.min(cost / READ_AHEAD).saturating_sub(took);
            over.saturating_sub(lead).max(ahead)
        };
        let over_messages = self.messages.spend(now, messages, of_messages);
        let over_bytes = self.bytes.spend(now, bytes, of_bytes);
        let by_messages = over_messages.map(|over| wait(over, cost(messages, of_messages)));
        let by_bytes = over_bytes.map(|over| wait(over, cost(bytes, of_bytes)));
        let wait = by_messages.max(by_bytes).filter(|wait| !wait.is_zero());
        self.counted_at = now.after(wait.unwrap_or_default());
        wait
    }
}

#[cfg(test)]
mod tests {
    use rejoin_core::hub::FrameKind;

    use super::*;

    const RATES: Rates = Rates {
        messages: Rate { per_second: 60, burst: 120 },
        bytes: Rate { per_second: 1_000_000, burst: 1_000_000 },
        lead: Duration::from_secs(4),
    };

    #[test]
    fn within_the_budget_and_a_little_beyond_nobody_waits() {
        let mut pace = Pace::new(RATES);
        for _ in 0..128 {
            assert_eq!(pace.count(FrameKind::Up.cost(50), || Time::ZERO), None);
        }
        let portion = |pace: &mut Pace| {
            (0..32).filter_map(|_| pace.count(FrameKind::Up.cost(50), || Time::ZERO)).next_back()
        };
        // A portion takes a quarter of its time while the reader is within its lead.
        let first = portion(&mut pace).expect("160 are 40 too many");
        assert_eq!(first, Duration::from_micros(32 * 1_000_000 / 60) / 4);
        for _ in 0..8 {
            portion(&mut pace);
        }
        let last = portion(&mut pace).expect("448 are far too many");
        // 328 too many are 5.47 s; half a second is left to the hub, four seconds are the lead.
        assert_eq!(last.as_millis(), 966);
    }

    #[test]
    fn answers_cost_their_bytes_and_no_limit_is_no_wait() {
        let mut pace = Pace::new(RATES);
        assert!((0..1_000).all(|_| pace.count(FrameKind::Ack.cost(50), || Time::ZERO).is_none()));
        let free = Rate { per_second: 0, burst: 0 };
        let mut pace = Pace::new(Rates { messages: free, bytes: free, lead: Duration::ZERO });
        assert!((0..100_000).all(|_| pace.count(FrameKind::Up.cost(50), || Time::ZERO).is_none()));
    }
}
