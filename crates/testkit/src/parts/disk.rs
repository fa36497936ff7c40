//! The server's store with time in it: a batch is submitted now and committed later, in order
//! within its scope and in any order across scopes. A crash keeps, for each scope, what was
//! committed and an arbitrary number of the batches that were on their way.

use std::collections::{BTreeMap, VecDeque};

use rejoin_core::id::{OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_store::{Memory, Outcome, Store};

use super::rng::Rng;

/// The store.
#[derive(Debug, Default)]
pub struct Disk {
    store: Memory,
    pending: BTreeMap<ScopeId, VecDeque<(Batch, u64)>>,
    /// Scopes that end with their process.
    fleeting: Vec<ScopeId>,
    /// Batches committed.
    pub commits: u64,
}

impl Disk {
    /// Takes a batch; says when it will be committed.
    pub fn submit(&mut self, now: u64, batch: Batch, most_us: u64, rng: &mut Rng) -> u64 {
        let queue = self.pending.entry(batch.scope).or_default();
        let earliest = queue.back().map_or(now, |(_, at)| *at);
        let at = earliest.max(now + 1 + rng.below(most_us));
        queue.push_back((batch, at));
        at
    }

    /// The time of a commit has come; false when the batch was refused.
    pub fn commit(&mut self, scope: ScopeId, owner: OwnerEpoch, revision: Revision) -> bool {
        let Some(queue) = self.pending.get_mut(&scope) else { return false };
        let mut done = false;
        let due = |batch: &Batch| batch.owner == owner && batch.revision <= revision;
        while queue.front().is_some_and(|(batch, _)| due(batch)) {
            let Some((batch, _)) = queue.pop_front() else { break };
            let outcome = self.store.apply(&batch);
            done = batch.revision == revision && outcome == Outcome::Committed;
            self.commits += 1;
        }
        if queue.is_empty() {
            self.pending.remove(&scope);
        }
        done
    }

    /// Opens a scope: what was on its way either landed before or never will.
    pub fn open(&mut self, scope: ScopeId, rng: &mut Rng) -> Opened {
        self.land_some(scope, rng);
        // Memory neither fills up nor rots.
        self.store.open_one(scope).unwrap_or_default()
    }

    /// A scope that is gone with its process.
    pub fn mark_fleeting(&mut self, zone: ZoneId) {
        let scope = ScopeId::Zone(zone);
        if !self.fleeting.contains(&scope) {
            self.fleeting.push(scope);
        }
    }

    /// The process is gone.
    pub fn crash(&mut self, rng: &mut Rng) {
        let scopes: Vec<ScopeId> = self.pending.keys().copied().collect();
        for scope in scopes {
            self.land_some(scope, rng);
        }
        for scope in self.fleeting.drain(..) {
            self.store.forget(scope);
        }
    }

    /// All scopes there are.
    #[must_use]
    pub fn scopes(&self) -> Vec<ScopeId> {
        self.store.scopes(None).unwrap_or_default()
    }

    fn land_some(&mut self, scope: ScopeId, rng: &mut Rng) {
        let Some(queue) = self.pending.remove(&scope) else { return };
        let landed = rng.below(queue.len() as u64 + 1) as usize;
        for (batch, _) in queue.iter().take(landed) {
            // Whatever refuses one batch refuses all after it.
            if self.store.apply(batch) != Outcome::Committed {
                break;
            }
        }
    }
}
