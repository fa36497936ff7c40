//! Rations at the hub: what an address and a player may do beyond one connection, and when everybody
//! together must wait. Returns are admitted by the load: while the commits under way and the inputs
//! that wait are below their bounds, no valid return is told to wait. Logins leave half of that to
//! returns, whose holds run. A session whose player is told to wait is held for that much longer.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Resume};

use super::{Hub, HubOutput};
use crate::budget::{Budget, Quota, Rate};
use crate::connection::ToConnection;
use crate::event::{Event, Offence, Step};
use crate::guard::{Addresses, Origin, Rest};
use crate::id::{ConnectionId, SessionId};
use crate::mark::{Mark, hit};
use crate::time::{Time, micros, millis_u32};

/// How much work is before a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HubLoad {
    /// Sessions and players with a commit under way.
    pub commits: usize,
    /// Inputs that wait for the hub.
    pub inputs: usize,
}

/// What the hub knows of an address.
#[derive(Default)]
pub(crate) struct Conduct {
    logins: Budget,
    failures: Budget,
    violations: Budget,
    pub(super) mints: Budget,
    pub(super) opens: Budget,
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

/// What a player has spent; it goes from connection to connection with the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    pub(crate) messages: Budget,
    pub(crate) bytes: Budget,
    pub(crate) resumes: Budget,
}

impl Spent {
    /// Adds what was spent on one connection, which knew of all that was spent before.
    pub(crate) fn take_in(&mut self, spent: Self) {
        self.messages = self.messages.max(spent.messages);
        self.bytes = self.bytes.max(spent.bytes);
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
}

/// However many were turned away, nobody is told to wait longer.
const SPREAD_MAX: Duration = Duration::from_secs(30);

impl Hub {
    /// Whether a return with a valid token must wait because of the load. If so, it has been answered.
    pub(crate) fn is_return_deferred(&mut self, id: ConnectionId, resume: &Resume) -> bool {
        let Err(wait) = self.arrive(true) else { return false };
        hit(Mark::Paced);
        self.count_deferred();
        self.send_away(id, Some(resume), CloseCode::NotReady, wait);
        true
    }

    /// Whether a login must wait. If so, it has been answered.
    pub(crate) fn is_login_deferred(&mut self, id: ConnectionId) -> bool {
        if let Some((what, wait)) = self.login_ration(id) {
            hit(match what {
                Offence::Failures => Mark::FailuresRationed,
                _ => Mark::LoginsRationed,
            });
            self.tell_step(Some(id), None, what);
            self.send_away(id, None, CloseCode::Flooded, wait);
            return true;
        }
        if let Err(wait) = self.arrive(false) {
            hit(Mark::Paced);
            self.send_away(id, None, CloseCode::NotReady, wait);
            return true;
        }
        false
    }

    fn login_ration(&mut self, id: ConnectionId) -> Option<(Offence, Duration)> {
        let now = self.real_time();
        let guard = self.config.guard;
        let origin = self.connections.get(&id)?.origin?;
        // All are asked before one is charged: what one refuses costs its neighbours nothing.
        for (network, times) in origin.networks() {
            let Some(conduct) = self.rations.addresses.look(network) else { continue };
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
            let (conduct, _) = self.rations.addresses.record(now, network);
            conduct.logins.spend(now, 1, guard.address_logins.times(times));
        }
        None
    }

    /// The time by which budgets go.
    pub(super) fn real_time(&self) -> Time {
        self.alarms.clock().real()
    }

    /// Inputs that wait for the hub, as its driver saw them last.
    pub(crate) fn set_waiting(&mut self, inputs: usize) {
        self.rations.waiting_inputs = inputs;
    }

    /// What the hub has before it: commits of sessions and players under way, and waiting inputs.
    #[must_use]
    pub fn load(&self) -> HubLoad {
        HubLoad {
            commits: self.commits.under_way() + self.players.under_way(),
            inputs: self.rations.waiting_inputs,
        }
    }

