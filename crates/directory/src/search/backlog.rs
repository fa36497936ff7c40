//! What waits for a subscriber. It gives credit and is told so many changes; of each thing only the newest
//! change waits, and how many may wait and for how long is for whoever owns this to bound.

use std::collections::BTreeMap;

use rejoin_core::time::Time;

/// Changes that wait, one for each key.
#[derive(Debug)]
pub(crate) struct Backlog<K, N> {
    credit: u64,
    /// What waits, with its turn.
    waiting: BTreeMap<K, (u64, N)>,
    /// Whose turn it is, and since when it waits.
    turns: BTreeMap<u64, (K, Time)>,
    last_turn: u64,
}

impl<K: Ord + Clone, N> Backlog<K, N> {
    pub(crate) fn new() -> Self {
        Self { credit: 0, waiting: BTreeMap::new(), turns: BTreeMap::new(), last_turn: 0 }
    }

    /// A change. `joined` makes one of two, the earlier first, or none when they cancel each other.
    pub(crate) fn push(
        &mut self,
        now: Time,
        key: K,
        news: N,
        joined: impl FnOnce(N, N) -> Option<N>,
    ) {
        let Some((turn, earlier)) = self.waiting.remove(&key) else {
            self.last_turn += 1;
            self.turns.insert(self.last_turn, (key.clone(), now));
            self.waiting.insert(key, (self.last_turn, news));
            return;
        };
        match joined(earlier, news) {
            Some(news) => drop(self.waiting.insert(key, (turn, news))),
            None => drop(self.turns.remove(&turn)),
        }
    }

    pub(crate) fn add_credit(&mut self, credit: u64) {
        self.credit = self.credit.saturating_add(credit);
    }

    /// What may be told now.
    pub(crate) fn take(&mut self) -> Vec<N> {
        let mut told = Vec::new();
        while self.credit > 0 {
            let Some((_, (key, _))) = self.turns.pop_first() else { break };
            let Some((_, news)) = self.waiting.remove(&key) else { continue };
            self.credit -= 1;
            told.push(news);
        }
        told
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Since when the oldest change waits.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        self.turns.first_key_value().map(|(_, (_, since))| *since)
    }
}
