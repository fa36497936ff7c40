//! The zone's memory of what it said to several members at once. Each entry is kept once, with its
//! recipients fixed when the step ran, until everybody who was meant has acknowledged it or the
//! ring is full. What was said to one member alone is not here but in that member's outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rejoin_wire::SharedFrame;

use crate::id::SessionId;

/// Who hears an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Recipients {
    /// Everybody who was a member then.
    All,
    /// Everybody but one.
    Except(SessionId),
    /// These, in the order of their ids.
    Only(Arc<[SessionId]>),
}

impl Recipients {
    /// Whether a member of that moment is meant.
    #[must_use]
    pub(crate) fn contains(&self, session: SessionId) -> bool {
        match self {
            Self::All => true,
            Self::Except(other) => *other != session,
            Self::Only(sessions) => sessions.binary_search(&session).is_ok(),
        }
    }
}

/// One thing said.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its number in the zone's stream, higher than that of every earlier entry.
    pub seq: u64,
    /// The members it is for, fixed when the step ran; none is added later.
    pub to: Recipients,
    /// Whose message caused it; the share of the ring is counted against this session.
    pub cause: Option<SessionId>,
    /// The encoded frame.
    pub frame: SharedFrame,
}

/// The entries, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    entries: VecDeque<Entry>,
    bytes: usize,
    by_cause: BTreeMap<SessionId, usize>,
}

impl Ring {
    /// Remembers an entry; its number is higher than all before.
    pub(crate) fn push(&mut self, entry: Entry) {
        debug_assert!(self.entries.back().is_none_or(|last| last.seq < entry.seq));
        self.bytes += entry.frame.len();
        if let Some(cause) = entry.cause {
            *self.by_cause.entry(cause).or_default() += entry.frame.len();
        }
        self.entries.push_back(entry);
    }

    /// Forgets the oldest entry and gives it back.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.frame.len();
        if let Some(cause) = entry.cause
            && let Some(bytes) = self.by_cause.get_mut(&cause)
        {
            *bytes -= entry.frame.len();
            if *bytes == 0 {
                self.by_cause.remove(&cause);
            }
        }
        Some(entry)
    }

    /// Forgets everything up to a number that all readers have.
    pub(crate) fn trim(&mut self, acknowledged: u64) {
        while self.entries.front().is_some_and(|entry| entry.seq <= acknowledged) {
            self.pop();
        }
    }

    /// Entries after a number.
    pub(crate) fn after(&self, seq: u64) -> impl Iterator<Item = &Entry> {
        let start = self.entries.partition_point(|entry| entry.seq <= seq);
        self.entries.range(start..)
    }

    /// How many bytes are kept.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes are kept because of this session.
    #[must_use]
    pub(crate) fn bytes_of(&self, cause: SessionId) -> usize {
        self.by_cause.get(&cause).copied().unwrap_or_default()
    }

    /// How many entries are kept.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number below which nothing is kept.
    #[must_use]
    pub(crate) fn floor(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.seq)
    }
}
