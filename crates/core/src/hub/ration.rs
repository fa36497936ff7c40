//! Rations at the hub: what an address and a player may do beyond one connection, and how fast
//! everybody together is let in. Resumes go before logins: they are cheap, and their holds run.
//! Who is told to wait does not lose its session by that.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Hello, Resume, hello};

use super::connection::{Connection, Phase};
use super::deadline::Alarm;
use super::{Hub, HubOutput};
use crate::budget::{Budget, Rate};
use crate::event::{Event, Offence, Step};
use crate::guard::{Addresses, Rest};
use crate::id::{ConnectionId, SessionId};
use crate::mark::{Mark, hit};
use crate::secret::Secret;
use crate::session::Presence;
use crate::session::token::Presented;
use crate::time::{Time, micros, millis_u32};

/// What the hub knows of an address.
#[derive(Default)]
pub(crate) struct Conduct {
    logins: Budget,
    resumes: Budget,
    failures: Budget,
    violations: Budget,
    messages: Budget,
    bytes: Budget,
}

impl Rest for Conduct {
    fn is_at_rest(&self, now: Time) -> bool {
        let budgets = [self.logins, self.resumes, self.failures, self.violations];
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

/// The rations of everybody.
pub(crate) struct Rations {
    addresses: Addresses<Conduct>,
    /// How fast everybody together is let in.
    arrivals: Budget,
    /// Who was told to come later since the last calm.
    turned_away: u32,
}

impl Rations {
    pub(crate) fn new(addresses_max: usize) -> Self {
        let addresses = Addresses::new(addresses_max);
        Self { addresses, arrivals: Budget::default(), turned_away: 0 }
    }
}

/// What a connection sent is charged to its address in portions: looking an address up for every
/// message would cost more than the message.
const PORTION_MESSAGES: u32 = 32;
const PORTION_BYTES: u32 = 16 << 10;
/// However many were turned away, nobody is told to wait longer.
const SPREAD_MAX: Duration = Duration::from_secs(30);

impl Hub {
    /// Whether a hello may be looked at now. If not, it has been answered.
    pub(crate) fn is_rationed(&mut self, now: Time, id: ConnectionId, hello: &Hello) -> bool {
        let resume = match &hello.purpose {
            Some(hello::Purpose::Resume(resume)) => Some(resume),
            _ => None,
        };
        let refused = self.address_ration(now, id, resume.is_some());
        if let Some((what, wait)) = refused {
            hit(match what {
                Offence::Resumes => Mark::ResumesRationed,
                Offence::Failures => Mark::FailuresRationed,
                _ => Mark::LoginsRationed,
            });
            self.tell_step(id, None, what);
            self.send_away(now, id, resume, CloseCode::Flooded, wait);
            return true;
        }
        if let Err(wait) = self.arrive(now, resume.is_some()) {
            hit(Mark::Paced);
            self.send_away(now, id, resume, CloseCode::NotReady, wait);
            return true;
        }
        false
    }

    fn address_ration(
        &mut self,
        now: Time,
        id: ConnectionId,
        is_resume: bool,
    ) -> Option<(Offence, Duration)> {
        let guard = self.config.guard;
        let origin = self.connections.get(&id)?.origin?;
        let (conduct, _) = self.rations.addresses.record(now, origin);
        if let Some(wait) = conduct.failures.used_up(now, guard.address_failures)
            && !is_resume
        {
            return Some((Offence::Failures, wait));
        }
        let (budget, rate, what) = match is_resume {
            true => (&mut conduct.resumes, guard.address_resumes, Offence::Resumes),
            false => (&mut conduct.logins, guard.address_logins, Offence::Logins),
        };
        budget.try_spend(now, 1, rate, 0).err().map(|wait| (what, wait))
    }

    /// Everybody together comes in at a pace; logins leave half of it to those who come back.
    fn arrive(&mut self, now: Time, is_resume: bool) -> Result<(), Duration> {
        let pace = self.config.returns_per_second;
        let rate = Rate { per_second: pace, burst: pace.saturating_mul(2) };
        let reserve = if is_resume { 0 } else { pace };
        if self.rations.arrivals.is_full(now) {
            self.rations.turned_away = 0;
        }
        self.rations.arrivals.try_spend(now, 1, rate, reserve).map_err(|wait| {
            self.rations.turned_away = self.rations.turned_away.saturating_add(1);
            let all = Duration::from_secs(1) * self.rations.turned_away / pace.max(1);
            let spread = all.max(self.config.retry_after).min(SPREAD_MAX);
            wait + Duration::from_micros(self.chance.below(micros(spread)))
        })
    }

    /// Refuses a hello for now. A session whose token it shows is held so much longer: its player is
    /// here, and was told to wait.
    pub(crate) fn send_away(
        &mut self,
        now: Time,
        id: ConnectionId,
        resume: Option<&Resume>,
        code: CloseCode,
        wait: Duration,
    ) {
        let wait = wait.max(self.config.retry_after);
        if let Some(resume) = resume {
            self.hold_longer(now, resume, wait);
        }
        self.refuse_until(id, code, "too many at once; come again", millis_u32(wait));
    }

    fn hold_longer(&mut self, now: Time, resume: &Resume, wait: Duration) {
        let id = SessionId(resume.session);
        let hold = Duration::from_millis(u64::from(self.hold_ms(id)));
        let (Some(token), Some(session)) =
            (Secret::from_slice(&resume.token), self.sessions.get_mut(&id))
        else {
            return;
        };
        if let Presence::Away(Some(until)) = session.presence
            && matches!(session.tokens.present(&token), Presented::Valid(_))
        {
            // What is left of the hold stands still for as long as the player was told to wait. It
            // is never more than a whole hold from then, however often this happens.
            let rest = until.since(now).min(hold);
            session.presence = Presence::Away(Some(until.max(now.after(rest + wait))));
        }
    }

    /// A player that has proven itself comes back: how often may it do that? If not now, the wait.
    pub(crate) fn return_ration(&mut self, now: Time, id: SessionId) -> Option<Duration> {
        let rate = self.config.guard.address_resumes;
        let session = self.sessions.get_mut(&id)?;
        session.spent.resumes.try_spend(now, 1, rate, 0).err()
    }

    /// A login or resume proved wrong; the wait if that had happened too often before.
    pub(crate) fn count_failure(&mut self, now: Time, id: ConnectionId) -> Option<Duration> {
        let quota = self.config.guard.address_failures;
        let origin = self.connections.get(&id)?.origin?;
        let (conduct, _) = self.rations.addresses.record(now, origin);
        let before = conduct.failures.used_up(now, quota);
        conduct.failures.count(now, quota);
        before
    }

    /// Wrong once more, and not told so any more. Whoever has a valid token still comes in: one who
    /// guesses must not keep its neighbours out.
    pub(crate) fn failed_too_often(&mut self, now: Time, id: ConnectionId, wait: Duration) {
        hit(Mark::FailuresRationed);
        self.tell_step(id, None, Offence::Failures);
        self.send_away(now, id, None, CloseCode::Flooded, wait);
    }

    /// A connection broke the rules; an address where that happens often is shut out for a while.
    pub(crate) fn count_violation(&mut self, now: Time, id: ConnectionId) {
        let quota = self.config.guard.address_violations;
        let Some(origin) = self.connections.get(&id).and_then(|known| known.origin) else { return };
        let (conduct, _) = self.rations.addresses.record(now, origin);
        if let Some(wait) = conduct.violations.count(now, quota) {
            hit(Mark::Barred);
            self.push(HubOutput::Bar { origin, wait });
        }
    }

    /// Charges what a connection has sent to its address, once it is a portion.
    pub(crate) fn charge_address(&mut self, now: Time, id: ConnectionId) -> Option<Duration> {
        let connection = self.connections.get_mut(&id)?;
        let (messages, bytes) = connection.portion;
        if messages < PORTION_MESSAGES && bytes < PORTION_BYTES {
            return None;
        }
        connection.portion = (0, 0);
        let guard = &self.config.guard;
        let (conduct, _) = self.rations.addresses.record(now, connection.origin?);
        let by_messages = conduct.messages.spend(now, messages, guard.address_messages);
        let by_bytes = conduct.bytes.spend(now, bytes, guard.address_bytes);
        by_messages.max(by_bytes)
    }

    /// A session's player returns more often than it may.
    pub(crate) fn returned_too_often(
        &mut self,
        now: Time,
        id: ConnectionId,
        resume: &Resume,
        wait: Duration,
    ) {
        hit(Mark::ResumesRationed);
        self.tell_step(id, Some(SessionId(resume.session)), Offence::Resumes);
        self.send_away(now, id, Some(resume), CloseCode::Flooded, wait);
    }

    /// What a session's player has spent. It stays with the session: another connection is no new
    /// budget.
    pub(crate) fn spent_of(&self, session: SessionId) -> Spent {
        let Some(session) = self.sessions.get(&session) else { return Spent::default() };
        let mut spent = session.spent;
        if let Some(live) = session.connection().and_then(|id| self.connections.get(&id)) {
            spent.messages = live.messages;
            spent.bytes = live.bytes;
        }
        spent
    }

    /// A connection is gone; what it has spent is kept.
    pub(crate) fn keep_spent(&mut self, session: SessionId, connection: &Connection) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.spent.messages = session.spent.messages.max(connection.messages);
            session.spent.bytes = session.spent.bytes.max(connection.bytes);
        }
    }