    /// Whether the load is below a share of the bound: 1 is all of it, 2 half.
    fn is_load_below(&self, share: usize) -> bool {
        let HubLoad { commits, inputs } = self.load();
        let fits = |amount: usize, most: usize| most == 0 || amount < most.div_ceil(share);
        fits(commits, self.config.load_commits_max) && fits(inputs, self.config.load_inputs_max)
    }

    /// Whether somebody may come in now. Returns are admitted below the bound of the load, logins
    /// below half of it: returns go first, because their holds run.
    fn arrive(&mut self, is_resume: bool) -> Result<(), Duration> {
        let now = self.real_time();
        let pace = self.config.returns_per_second;
        let rate = Rate { per_second: pace, burst: pace.saturating_mul(2) };
        let reserve = if is_resume { 0 } else { pace };
        if self.is_load_below(4) && self.rations.arrivals.is_full(now) {
            self.rations.turned_away = 0;
        }
        let by_load = if self.is_load_below(if is_resume { 1 } else { 2 }) {
            Ok(())
        } else {
            Err(self.config.retry_after)
        };
        let admitted =
            by_load.and_then(|()| self.rations.arrivals.try_spend(now, 1, rate, reserve));
        admitted.map_err(|wait| {
            self.rations.turned_away = self.rations.turned_away.saturating_add(1);
            let at_once = u32::try_from(self.config.load_commits_max).unwrap_or(u32::MAX);
            let per_second = if pace == 0 { at_once } else { pace };
            let all = Duration::from_secs(1) * self.rations.turned_away / per_second.max(1);
            let spread = all.max(self.config.retry_after).min(SPREAD_MAX);
            wait + Duration::from_micros(self.chance.below(micros(spread)))
        })
    }

    /// A return with a valid token is told to wait. That this happens below the bound of the load
    /// is counted apart: it means that something else than the load made it wait.
    fn count_deferred(&mut self) {
        let is_below = self.is_load_below(1);
        let load = self.load();
        self.counts.returns_deferred_total += 1;
        self.counts.returns_deferred_below_bound_total += u64::from(is_below);
        self.counts.deferred_at = load;
    }

    /// Refuses a hello for now. A session whose token it shows is held so much longer: its player is
    /// here, and was told to wait.
    pub(crate) fn send_away(
        &mut self,
        id: ConnectionId,
        resume: Option<&Resume>,
        code: CloseCode,
        wait: Duration,
    ) {
        let wait = wait.max(self.config.retry_after);
        if let Some(resume) = resume {
            let id = SessionId(resume.session);
            self.with_session(id, |session, cx| session.hold_longer(cx, &resume.token, wait));
        }
        self.refuse_until(id, code, "too many at once; come again", millis_u32(wait));
    }

    /// Counts one against a quota that addresses have, if none of the networks of this one has used it up;
    /// otherwise the wait.
    pub(crate) fn spend_quota(
        &mut self,
        origin: Origin,
        quota: Quota,
        budget: impl Fn(&mut Conduct) -> &mut Budget,
    ) -> Option<Duration> {
        let now = self.real_time();
        for (network, times) in origin.networks() {
            let (conduct, _) = self.rations.addresses.record(now, network);
            let wait = budget(conduct).used_up(now, quota.times(times));
            if wait.is_some() {
                return wait;
            }
        }
        for (network, times) in origin.networks() {
            let (conduct, _) = self.rations.addresses.record(now, network);
            budget(conduct).count(now, quota.times(times));
        }
        None
    }

    /// How long an address must wait before another secret is minted for it; none: one may be.
    pub(crate) fn mint_ration(&mut self, id: ConnectionId) -> Option<Duration> {
        let quota = self.config.guard.address_mints;
        let origin = self.connections.get(&id)?.origin?;
        self.spend_quota(origin, quota, |conduct| &mut conduct.mints)
    }

