//! What a connection may send. It is charged for each frame before the frame goes anywhere. A sender that is
//! ahead of its budget is read later, never refused; one that gets far ahead is closed.

use std::time::Duration;

use crate::budget::{Budget, Rate};
use crate::event::{Offence, Step};
use crate::time::Time;

/// What a connection sent is charged to its address in portions: looking an address up for every
/// message would cost more than the message.
const PORTION_MESSAGES: u32 = 32;
const PORTION_BYTES: u32 = 16 << 10;
pub(crate) const PORTION: (u32, u32) = (PORTION_MESSAGES, PORTION_BYTES);

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

/// What every connection may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendLimits {
    pub messages: Rate,
    pub bytes: Rate,
    /// A sender that gets ahead of its budget by half of this time within this time is closed. Zero: never.
    pub sever_after: Duration,
}

/// What a connection has sent, and how far its guard has gone.
#[derive(Default)]
pub(crate) struct SendBudget {
    messages: Budget,
    bytes: Budget,
    /// How far the guard has gone; none while the sender is at rest.
    step: Option<Step>,
    /// How far it was over its burst when that was last looked at; none while it is at rest.
    above: Option<Duration>,
    /// Its client was told to wait because of its own budget, since it last was at rest.
    is_told: bool,
    /// The same because of its address's budget.
    is_address_told: bool,
    /// Messages and bytes that are not charged to its address yet.
    portion: (u32, u32),
}

/// What one frame did to its sender's budget.
pub(crate) struct Charged {
    /// How far the sender is ahead of its burst; none while it is within.
    pub over: Option<Duration>,
    /// It is ahead for the first time since it was at rest.
    pub is_first: bool,
    /// Which budget is spent further.
    pub what: Offence,
    /// How far the guard has gone with this frame, if it has gone further.
    pub step: Option<Step>,
    /// What becomes of the deadline after which the sender is looked at again.
    pub watch: Watch,
}

/// Whether a sender that is ahead must be looked at again after `sever_after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Watch {
    /// Set the deadline to `sever_after` from now.
    Begin,
    /// Drop the deadline: the sender has rested.
    End,
    /// Leave the deadline, or its absence, as it is.
    Unchanged,
}

/// What a look at a sender that was ahead shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pressure {
    /// It gets ahead so fast that it is closed.
    Flood,
    /// It is still ahead, and looked at again.
    Ahead,
    /// It is not ahead any more.
    Rest,
}

impl SendBudget {
    /// Charges messages and bytes.
    pub(crate) fn charge(
        &mut self,
        now: Time,
        (messages, bytes): (u32, u32),
        limits: SendLimits,
    ) -> Charged {
        let over_messages = self.messages.spend(now, messages, limits.messages);
        let over_bytes = self.bytes.spend(now, bytes, limits.bytes);
        let over = over_messages.max(over_bytes);
        let spent_messages = self.messages.quarters(now, limits.messages);
        let spent_bytes = self.bytes.quarters(now, limits.bytes);
        let spent = spent_messages.max(spent_bytes);
        let is_bytes = (over_bytes, spent_bytes) > (over_messages, spent_messages);
        let what = if is_bytes { Offence::Bytes } else { Offence::Messages };
        let step = match (over, spent) {
            (Some(_), _) => Some(Step::Throttle),
            (None, 2..) => self.step.max(Some(Step::Warn)),
            (None, 1) => self.step,
            (None, _) => None,
        };
        let watch = self.watch(over.is_some(), spent, limits.sever_after);
        self.portion.0 += messages;
        self.portion.1 = self.portion.1.saturating_add(bytes);
        let before = std::mem::replace(&mut self.step, step);
        let was_told = self.is_told && step.is_some();
        self.is_told = was_told || over.is_some();
        Charged { over, is_first: !was_told, what, step: step.filter(|_| step > before), watch }
    }

    fn watch(&mut self, is_over: bool, spent: u64, sever_after: Duration) -> Watch {
        // A sender that presses is at the edge whenever it is read again; this one has paused.
        if !is_over && spent <= 2 && self.above.take().is_some() {
            return Watch::End;
        }
        if is_over && self.above.is_none() && !sever_after.is_zero() {
            self.above = Some(Duration::ZERO);
            return Watch::Begin;
        }
        Watch::Unchanged
    }

    /// Looks at a sender that was ahead `sever_after` ago. One that is only a little faster than it may be is
    /// delayed for as long as it likes; one that got ahead by half of that time or more, at one and a half
    /// times its rate, is a flood.
    pub(crate) fn look(&mut self, now: Time, limits: SendLimits) -> Pressure {
        let Some(before) = self.above else { return Pressure::Rest };
        let over = self.over(now, limits);
        let quarters = self.messages.quarters(now, limits.messages);
        let spent = quarters.max(self.bytes.quarters(now, limits.bytes));
        if over.saturating_sub(before) >= limits.sever_after / 2 {
            Pressure::Flood
        } else if spent <= 2 {
            self.above = None;
            Pressure::Rest
        } else {
            self.above = Some(over);
            Pressure::Ahead
        }
    }

