//! What addresses may do beyond one connection, and when everybody together must wait. Returns are admitted by
//! the load: while the commits under way and the inputs that wait are below their bounds, no valid return is told
//! to wait. Logins leave half of that to returns, whose holds run. Budgets go by the driver's clock.

use std::time::Duration;

use super::{Addresses, GuardConfig, Origin, Rest};
use crate::budget::{Budget, Quota, Rate};
use crate::chance::Chance;
use crate::event::Offence;
use crate::hub::HubConfig;
use crate::mark::{Mark, hit};
use crate::time::{Time, micros};

/// However many were turned away, nobody is told to wait longer.
const SPREAD_MAX: Duration = Duration::from_secs(30);

/// How much work is before a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HubLoad {
    /// Sessions and players with a commit under way.
    pub commits: usize,
    /// Inputs that wait for the hub.
    pub inputs: usize,
}

impl HubLoad {
    /// Whether it is below a share of the bound: 1 is all of it, 2 half.
    pub(crate) fn is_below(&self, config: &HubConfig, share: usize) -> bool {
        let fits = |amount: usize, most: usize| most == 0 || amount < most.div_ceil(share);
        fits(self.commits, config.load_commits_max) && fits(self.inputs, config.load_inputs_max)
    }
}

/// What is known of an address.
#[derive(Default)]
pub(crate) struct Conduct {
    logins: Budget,
    failures: Budget,
    violations: Budget,
    pub(crate) mints: Budget,
    opens: Budget,
    messages: Budget,
    bytes: Budget,
    /// From when until when nobody is let in from there. Remembered for as long as the violations
    /// that led to it.
    barred: (Time, Time),
}

impl Conduct {
    /// Nobody is let in for so long. A bar that follows another without a gap is one with it.
    fn bar(&mut self, now: Time, wait: Duration) {
        let (from, until) = self.barred;
        let from = if until >= now { from } else { now };
        self.barred = (from, until.max(now.after(wait)));
    }

    /// How long nobody was let in between these two instants.
    fn barred_between(&self, from: Time, to: Time) -> Duration {
        self.barred.1.min(to).since(self.barred.0.max(from))
    }
}

impl Rest for Conduct {
    fn is_at_rest(&self, now: Time) -> bool {
        let budgets = [self.logins, self.failures, self.violations, self.mints, self.opens];
        let streams = [self.messages, self.bytes];
        budgets.iter().chain(&streams).all(|budget| budget.is_full(now))
    }
}

/// The rations of everybody.
pub(crate) struct Rations {
    addresses: Addresses<Conduct>,
    /// How fast everybody together is let in, where that is capped.
    arrivals: Budget,
    /// How many were told to come later since the load was last low.
    turned_away: u32,
    /// Inputs that wait for the hub, as its driver counts them.
    waiting_inputs: usize,
}

impl Rations {
    pub(crate) fn new(addresses_max: usize) -> Self {
        let addresses = Addresses::new(addresses_max);
        Self { addresses, arrivals: Budget::default(), turned_away: 0, waiting_inputs: 0 }
    }

    /// How long an address was barred between these two instants; none: nothing is known of it.
    pub(crate) fn barred_between(&self, origin: Origin, from: Time, to: Time) -> Option<Duration> {
        let conducts = origin.networks().filter_map(|(network, _)| self.addresses.known(network));
        conducts.map(|conduct| conduct.barred_between(from, to)).max()
    }

    /// Inputs that wait for the hub, as its driver saw them last.
    pub(crate) fn set_waiting(&mut self, inputs: usize) {
        self.waiting_inputs = inputs;
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting_inputs
    }

    /// Charges a login to its address; if that has used up its share, what of, and the wait.
    pub(crate) fn login(
        &mut self,
        now: Time,
        origin: Option<Origin>,
        guard: &GuardConfig,
    ) -> Option<(Offence, Duration)> {
        let origin = origin?;
        // All are asked before one is charged: what one refuses costs its neighbours nothing.
        for (network, times) in origin.networks() {
            let Some(conduct) = self.addresses.look(network) else { continue };
            let failures = guard.address_failures.times(times);
            if let Some(wait) = conduct.failures.used_up(now, failures) {
                return Some((Offence::Failures, wait));
            }
            let mut logins = conduct.logins;
            if let Err(wait) = logins.try_spend(now, 1, guard.address_logins.times(times), 0) {
                return Some((Offence::Logins, wait));
            }
        }
        for (network, times) in origin.networks() {
            let (conduct, _) = self.addresses.record(now, network);
            conduct.logins.spend(now, 1, guard.address_logins.times(times));
        }
        None
    }

