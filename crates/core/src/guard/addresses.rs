//! A bounded table of addresses. Who has come to rest is forgotten, a few at every newcomer, so that
//! no step is ever long. When all places are taken by addresses that are not at rest, newcomers share
//! one record: they may be in each other's way, and in nobody else's.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::Origin;
use crate::time::Time;

/// What is known of an address.
pub(crate) trait Rest: Default {
    /// Whether nothing would change if it were forgotten.
    fn is_at_rest(&self, now: Time) -> bool;
}

/// How many are looked at when somebody new comes.
const SWEPT: usize = 4;

pub(crate) struct Addresses<T> {
    known: BTreeMap<Origin, T>,
    /// Shared by those for whom there was no place.
    strangers: T,
    /// Where the last sweep ended.
    swept_to: Origin,
    most: usize,
}

impl<T: Rest> Addresses<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            known: BTreeMap::new(),
            strangers: T::default(),
            swept_to: Origin::v6(0),
            most: most.max(1),
        }
    }

    /// The record of an address, and whether it is its own.
    pub(crate) fn record(&mut self, now: Time, origin: Origin) -> (&mut T, bool) {
        if !self.known.contains_key(&origin) {
            self.sweep(now);
            if self.known.len() >= self.most {
                return (&mut self.strangers, false);
            }
        }
        (self.known.entry(origin).or_default(), true)
    }

    /// The record of an address, if it has one of its own.
    pub(crate) fn known(&self, origin: Origin) -> Option<&T> {
        self.known.get(&origin)
    }

    /// The record that an address would be given, without one made for it.
    pub(crate) fn look(&self, origin: Origin) -> Option<&T> {
        let is_full = self.known.len() >= self.most;
        self.known.get(&origin).or_else(|| is_full.then_some(&self.strangers))
    }

    /// The record that `record` gave, once it was known whose it is.
    pub(crate) fn again(&mut self, origin: Origin, is_own: bool) -> Option<&mut T> {
        if is_own { self.known.get_mut(&origin) } else { Some(&mut self.strangers) }
    }

    /// Looks at the next few, round and round.
    fn sweep(&mut self, now: Time) {
        for _ in 0..SWEPT {
            let after = (Bound::Excluded(self.swept_to), Bound::Unbounded);
            let Some((origin, record)) = self.known.range(after).next() else {
                self.swept_to = Origin::v6(0);
                return;
            };
            self.swept_to = *origin;
            if record.is_at_rest(now) {
                self.known.remove(&self.swept_to);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}
