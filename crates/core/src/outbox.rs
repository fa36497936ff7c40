//! What a session still owes its client outside the open zone: the unacknowledged rest of earlier
//! legs, and the session's own leg while it is in no zone. Bounded; what it must forget it names,
//! so that the ladder can say so instead of lying.
//!
//! It is a chain of stretches, one a leg, oldest first. A client can go on from a position only if
//! the chain holds everything after it.

use std::collections::VecDeque;

use rejoin_wire::SharedFrame;

use crate::id::Leg;
use crate::mark::{Mark, hit};

/// A numbered frame that is kept until it is acknowledged.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number in its leg.
    pub seq: u64,
    /// The encoded frame, shared with whoever else keeps it.
    pub frame: SharedFrame,
}

/// The kept end of one leg.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Which leg.
    pub leg: Leg,
    /// Everything of the leg after this number is in `kept`.
    pub from: u64,
    /// The last number the leg gave to this session.
    pub last: u64,
    /// In the order of their numbers.
    pub kept: VecDeque<Kept>,
}

impl Stretch {
    /// A leg of which nothing has been said yet.
    #[must_use]
    pub fn open(leg: Leg) -> Self {
        Self { leg, from: 0, last: 0, kept: VecDeque::new() }
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.frame.len()).sum()
    }
}

/// How much an outbox may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxLimits {
    /// Frames in all stretches together.
    pub frames_max: usize,
    /// Their encoded bytes.
    pub bytes_max: usize,
    /// Legs that are remembered.
    pub legs_max: usize,
}

/// The chain of stretches.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    stretches: VecDeque<Stretch>,
}

impl Outbox {
    /// Appends the end of a leg. False: something had to be forgotten to make room.
    pub fn append(&mut self, stretch: Stretch, limits: OutboxLimits) -> bool {
        // Mostly there is one: no room is taken in advance.
        self.stretches.reserve_exact(1);
        self.stretches.push_back(stretch);
        self.shrink(limits)
    }

    /// Keeps one more frame of the newest leg. False: something had to be forgotten.
    pub fn keep(&mut self, kept: Kept, limits: OutboxLimits) -> bool {
        if let Some(open) = self.stretches.back_mut() {
            open.last = kept.seq;
            open.kept.push_back(kept);
        }
        self.shrink(limits)
    }

    /// The client has everything up to here. False: this was never said to it.
    pub fn acknowledge(&mut self, leg: Leg, seq: u64) -> bool {
        let Some(index) = self.stretches.iter().position(|stretch| stretch.leg == leg) else {
            // An older leg has been acknowledged already; a newer one is not ours to judge.
            return self.stretches.back().is_none_or(|newest| leg <= newest.leg);
        };
        if self.stretches[index].last < seq {
            return false;
        }
        self.stretches.drain(..index);
        if let Some(stretch) = self.stretches.front_mut() {
            while stretch.kept.front().is_some_and(|kept| kept.seq <= seq) {
                stretch.kept.pop_front();
            }
            stretch.from = stretch.from.max(seq);
        }
        true
    }

    /// Everything after a position, if all of it is here.
    #[must_use]
    pub fn after(&self, leg: Leg, seq: u64) -> Option<Vec<SharedFrame>> {
        let index = self.stretches.iter().position(|stretch| stretch.leg == leg)?;
        let first = &self.stretches[index];
        let broken = self.stretches.iter().skip(index + 1).any(|later| later.from > 0);
        if seq < first.from || seq > first.last || broken {
            return None;
        }
        let rest = first.kept.iter().filter(|kept| kept.seq > seq);
        let later = self.stretches.iter().skip(index + 1).flat_map(|stretch| &stretch.kept);
        Some(rest.chain(later).map(|kept| kept.frame.clone()).collect())
    }

    /// Forgets everything: the client has been given the whole state, or is in a later leg.
    pub fn clear(&mut self) {
        self.stretches.clear();
    }

    /// The newest leg's stretch.
    #[must_use]
    pub fn newest(&self) -> Option<&Stretch> {
        self.stretches.back()
    }

    /// All stretches, oldest first.
    pub fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter()
    }

    /// Whether anything is owed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stretches.iter().all(|stretch| stretch.kept.is_empty())
    }

    /// Gives back spare memory; for sessions that will rest a while.
    pub fn rest(&mut self) {
        self.stretches.shrink_to_fit();
    }

    fn shrink(&mut self, limits: OutboxLimits) -> bool {
        let mut whole = true;
        while self.stretches.len() > limits.legs_max {
            whole &= self.stretches.front().is_none_or(|oldest| oldest.kept.is_empty());
            self.stretches.pop_front();
        }
        let mut frames: usize = self.stretches.iter().map(|stretch| stretch.kept.len()).sum();
        let mut bytes: usize = self.stretches.iter().map(Stretch::bytes).sum();
        while frames > limits.frames_max || bytes > limits.bytes_max {
            let Some(oldest) = self.stretches.front_mut() else { break };
            match oldest.kept.pop_front() {
                Some(kept) => {
                    hit(Mark::SessionOutboxEvicted);
                    oldest.from = kept.seq;
                    frames -= 1;
                    bytes -= kept.frame.len();
                    whole = false;
                }
                None => drop(self.stretches.pop_front()),
            }
        }
        whole
    }
}
