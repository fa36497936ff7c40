//! The unacknowledged ends of legs that are over, oldest first. Bounded; what must be forgotten is gone for
//! good, and a client that is still there is given the whole state instead.

use std::collections::VecDeque;

use rejoin_wire::SharedFrame;

use super::{Kept, Tail};
use crate::id::Leg;
use crate::mark::{Mark, hit};

/// How much may be kept for a session beside its zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxLimits {
    /// Frames of all legs together.
    pub frames_max: usize,
    /// Their encoded bytes.
    pub bytes_max: usize,
    /// Legs that are remembered, the open one included.
    pub legs_max: usize,
}

/// The ends of earlier legs. A client can go on from a position only if everything after it is here.
#[derive(Debug, Default)]
pub struct EarlierLegs {
    tails: VecDeque<Tail>,
    frames: usize,
    bytes: usize,
}

impl EarlierLegs {
    /// Appends the end of a leg that is newer than all before.
    pub(crate) fn append(&mut self, tail: Tail) {
        self.frames += tail.kept.len();
        self.bytes += tail.kept.iter().map(|kept| kept.frame.len()).sum::<usize>();
        // Mostly there is one: no room is taken in advance.
        self.tails.reserve_exact(1);
        self.tails.push_back(tail);
    }

    /// Forgets the oldest frames and legs until these limits hold, with `beside` frames and bytes of the
    /// open leg counted as well.
    pub(crate) fn shrink(&mut self, limits: OutboxLimits, beside: (usize, usize)) {
        while self.tails.len() >= limits.legs_max.max(1) {
            self.drop_oldest();
        }
        while self.frames + beside.0 > limits.frames_max || self.bytes + beside.1 > limits.bytes_max
        {
            match self.forget_first() {
                Some(seq) => {
                    hit(Mark::SessionOutboxEvicted);
                    if let Some(oldest) = self.tails.front_mut() {
                        oldest.from = seq;
                    }
                }
                None if self.tails.pop_front().is_none() => return,
                None => {}
            }
        }
    }

    /// The client has everything of a leg up to a number. False: the leg has no such number.
    pub(crate) fn acknowledge(&mut self, leg: Leg, seq: u64) -> bool {
        let Some(index) = self.tails.iter().position(|tail| tail.leg == leg) else {
            // It was acknowledged before, or forgotten.
            return true;
        };
        if self.tails[index].last < seq {
            return false;
        }
        for _ in 0..index {
            self.drop_oldest();
        }
        while self.first().is_some_and(|first| first <= seq) {
            self.forget_first();
        }
        if let Some(tail) = self.tails.front_mut() {
            tail.from = tail.from.max(seq);
        }
        true
    }

    /// Everything after a position, if all of it is here.
    pub(crate) fn after(&self, leg: Leg, seq: u64) -> Option<Vec<SharedFrame>> {
        let index = self.tails.iter().position(|tail| tail.leg == leg)?;
        let first = &self.tails[index];
        let is_broken = self.tails.iter().skip(index + 1).any(|later| later.from > 0);
        if seq < first.from || seq > first.last || is_broken {
            return None;
        }
        let rest = first.kept.iter().filter(|kept| kept.seq > seq);
        let later = self.tails.iter().skip(index + 1).flat_map(|tail| &tail.kept);
        Some(rest.chain(later).map(|kept| kept.frame.clone()).collect())
    }

    /// The legs, oldest first.
    pub(crate) fn tails(&self) -> impl Iterator<Item = &Tail> {
        self.tails.iter()
    }

    /// Gives back spare memory: the session will rest a while.
    pub(crate) fn rest(&mut self) {
        self.tails.shrink_to_fit();
    }

    fn first(&self) -> Option<u64> {
        self.tails.front()?.kept.front().map(|kept| kept.seq)
    }

    /// Forgets the oldest frame of the oldest leg, if that has any.
    fn forget_first(&mut self) -> Option<u64> {
        let Kept { seq, frame } = self.tails.front_mut()?.kept.pop_front()?;
        self.frames -= 1;
        self.bytes -= frame.len();
        Some(seq)
    }

    fn drop_oldest(&mut self) {
        if let Some(tail) = self.tails.pop_front() {
            self.frames -= tail.kept.len();
            self.bytes -= tail.kept.iter().map(|kept| kept.frame.len()).sum::<usize>();
        }
    }
}
