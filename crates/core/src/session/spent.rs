//! What a session's player has spent of its budgets, from connection to connection.

use std::time::Duration;

use super::{SessionContext, SessionCore};
use crate::connection::{PORTION, Spent};

impl SessionCore {
    /// The player comes back: how often may it do that? If not now, the wait.
    pub(super) fn return_ration(&mut self, cx: &SessionContext<'_>) -> Option<Duration> {
        let rate = cx.config.guard.session_resumes;
        self.spent.resumes.try_spend(cx.at.real, 1, rate, 0).err()
    }

    /// What its player has spent: another connection, or another session, is no new budget. What a live
    /// connection has sent since it last said so is less than a portion.
    pub(crate) fn spent_with_portion(&self, cx: &SessionContext<'_>) -> Spent {
        let mut spent = self.spent;
        if self.attached().is_some() {
            let (messages, bytes) = PORTION;
            spent.messages.spend(cx.at.real, messages, cx.config.messages);
            spent.bytes.spend(cx.at.real, bytes, cx.config.bytes);
        }
        spent
    }

    /// Its connection says what was spent so far.
    pub(crate) fn take_in_spent(&mut self, spent: Spent) {
        self.spent.take_in(spent);
    }

    /// Whether its connection is read more slowly than it sends. What it acknowledges waits behind what it
    /// sends, so that it cannot be called slow.
    pub(super) fn is_throttled(&self, cx: &SessionContext<'_>) -> bool {
        let messages = self.spent.messages.over(cx.at.real, cx.config.messages);
        !messages.max(self.spent.bytes.over(cx.at.real, cx.config.bytes)).is_zero()
    }
}