    /// How far the sender is ahead of its burst.
    pub(crate) fn over(&self, now: Time, limits: SendLimits) -> Duration {
        self.messages.over(now, limits.messages).max(self.bytes.over(now, limits.bytes))
    }

    /// How long a sender that is closed for a flood is asked to stay away: until nothing is spent, and no
    /// longer than a whole burst takes to come back.
    pub(crate) fn rest(&self, now: Time, limits: SendLimits) -> Duration {
        let burst =
            |rate: Rate| Duration::from_secs(u64::from(rate.burst)) / rate.per_second.max(1);
        let rest = self.messages.until_full(now).max(self.bytes.until_full(now));
        rest.min(burst(limits.messages).max(burst(limits.bytes)))
    }

    /// Takes what is to be charged to the address, once it is a portion.
    pub(crate) fn take_portion(&mut self) -> Option<(u32, u32)> {
        let (messages, bytes) = self.portion;
        let is_due = messages >= PORTION_MESSAGES || bytes >= PORTION_BYTES;
        is_due.then(|| std::mem::take(&mut self.portion))
    }

    /// The address makes the sender wait, or does not. True: its client was not told so before.
    pub(crate) fn address_waits(&mut self, waits: bool) -> bool {
        !std::mem::replace(&mut self.is_address_told, waits)
    }

    /// Takes over what the session's player has spent on other connections.
    pub(crate) fn inherit(&mut self, spent: Spent) {
        self.messages = self.messages.max(spent.messages);
        self.bytes = self.bytes.max(spent.bytes);
    }

    /// What the session's player has spent, here and before.
    pub(crate) fn spent(&self) -> Spent {
        Spent { messages: self.messages, bytes: self.bytes, ..Spent::default() }
    }
}

#[cfg(test)]
mod tests {
    //! A sender within its budget is never looked at; one that is a little ahead is delayed and not closed.
    use super::*;

    const LIMITS: SendLimits = SendLimits {
        messages: Rate { per_second: 10, burst: 20 },
        bytes: Rate { per_second: 0, burst: 0 },
        sever_after: Duration::from_secs(4),
    };

    /// Sends so many messages a second, in steps of 50 ms, and looks whenever a look is due.
    fn send(per_second: u64, seconds: u64) -> Option<Pressure> {
        let (mut budget, mut due, mut last) = (SendBudget::default(), None, None);
        for step in 0..seconds * 20 {
            let now = Time::from_millis(step * 50);
            if due.is_some_and(|at| at <= now) {
                last = Some(budget.look(now, LIMITS));
                due = (last == Some(Pressure::Ahead)).then(|| now.after(LIMITS.sever_after));
            }
            for _ in 0..(step + 1) * per_second / 20 - step * per_second / 20 {
                match budget.charge(now, (1, 10), LIMITS).watch {
                    Watch::Begin => due = Some(now.after(LIMITS.sever_after)),
                    Watch::End => due = None,
                    Watch::Unchanged => {}
                }
            }
            if last == Some(Pressure::Flood) {
                break;
            }
        }
        last
    }

    #[test]
    fn a_sender_at_its_rate_is_never_ahead_and_one_at_ten_times_floods() {
        assert_eq!(send(10, 60), None);
        assert_eq!(send(11, 60), Some(Pressure::Ahead));
        assert_eq!(send(100, 60), Some(Pressure::Flood));
    }

    #[test]
    fn each_step_of_the_guard_is_reported_once_until_the_sender_rests() {
        let mut budget = SendBudget::default();
        let charged: Vec<Charged> =
            (0..25).map(|_| budget.charge(Time::ZERO, (1, 1), LIMITS)).collect();
        let steps: Vec<Step> = charged.iter().filter_map(|charged| charged.step).collect();
        assert_eq!(steps, [Step::Warn, Step::Throttle]);
        let firsts = charged.iter().filter(|charged| charged.over.is_some() && charged.is_first);
        assert_eq!(firsts.count(), 1);
        let rested = budget.charge(Time::from_millis(60_000), (1, 1), LIMITS);
        assert_eq!((rested.over, rested.step, rested.watch), (None, None, Watch::End));
        assert!(rested.is_first);
    }

    #[test]
    fn a_portion_is_taken_once() {
        let mut budget = SendBudget::default();
        for _ in 0..PORTION_MESSAGES - 1 {
            budget.charge(Time::ZERO, (1, 1), LIMITS);
        }
        assert_eq!(budget.take_portion(), None);
        budget.charge(Time::ZERO, (1, 1), LIMITS);
        assert_eq!(budget.take_portion(), Some((PORTION_MESSAGES, PORTION_MESSAGES)));
        assert_eq!(budget.take_portion(), None);
    }
}
