//! What a place has consumed of one client's stream. Numbers are contiguous; each is consumed exactly once.

use crate::mark::{Mark, hit};

/// How far a client's stream is consumed, and what the client knows of that.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Inbound {
    /// The highest number consumed.
    applied: u64,
    /// The highest number that the client has been told is consumed, or will be with the next commit.
    acked: u64,
    /// Numbers that were consumed, acknowledged, and then lost with a stream that rolled back.
    lost: u64,
    /// The number up to which `lost` counts.
    lost_through: u64,
    /// A number came while one before it was missing, and the missing one has not come since.
    is_behind: bool,
    /// Numbers that made the zone panic: they are consumed without being applied. There are hardly ever any.
    poisoned: Box<[u64]>,
}

/// What a number is to the place that receives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// The one that was expected. It counts as consumed from here on; one that is poisoned is to be refused.
    Next { is_poisoned: bool },
    /// It has been consumed before.
    Duplicate,
    /// Numbers before it are missing, and this is the first that shows it.
    Ahead { is_first: bool },
}

/// How a stream goes on for a client that returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Continued {
    /// Numbers that its Welcome has to name as lost.
    pub lost: u64,
    /// Some of them were missing here until now.
    pub is_behind: bool,
}

impl Inbound {
    /// A stream of which everything up to `applied` is consumed, and the client knows that.
    pub(crate) fn after(applied: u64) -> Self {
        Self { applied, acked: applied, ..Self::default() }
    }

    /// Another place has consumed the stream up to here, and has told the client so.
    pub(crate) fn take_back(&mut self, applied: u64) {
        (self.applied, self.acked) = (applied, applied);
        self.is_behind = false;
        self.poisoned = Box::default();
    }

    /// Takes a number. It is consumed before its effects run: they may part the sender, and what that takes
    /// along must count this number.
    pub(crate) fn receive(&mut self, seq: u64) -> Arrival {
        if seq <= self.applied {
            hit(Mark::DuplicateUp);
            return Arrival::Duplicate;
        }
        if seq != self.applied.saturating_add(1) {
            let is_first = !std::mem::replace(&mut self.is_behind, true);
            return Arrival::Ahead { is_first };
        }
        self.applied = seq;
        self.is_behind = false;
        let is_poisoned = self.poisoned.contains(&seq);
        if is_poisoned {
            self.poisoned = self.poisoned.iter().copied().filter(|number| *number > seq).collect();
        }
        Arrival::Next { is_poisoned }
    }

    /// A client returns that has forgotten everything below `oldest_unacked` (0: a login found the session, so
    /// its client has no numbers yet), and that has been told before what was lost up to `known`. The stream
    /// goes on where the client does. Lost numbers are named in each Welcome until the client has shown
    /// that it had one, and never again after that.
    pub(crate) fn continue_at(&mut self, oldest_unacked: u64, known: u64) -> Continued {
        let continued = self.jump(oldest_unacked, known);
        self.acked = self.applied;
        self.is_behind = false;
        continued
    }

    fn jump(&mut self, oldest_unacked: u64, known: u64) -> Continued {
        if oldest_unacked == 0 {
            return Continued { lost: 0, is_behind: false };
        }
        if known >= self.lost_through {
            self.lost = 0;
        }
        let expected = oldest_unacked.saturating_sub(1);
        let is_behind = expected > self.applied;
        if is_behind {
            hit(Mark::LostUpstream);
            self.lost += expected.saturating_sub(known.max(self.applied));
            self.lost_through = expected;
            self.applied = expected;
        }
        Continued { lost: self.lost, is_behind }
    }

    /// Notes that the client is about to be told how far its stream is consumed; gives that number.
    pub(crate) fn acknowledge(&mut self) -> u64 {
        self.acked = self.applied;
        self.applied
    }

    /// A number that is to be refused when it comes.
    pub(crate) fn poison(&mut self, seq: u64) {
        self.poisoned = self.poisoned.iter().copied().chain([seq]).collect();
    }

    /// The highest number consumed.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// How many numbers are consumed that the client has not been told of.
    pub(crate) fn unacked(&self) -> u64 {
        self.applied.saturating_sub(self.acked)
    }

    /// Numbers that are to be refused when they come.
    pub(crate) fn poisoned(&self) -> &[u64] {
        &self.poisoned
    }
}
