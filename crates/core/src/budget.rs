//! A leaky budget in one number: so many units a second with so large a burst. It never refuses;
//! it says how long a sender that is ahead of its budget must be made to wait, because a numbered
//! message may be delayed but never dropped.

use std::time::Duration;

use crate::time::Time;

/// How much a sender may spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Units that come back each second. Zero stands for no limit.
    pub per_second: u32,
    /// Units that may be spent at once after a rest.
    pub burst: u32,
}

/// The state of one budget: the instant at which it will be full again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    full_at: Time,
}

impl Budget {
    /// Spends `units` and says how long the sender is ahead; nothing while within the burst.
    pub fn spend(&mut self, now: Time, units: u32, rate: Rate) -> Option<Duration> {
        if rate.per_second == 0 {
            return None;
        }
        let cost = cost_micros(units, rate);
        self.full_at = Time(self.full_at.max(now).0.saturating_add(cost));
        let ahead = self.full_at.since(now);
        let allowed = Duration::from_micros(cost_micros(rate.burst, rate));
        ahead.checked_sub(allowed).filter(|wait| !wait.is_zero())
    }

    /// How many quarters of the burst are spent; four: the next unit may have to wait.
    #[must_use]
    pub fn quarters(&self, now: Time, rate: Rate) -> u64 {
        let burst = cost_micros(rate.burst, rate);
        if rate.per_second == 0 || burst == 0 {
            return 0;
        }
        (self.full_at.since(now).as_micros() as u64).saturating_mul(4) / burst
    }
}

fn cost_micros(units: u32, rate: Rate) -> u64 {
    u64::from(units) * 1_000_000 / u64::from(rate.per_second.max(1))
}

#[cfg(test)]
mod tests {
    //! Within the burst nobody waits; past it exactly as long as the rate asks for.
    use super::*;
    use proptest::prelude::*;

    const RATE: Rate = Rate { per_second: 10, burst: 5 };

    #[test]
    fn the_burst_is_free_and_the_next_unit_waits() {
        let mut budget = Budget::default();
        for _ in 0..5 {
            assert_eq!(budget.spend(Time::ZERO, 1, RATE), None);
        }
        assert_eq!(budget.spend(Time::ZERO, 1, RATE), Some(Duration::from_millis(100)));
    }

    #[test]
    fn quarters_grow_with_what_is_spent_and_shrink_with_time() {
        let mut budget = Budget::default();
        let quarters = [0, 1, 2, 3, 4].map(|_| {
            budget.spend(Time::ZERO, 1, RATE);
            budget.quarters(Time::ZERO, RATE)
        });
        assert_eq!(quarters, [0, 1, 2, 3, 4]);
        assert_eq!(budget.quarters(Time(400_000), RATE), 0);
        assert_eq!(budget.quarters(Time::ZERO, Rate { per_second: 0, burst: 0 }), 0);
    }

    proptest! {
        /// A sender that obeys the waits never gets more than burst + rate * time through.
        #[test]
        fn an_obedient_sender_keeps_the_rate(units in prop::collection::vec(1u32..4, 1..200)) {
            let (mut budget, mut now, mut sent) = (Budget::default(), Time::ZERO, 0u64);
            for unit in units {
                sent += u64::from(unit);
                let wait = budget.spend(now, unit, RATE).unwrap_or_default();
                now = now.after(wait);
                prop_assert!(sent <= 5 + 1 + now.0 / 100_000);
            }
        }
    }
}
