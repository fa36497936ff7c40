//! A leaky budget in one number: so many units a second with so large a burst. It never refuses;
//! it says how long a sender that is ahead of its budget must be made to wait, because a numbered
//! message may be delayed but never dropped.

use std::time::Duration;

use crate::time::{Time, micros};

/// How much a sender may spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Units that come back each second. Zero stands for no limit.
    pub per_second: u32,
    /// Units that may be spent at once after a rest.
    pub burst: u32,
}

/// How often something may happen within a time. It comes back evenly. A most of zero stands for no
/// limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// How often it may happen within that time; zero: no limit.
    pub most: u32,
    /// Within this time.
    pub within: Duration,
}

impl Rate {
    /// The same for so many senders together.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        let per_second = self.per_second.saturating_mul(count);
        Self { per_second, burst: self.burst.saturating_mul(count) }
    }
}

impl Quota {
    /// The same for so many together.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { most: self.most.saturating_mul(count), within: self.within }
    }
}

/// The state of one budget: the instant at which it will be full again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
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

    /// Spends `units` if that leaves `reserve` of the burst; otherwise it spends nothing.
    ///
    /// # Errors
    /// How long until it would fit.
    pub fn try_spend(
        &mut self,
        now: Time,
        units: u32,
        rate: Rate,
        reserve: u32,
    ) -> Result<(), Duration> {
        if rate.per_second == 0 {
            return Ok(());
        }
        let full_at = Time(self.full_at.max(now).0.saturating_add(cost_micros(units, rate)));
        let allowed = cost_micros(rate.burst.saturating_sub(reserve).max(units), rate);
        match full_at.since(now).checked_sub(Duration::from_micros(allowed)) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                self.full_at = full_at;
                Ok(())
            }
        }
    }

    /// Counts one against a quota; the wait once that is used up. A budget is never further ahead
    /// than its quota and one more, however often this is called.
    pub fn count(&mut self, now: Time, quota: Quota) -> Option<Duration> {
        if quota.most == 0 {
            return None;
        }
        let within = micros(quota.within);
        let each = within / u64::from(quota.most);
        let ahead = micros(self.full_at.since(now)).saturating_add(each);
        self.full_at = Time(now.0.saturating_add(ahead.min(within.saturating_add(each))));
        self.used_up(now, quota)
    }

    /// How long until one more fits into a quota; nothing if it does.
    #[must_use]
    pub fn used_up(&self, now: Time, quota: Quota) -> Option<Duration> {
        if quota.most == 0 {
            return None;
        }
        let each = quota.within / quota.most;
        let ahead = self.full_at.since(now).saturating_add(each);
        ahead.checked_sub(quota.within).filter(|wait| !wait.is_zero())
    }

    /// How far a sender is ahead of its burst; nothing while it is within.
    #[must_use]
    pub fn over(&self, now: Time, rate: Rate) -> Duration {
        let burst = cost(rate.burst, rate);
        if rate.per_second == 0 {
            Duration::ZERO
        } else {
            self.full_at.since(now).saturating_sub(burst)
        }
    }

    /// How long until nothing of it is spent.
    #[must_use]
    pub fn until_full(&self, now: Time) -> Duration {
        self.full_at.since(now)
    }

    /// Whether nothing of it is spent.
    #[must_use]
    pub fn is_full(&self, now: Time) -> bool {
        self.full_at <= now
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

/// What units are worth in time.
#[must_use]
pub fn cost(units: u32, rate: Rate) -> Duration {
    Duration::from_micros(cost_micros(units, rate))
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

    #[test]
    fn what_does_not_fit_costs_nothing_and_comes_back_in_time() {
        let mut budget = Budget::default();
        for _ in 0..5 {
            assert_eq!(budget.try_spend(Time::ZERO, 1, RATE, 0), Ok(()));
        }
        for _ in 0..100 {
            assert_eq!(budget.try_spend(Time::ZERO, 1, RATE, 0), Err(Duration::from_millis(100)));
        }
        assert_eq!(budget.try_spend(Time(100_000), 1, RATE, 0), Ok(()));
    }

    #[test]
    fn a_reserve_is_kept_for_others() {
        let mut budget = Budget::default();
        let spent = (0..9).take_while(|_| budget.try_spend(Time::ZERO, 1, RATE, 2).is_ok()).count();
        assert_eq!(spent, 3);
        assert_eq!(budget.try_spend(Time::ZERO, 2, RATE, 0), Ok(()));
    }

    #[test]
    fn a_quota_is_used_up_and_comes_back_evenly() {
        let quota = Quota { most: 20, within: Duration::from_secs(60) };
        let mut budget = Budget::default();
        let counted = (0..19).filter(|_| budget.count(Time::ZERO, quota).is_some()).count();
        assert_eq!(counted, 0);
        assert_eq!(budget.count(Time::ZERO, quota), Some(Duration::from_secs(3)), "the twentieth");
        // Whoever goes on does not lock itself, or a neighbour, out for ever.
        for _ in 0..1_000 {
            budget.count(Time::ZERO, quota);
        }
        assert_eq!(budget.used_up(Time::from_millis(6_000), quota), None);
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