    /// An address has had its share of new guests.
    pub(crate) fn minted_too_often(&mut self, id: ConnectionId, wait: Duration) {
        hit(Mark::LoginsRationed);
        self.tell_step(Some(id), None, Offence::Logins);
        self.send_away(id, None, CloseCode::Flooded, wait);
    }

    /// A login or resume proved wrong; the wait if that had happened too often before. One that is told
    /// to wait learned nothing and is not counted: honest clients whose sessions have ended ask again
    /// after the wait, and would push each other's answer away for ever.
    pub(crate) fn count_failure(&mut self, id: ConnectionId) -> Option<Duration> {
        let now = self.real_time();
        let quota = self.config.guard.address_failures;
        let origin = self.connections.get(&id)?.origin?;
        let looked = origin.networks().map(|(network, times)| {
            let conduct = self.rations.addresses.look(network)?;
            conduct.failures.used_up(now, quota.times(times))
        });
        let wait = looked.max().flatten();
        if wait.is_none() {
            for (network, times) in origin.networks() {
                let (conduct, _) = self.rations.addresses.record(now, network);
                conduct.failures.count(now, quota.times(times));
            }
        }
        wait
    }

    /// Wrong once more, and not told so any more. Whoever has a valid token still comes in: one who
    /// guesses must not keep its neighbours out.
    pub(crate) fn failed_too_often(&mut self, id: ConnectionId, wait: Duration) {
        hit(Mark::FailuresRationed);
        self.tell_step(Some(id), None, Offence::Failures);
        self.send_away(id, None, CloseCode::Flooded, wait);
    }

    /// A connection broke the rules; an address where that happens often is shut out for a while.
    pub(crate) fn count_violation(&mut self, id: ConnectionId) {
        let now = self.real_time();
        let quota = self.config.guard.address_violations;
        let known = self.connections.get(&id).filter(|known| !known.is_spoofable);
        let Some(origin) = known.and_then(|known| known.origin) else { return };
        for (network, times) in origin.networks() {
            let (conduct, is_own) = self.rations.addresses.record(now, network);
            // The record that strangers share is never barred: one of them would bar them all.
            if is_own && let Some(wait) = conduct.violations.count(now, quota.times(times)) {
                hit(Mark::Barred);
                conduct.bar(now, wait);
                self.push(HubOutput::Bar { origin: network, wait });
            }
        }
    }

    /// Charges what a connection has sent to its address, and says whether its sender must wait for that.
    pub(crate) fn charge_address(&mut self, id: ConnectionId, messages: u32, bytes: u32) {
        let now = self.real_time();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let guard = &self.config.guard;
        let Some(origin) = connection.origin else { return };
        let mut wait = None;
        for (network, times) in origin.networks() {
            let (conduct, _) = self.rations.addresses.record(now, network);
            let rate = guard.address_messages.times(times);
            wait = wait.max(conduct.messages.spend(now, messages, rate));
            wait = wait.max(conduct.bytes.spend(now, bytes, guard.address_bytes.times(times)));
        }
        let waited = std::mem::replace(&mut connection.address_waits, wait.is_some());
        if waited || wait.is_some() {
            self.push(HubOutput::ToConnection(id, ToConnection::AddressWaits(wait)));
        }
    }

    /// A session's player returns more often than it may.
    pub(crate) fn returned_too_often(&mut self, id: ConnectionId, resume: &Resume, wait: Duration) {
        hit(Mark::ResumesRationed);
        self.count_deferred();
        self.tell_step(Some(id), Some(SessionId(resume.session)), Offence::Resumes);
        self.send_away(id, Some(resume), CloseCode::Flooded, wait);
    }

    pub(crate) fn tell_step(
        &mut self,
        connection: Option<ConnectionId>,
        session: Option<SessionId>,
        what: Offence,
    ) {
        let step = Step::Sever;
        self.push(HubOutput::Event(Event::GuardStep { step, connection, session, what }));
    }
}