    /// Whether somebody may come in now. Returns are admitted below the bound of the load, logins
    /// below half of it: returns go first, because their holds run.
    ///
    /// # Errors
    /// Not now; how long to wait.
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        load: HubLoad,
        config: &HubConfig,
        is_resume: bool,
        chance: &mut Chance,
    ) -> Result<(), Duration> {
        let pace = config.returns_per_second;
        let rate = Rate { per_second: pace, burst: pace.saturating_mul(2) };
        let reserve = if is_resume { 0 } else { pace };
        if load.is_below(config, 4) && self.arrivals.is_full(now) {
            self.turned_away = 0;
        }
        let by_load = match load.is_below(config, if is_resume { 1 } else { 2 }) {
            true => Ok(()),
            false => Err(config.retry_after),
        };
        let admitted = by_load.and_then(|()| self.arrivals.try_spend(now, 1, rate, reserve));
        admitted.map_err(|wait| {
            self.turned_away = self.turned_away.saturating_add(1);
            let at_once = u32::try_from(config.load_commits_max).unwrap_or(u32::MAX);
            let per_second = if pace == 0 { at_once } else { pace };
            let all = Duration::from_secs(1) * self.turned_away / per_second.max(1);
            let spread = all.max(config.retry_after).min(SPREAD_MAX);
            wait + Duration::from_micros(chance.below(micros(spread)))
        })
    }

    /// Counts one against a quota that addresses have, if none of the networks of this one has used it up;
    /// otherwise the wait.
    pub(crate) fn spend(
        &mut self,
        now: Time,
        origin: Origin,
        quota: Quota,
        budget: impl Fn(&mut Conduct) -> &mut Budget,
    ) -> Option<Duration> {
        for (network, times) in origin.networks() {
            let (conduct, _) = self.addresses.record(now, network);
            let wait = budget(conduct).used_up(now, quota.times(times));
            if wait.is_some() {
                return wait;
            }
        }
        for (network, times) in origin.networks() {
            let (conduct, _) = self.addresses.record(now, network);
            budget(conduct).count(now, quota.times(times));
        }
        None
    }

    /// Whether so many zones were to be opened from an address that this one may not be.
    pub(crate) fn opens_too_often(
        &mut self,
        now: Time,
        origin: Origin,
        guard: &GuardConfig,
    ) -> bool {
        let wait = self.spend(now, origin, guard.address_opens, |conduct| &mut conduct.opens);
        if wait.is_some() {
            hit(Mark::OpensRationed);
        }
        wait.is_some()
    }

    /// A login or resume proved wrong; the wait if that had happened too often before. One that is told
    /// to wait learned nothing and is not counted: honest clients whose sessions have ended ask again
    /// after the wait, and would push each other's answer away for ever.
    pub(crate) fn count_failure(
        &mut self,
        now: Time,
        origin: Origin,
        quota: Quota,
    ) -> Option<Duration> {
        let looked = origin.networks().map(|(network, times)| {
            let conduct = self.addresses.look(network)?;
            conduct.failures.used_up(now, quota.times(times))
        });
        let wait = looked.max().flatten();
        if wait.is_none() {
            for (network, times) in origin.networks() {
                let (conduct, _) = self.addresses.record(now, network);
                conduct.failures.count(now, quota.times(times));
            }
        }
        wait
    }

    /// A connection broke the rules. Gives the networks that are shut out because of that, and how long.
    pub(crate) fn count_violation(
        &mut self,
        now: Time,
        origin: Origin,
        quota: Quota,
    ) -> Vec<(Origin, Duration)> {
        let mut barred = Vec::new();
        for (network, times) in origin.networks() {
            let (conduct, is_own) = self.addresses.record(now, network);
            // The record that strangers share is never barred: one of them would bar them all.
            if is_own && let Some(wait) = conduct.violations.count(now, quota.times(times)) {
                conduct.bar(now, wait);
                barred.push((network, wait));
            }
        }
        barred
    }

    /// Charges what was sent from an address; the wait if that was too much.
    pub(crate) fn charge(
        &mut self,
        now: Time,
        origin: Origin,
        guard: &GuardConfig,
        messages: u32,
        bytes: u32,
    ) -> Option<Duration> {
        let mut wait = None;
        for (network, times) in origin.networks() {
            let (conduct, _) = self.addresses.record(now, network);
            let rate = guard.address_messages.times(times);
            wait = wait.max(conduct.messages.spend(now, messages, rate));
            wait = wait.max(conduct.bytes.spend(now, bytes, guard.address_bytes.times(times)));
        }
        wait
    }
}
