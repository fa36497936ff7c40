//! Open questions to one peer: `call` asks, the peer answers by number within a deadline, and the
//! asker always learns how it ended. Late and unknown answers change nothing and are counted.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::id::CallId;
use crate::time::Time;

/// One open call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// What the asker wants to be reminded of.
    pub key: Bytes,
    /// When it counts as unanswered.
    pub deadline: Time,
}

/// Why a call has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallFailed {
    /// The deadline passed.
    Timeout,
    /// The peer left the place that asked.
    Gone,
    /// The answer could not be read.
    BadPayload,
}

/// The open calls to one peer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    open: BTreeMap<CallId, OpenCall>,
    last: CallId,
}

impl Calls {
    /// Opens a call.
    pub fn open(&mut self, key: Bytes, deadline: Time) -> CallId {
        self.last = CallId(self.last.0.saturating_add(1));
        self.open.insert(self.last, OpenCall { key, deadline });
        self.last
    }

    /// The peer answered; none when no such call is open.
    pub fn answer(&mut self, call: CallId) -> Option<OpenCall> {
        self.open.remove(&call)
    }

    /// Calls whose deadline has come.
    pub fn expire(&mut self, now: Time) -> Vec<OpenCall> {
        let due: Vec<CallId> =
            self.open.iter().filter(|(_, call)| now >= call.deadline).map(|(id, _)| *id).collect();
        due.iter().filter_map(|id| self.open.remove(id)).collect()
    }

    /// All open calls, closing them.
    pub fn take_all(&mut self) -> Vec<OpenCall> {
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// The next deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.open.values().map(|call| call.deadline).min()
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Rows for the store: id, key, and what is left until the deadline in microseconds.
    pub fn rows(&self, now: Time) -> impl Iterator<Item = (CallId, &Bytes, u64)> {
        self.open
            .iter()
            .map(move |(id, call)| (*id, &call.key, call.deadline.0.saturating_sub(now.0)))
    }

    /// The number of the last call, which a rebuilt peer goes on from.
    #[must_use]
    pub fn last(&self) -> CallId {
        self.last
    }

    /// Rebuilds from rows.
    pub fn from_rows(
        now: Time,
        last: CallId,
        rows: impl Iterator<Item = (CallId, Bytes, u64)>,
    ) -> Self {
        let open = rows
            .map(|(id, key, rest)| {
                (id, OpenCall { key, deadline: Time(now.0.saturating_add(rest)) })
            })
            .collect();
        Self { open, last }
    }
}