    /// A connection was over its budget so long ago; is it still? It may not have been read since: a
    /// flood can put it far into debt before it is slowed down.
    pub(crate) fn above_due(&mut self, now: Time, id: ConnectionId) {
        let sever_after = self.config.guard.sever_after;
        let (messages, bytes) = (self.config.messages, self.config.bytes);
        let Some(known) = self.connections.get_mut(&id) else { return };
        let Some(since) = known.above_since else { return };
        let rest = sever_after.saturating_sub(now.since(since));
        let spent = known.messages.quarters(now, messages).max(known.bytes.quarters(now, bytes));
        if !rest.is_zero() {
            known.due.above = self.alarms.set(now, rest, Alarm::Above(id));
        } else if spent <= 2 {
            known.above_since = None;
        } else if spent < 4 {
            // At the edge, just before it is read again: its next frame decides.
        } else if !matches!(known.phase, Phase::Fenced | Phase::Closing) {
            self.sever_flooder(now, id);
        }
    }

    /// The guard closes a connection that did not rest in time.
    pub(crate) fn sever_flooder(&mut self, now: Time, id: ConnectionId) {
        hit(Mark::Severed);
        let Some(known) = self.connections.get(&id) else { return };
        let (messages, bytes) = (self.config.messages, self.config.bytes);
        let rest = known.messages.until_full(now).max(known.bytes.until_full(now));
        let burst =
            |rate: Rate| Duration::from_secs(u64::from(rate.burst)) / rate.per_second.max(1);
        let wait = rest.min(burst(messages).max(burst(bytes))).max(self.config.retry_after);
        let speaks_for = known.session();
        self.tell_severed(id, CloseCode::Flooded);
        let text = "more than the budget for too long; nothing that was acknowledged is lost";
        self.close(id, CloseCode::Flooded, text, millis_u32(wait));
        if let Some((session, epoch)) = speaks_for {
            self.dropped(now, session, epoch, id, CloseCode::Flooded);
        }
    }

    fn tell_step(&mut self, id: ConnectionId, session: Option<SessionId>, what: Offence) {
        let (step, connection) = (Step::Sever, Some(id));
        self.push(HubOutput::Event(Event::GuardStep { step, connection, session, what }));
    }
}
