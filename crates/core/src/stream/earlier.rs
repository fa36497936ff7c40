//! What a session still owes its client outside the open zone: the unacknowledged rest of earlier
//! legs, and the session's own leg while it is in no zone. Bounded; what it must forget it names,
//! so that the ladder can say so instead of lying.
//!
//! It is a chain of tails, one a leg, oldest first. A client can go on from a position only if
//! the chain holds everything after it.

use std::collections::VecDeque;

use rejoin_wire::SharedFrame;

use super::{Kept, Tail};
use crate::id::Leg;
use crate::mark::{Mark, hit};

/// How much an outbox may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxLimits {
    /// Frames in all tails together.
    pub frames_max: usize,
    /// Their encoded bytes.
    pub bytes_max: usize,
    /// Legs that are remembered.
    pub legs_max: usize,
}

/// The chain of tails, and how it differs from its rows.
#[derive(Clone, Debug, Default)]
pub struct EarlierLegs {
    tails: VecDeque<Tail>,
    /// Frames in all tails together, and their bytes.
    frames: usize,
    bytes: usize,
    /// So many of the newest frames have no row yet.
    unstored: usize,
    unsaved: Unsaved,
}

/// What must be written so that the rows are as the outbox is, besides the newest frames.
#[derive(Clone, Debug, Default)]
pub struct Unsaved {
    /// No row of a frame counts any more; those of `gone` are among them.
    pub is_cleared: bool,
    /// Frames that have a row and are not kept any more.
    pub gone: Vec<(Leg, u64)>,
    /// Tailes have come, gone or moved on.
    pub has_moved: bool,
}

impl EarlierLegs {
    /// An outbox as it was stored; `has_rows`: each of its frames has a row of its own.
    #[must_use]
    pub fn restored(tails: VecDeque<Tail>, has_rows: bool, limits: OutboxLimits) -> Self {
        let frames = tails.iter().map(|tail| tail.kept.len()).sum();
        let kept = tails.iter().flat_map(|tail| &tail.kept);
        let bytes = kept.map(|kept| kept.frame.len()).sum();
        let unstored = if has_rows { 0 } else { frames };
        let unsaved = Unsaved { has_moved: !has_rows, ..Unsaved::default() };
        let mut outbox = Self { tails, frames, bytes, unstored, unsaved };
        outbox.shrink(limits);
        outbox
    }

    /// Appends the end of a leg. False: something had to be forgotten to make room.
    pub fn append(&mut self, tail: Tail, limits: OutboxLimits) -> bool {
        self.frames += tail.kept.len();
        self.unstored += tail.kept.len();
        self.bytes += tail.kept.iter().map(|kept| kept.frame.len()).sum::<usize>();
        self.unsaved.has_moved = true;
        // Mostly there is one: no room is taken in advance.
        self.tails.reserve_exact(1);
        self.tails.push_back(tail);
        self.shrink(limits)
    }

    /// Keeps one more frame of the newest leg. False: something had to be forgotten.
    pub fn keep(&mut self, kept: Kept, limits: OutboxLimits) -> bool {
        if let Some(open) = self.tails.back_mut() {
            self.frames += 1;
            self.unstored += 1;
            self.bytes += kept.frame.len();
            self.unsaved.has_moved = true;
            open.last = kept.seq;
            open.kept.push_back(kept);
        }
        self.shrink(limits)
    }

    /// The client has everything up to here. False: this was never said to it.
    pub fn acknowledge(&mut self, leg: Leg, seq: u64) -> bool {
        let Some(index) = self.tails.iter().position(|tail| tail.leg == leg) else {
            // An older leg has been acknowledged already; a newer one is not ours to judge.
            return self.tails.back().is_none_or(|newest| leg <= newest.leg);
        };
        if self.tails[index].last < seq {
            return false;
        }
        for _ in 0..index {
            self.drop_oldest();
        }
        while self.first().is_some_and(|(_, first)| first <= seq) {
            self.forget_first();
        }
        if let Some(tail) = self.tails.front_mut()
            && tail.from < seq
        {
            tail.from = seq;
            self.unsaved.has_moved = true;
        }
        true
    }

