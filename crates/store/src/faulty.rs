//! A store that fails on purpose, around any other: owners are overtaken, the disk is full for a
//! while, nobody knows what became of a batch, a sync fails for good, and groups land in another
//! order across scopes. One seed decides everything.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::scope::{Batch, Opened, ScopeId};

use crate::{Damaged, Outcome, ScopeKind, Store, StoreError};

/// How often each fault strikes, in a thousand groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Another owner opens the scope of the group's first batch just before.
    pub fenced: u64,
    /// There is no room for this group and a few more.
    pub full: u64,
    /// The group is applied, and nobody is told.
    pub unknown_applied: u64,
    /// Some of the group is applied, or nothing, and nobody is told.
    pub unknown_lost: u64,
    /// The store is poisoned from now on.
    pub poisoned: u64,
    /// The group takes long: the answer of [`Faulty::take_delay`] grows.
    pub delay: u64,
    /// Scopes land in another order than they came.
    pub reorder: u64,
}

/// The store that fails.
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    faults: Faults,
    chance: u64,
    full_for: u64,
    poisoned: bool,
    delay_us: u64,
    /// How often each fault has struck, by name.
    pub struck: BTreeMap<&'static str, u64>,
}

impl<S: Store> Faulty<S> {
    /// Around a store.
    pub fn new(inner: S, faults: Faults, seed: u64) -> Self {
        let chance = seed ^ 0x9e37_79b9_7f4a_7c15;
        Self {
            inner,
            faults,
            chance,
            full_for: 0,
            poisoned: false,
            delay_us: 0,
            struck: BTreeMap::new(),
        }
    }

    /// Other faults from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// What is inside, as after a restart of the process.
    pub fn into_inner(self) -> S {
        self.inner
    }

    /// How many microseconds the last groups should have taken; the caller lets them pass.
    pub fn take_delay(&mut self) -> u64 {
        std::mem::take(&mut self.delay_us)
    }

    /// SplitMix64: enough for a test's chance, and the same everywhere.
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn strikes(&mut self, name: &'static str, per_mille: u64) -> bool {
        let struck = per_mille > 0 && self.draw() % 1_000 < per_mille;
        if struck {
            *self.struck.entry(name).or_default() += 1;
        }
        struck
    }

    /// The places of the group's batches in the order in which they land: by scope, if they are
    /// shuffled, and never another within a scope.
    fn order(&mut self, group: &[Batch]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..group.len()).collect();
        if self.strikes("reorder", self.faults.reorder) {
            let turn = self.draw();
            order.sort_by_key(|place| {
                crate::print::of_bytes(format!("{turn} {:?}", group[*place].scope).as_bytes())
            });
        }
        order
    }

    fn land(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let order = self.order(group);
        let moved: Vec<Batch> = order.iter().map(|place| group[*place].clone()).collect();
        let mut outcomes = vec![Outcome::Unknown; group.len()];
        for (place, outcome) in order.into_iter().zip(self.inner.commit(&moved)) {
            outcomes[place] = outcome;
        }
        outcomes
    }

    /// Lands the batches of some scopes only.
    fn land_some(&mut self, group: &[Batch]) {
        let scopes: BTreeSet<ScopeId> = group.iter().map(|batch| batch.scope).collect();
        let landing: BTreeSet<ScopeId> =
            scopes.into_iter().filter(|_| self.draw().is_multiple_of(2)).collect();
        let some = group.iter().filter(|batch| landing.contains(&batch.scope));
        let some: Vec<Batch> = some.cloned().collect();
        self.inner.commit(&some);
    }
}

impl<S: Store> Store for Faulty<S> {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned);
        }
        self.inner.open(scopes)
    }

    fn set_aside(&self) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.set_aside()
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let all = |outcome| vec![outcome; group.len()];
        if self.poisoned {
            return all(Outcome::Poisoned);
        }
        if self.strikes("delay", self.faults.delay) {
            self.delay_us += self.draw() % 500_000;
        }
        if self.strikes("poisoned", self.faults.poisoned) {
            self.poisoned = true;
            self.land_some(group);
            return all(Outcome::Poisoned);
        }
        if self.full_for > 0 || self.strikes("full", self.faults.full) {
            self.full_for = if self.full_for > 0 { self.full_for - 1 } else { self.draw() % 4 };
            return all(Outcome::Full);
        }
        if self.strikes("unknown lost", self.faults.unknown_lost) {
            self.land_some(group);
            return all(Outcome::Unknown);
        }
        if self.strikes("unknown applied", self.faults.unknown_applied) {
            self.land(group);
            return all(Outcome::Unknown);
        }
        if let Some(first) = group.first()
            && self.strikes("fenced", self.faults.fenced)
            && self.inner.open_one(first.scope).is_err()
        {
            return all(Outcome::Unknown);
        }
        self.land(group)
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned);
        }
        self.inner.scopes(kind)
    }
}
