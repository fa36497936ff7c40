//! How long to wait before the next attempt: exponential, with full jitter, so that a thousand
//! clients that dropped together do not come back together. While the session is held the wait is
//! at most a quarter of the hold: there must be time for several attempts before it ends. A server
//! that was down gives everybody the whole hold again from the moment it is back, so for some
//! minutes beyond the hold the wait stays below half of it.

use std::time::Duration;

use crate::chance::Chance;
use crate::time::{Time, micros};

/// The waits of one client.
#[derive(Debug)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
    attempt: u32,
}

/// A session that the server holds for its player.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// When the connection was lost.
    pub since: Time,
    /// For how long the session is held.
    pub hold: Duration,
}

/// The part of a hold that one wait may take, as a divisor.
const HOLD_SHARE: u32 = 4;
/// The same when the hold is over by this client's clock, but may start anew with the server.
const OUTAGE_SHARE: u32 = 2;
/// How long a server may be down before clients ask less often than it takes to be taken back.
const OUTAGE: Duration = Duration::from_secs(600);

impl Backoff {
    pub(crate) fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, attempt: 0 }
    }

    /// The last connection lived long enough: waits are small again.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }

    /// The next wait. The server's wish is a floor, and the jitter comes on top of it.
    pub(crate) fn next(
        &mut self,
        now: Time,
        held: Option<Held>,
        retry_after: Duration,
        chance: &mut Chance,
    ) -> Duration {
        let ceiling = self.ceiling(now, held);
        self.attempt = self.attempt.saturating_add(1);
        retry_after.saturating_add(Duration::from_micros(chance.up_to(micros(ceiling))))
    }

    /// How many waits there were since the last reset.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    fn ceiling(&self, now: Time, held: Option<Held>) -> Duration {
        let doubled = 1u32.checked_shl(self.attempt).unwrap_or(u32::MAX);
        let ceiling = self.base.saturating_mul(doubled).min(self.max);
        match held {
            Some(Held { since, hold }) if now.since(since) < hold => ceiling.min(hold / HOLD_SHARE),
            Some(Held { since, hold }) if now.since(since) < hold + OUTAGE => {
                ceiling.min(hold / OUTAGE_SHARE)
            }
            _ => ceiling,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(hold: Option<Duration>, attempts: u32, seed: u8) -> Vec<Duration> {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        let mut chance = Chance::from_seed([seed; 32]);
        let held = hold.map(|hold| Held { since: Time::ZERO, hold });
        (0..attempts).map(|_| backoff.next(Time::ZERO, held, Duration::ZERO, &mut chance)).collect()
    }

    #[test]
    fn each_wait_is_at_most_twice_as_long_up_to_the_maximum() {
        for seed in 0..100 {
            for (attempt, wait) in waits(None, 40, seed).into_iter().enumerate() {
                let ceiling = 250u64.checked_shl(attempt as u32).unwrap_or(10_000).min(10_000);
                assert!(wait <= Duration::from_millis(if attempt > 20 { 10_000 } else { ceiling }));
            }
        }
    }

    #[test]
    fn within_the_hold_no_wait_is_above_a_quarter_of_it() {
        let hold = Duration::from_secs(5);
        for seed in 0..200 {
            assert!(waits(Some(hold), 20, seed).into_iter().all(|wait| wait <= hold / 4));
        }
    }

    #[test]
    fn after_the_hold_a_server_that_comes_back_is_met_in_time() {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        let held = Some(Held { since: Time::ZERO, hold: Duration::from_secs(5) });
        backoff.attempt = 10;
        assert_eq!(backoff.ceiling(Time::from_millis(4_999), held), Duration::from_millis(1_250));
        assert_eq!(backoff.ceiling(Time::from_millis(5_000), held), Duration::from_millis(2_500));
        assert_eq!(backoff.ceiling(Time::from_millis(604_999), held), Duration::from_millis(2_500));
        assert_eq!(backoff.ceiling(Time::from_millis(605_000), held), Duration::from_secs(10));
    }

    #[test]
    fn the_jitter_is_full() {
        let tenth: Vec<Duration> = (0..=255).map(|seed| waits(None, 10, seed)[9]).collect();
        for part in 0..10 {
            let range = Duration::from_secs(part)..Duration::from_secs(part + 1);
            assert!(tenth.iter().any(|wait| range.contains(wait)), "none in {range:?}");
        }
    }

    #[test]
    fn the_servers_wish_is_a_floor() {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
        let mut chance = Chance::from_seed([5; 32]);
        let wish = Duration::from_secs(30);
        let wait = backoff.next(Time::ZERO, None, wish, &mut chance);
        assert!(wait >= wish && wait <= wish + Duration::from_millis(250));
        assert_eq!(backoff.attempt(), 1);
    }
}