    /// Everything after a position, if all of it is here.
    #[must_use]
    pub fn after(&self, leg: Leg, seq: u64) -> Option<Vec<SharedFrame>> {
        let index = self.tails.iter().position(|tail| tail.leg == leg)?;
        let first = &self.tails[index];
        let broken = self.tails.iter().skip(index + 1).any(|later| later.from > 0);
        if seq < first.from || seq > first.last || broken {
            return None;
        }
        let rest = first.kept.iter().filter(|kept| kept.seq > seq);
        let later = self.tails.iter().skip(index + 1).flat_map(|tail| &tail.kept);
        Some(rest.chain(later).map(|kept| kept.frame.clone()).collect())
    }

    /// Forgets everything: the client has been given the whole state, or is in a later leg.
    pub fn clear(&mut self) {
        let stored = self.frames - self.unstored;
        if stored > 0 || !self.unsaved.gone.is_empty() {
            self.unsaved.is_cleared = true;
            self.unsaved.gone = Vec::new();
        }
        self.unsaved.has_moved |= !self.tails.is_empty();
        self.tails.clear();
        (self.frames, self.bytes, self.unstored) = (0, 0, 0);
    }

    /// The newest leg's tail.
    #[must_use]
    pub fn newest(&self) -> Option<&Tail> {
        self.tails.back()
    }

    /// All tails, oldest first.
    pub fn tails(&self) -> impl Iterator<Item = &Tail> {
        self.tails.iter()
    }

    /// How many frames are owed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames
    }

    /// Whether anything is owed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Frames that have no row yet, newest first.
    pub fn unstored(&self) -> impl Iterator<Item = (Leg, &Kept)> {
        let newest_first = self.tails.iter().rev();
        let kept = newest_first.flat_map(|s| s.kept.iter().rev().map(|kept| (s.leg, kept)));
        kept.take(self.unstored)
    }

    /// All that differs from the rows is on its way to the store.
    pub fn mark_stored(&mut self) -> Unsaved {
        self.unstored = 0;
        std::mem::take(&mut self.unsaved)
    }

    /// Gives back spare memory; for sessions that will rest a while.
    pub fn rest(&mut self) {
        self.tails.shrink_to_fit();
    }

    fn first(&self) -> Option<(Leg, u64)> {
        let tail = self.tails.front()?;
        tail.kept.front().map(|kept| (tail.leg, kept.seq))
    }

    /// Forgets the oldest frame of the oldest tail, if that has any.
    fn forget_first(&mut self) -> Option<u64> {
        let tail = self.tails.front_mut()?;
        let kept = tail.kept.pop_front()?;
        if self.frames > self.unstored {
            self.unsaved.gone.push((tail.leg, kept.seq));
        } else {
            self.unstored -= 1;
        }
        self.frames -= 1;
        self.bytes -= kept.frame.len();
        self.unsaved.has_moved = true;
        Some(kept.seq)
    }

    /// Forgets the oldest tail. False: its client had not had all of it.
    fn drop_oldest(&mut self) -> bool {
        let mut was_whole = true;
        while self.forget_first().is_some() {
            was_whole = false;
        }
        self.unsaved.has_moved = true;
        self.tails.pop_front();
        was_whole
    }

    fn shrink(&mut self, limits: OutboxLimits) -> bool {
        let mut whole = true;
        while self.tails.len() > limits.legs_max {
            whole &= self.drop_oldest();
        }
        while self.frames > limits.frames_max || self.bytes > limits.bytes_max {
            match self.forget_first() {
                Some(seq) => {
                    hit(Mark::SessionOutboxEvicted);
                    whole = false;
                    if let Some(oldest) = self.tails.front_mut() {
                        oldest.from = seq;
                    }
                }
                None if self.tails.is_empty() => break,
                None => drop(self.tails.pop_front()),
            }
        }
        whole
    }
}
