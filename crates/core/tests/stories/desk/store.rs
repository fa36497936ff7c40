//! A plain store: rows in a map, commits in the order they came, and a switch that holds them back.
//! It is strict: a batch that skips a revision is a bug of the machine that made it.

use std::collections::{BTreeMap, VecDeque};

use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, Opened, RESTORED, ScopeId};
use rejoin_core::wire::Bytes;

#[derive(Clone, Default)]
struct Scope {
    owner: OwnerEpoch,
    revision: Revision,
    rows: BTreeMap<Bytes, Bytes>,
}

/// What was submitted of one scope.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub batches: usize,
    pub rows: usize,
    pub bytes: usize,
    /// Batches at the store at a time, at the most.
    pub under_way: usize,
}

#[derive(Default)]
pub struct Store {
    scopes: BTreeMap<ScopeId, Scope>,
    /// Owners of scopes that were deleted: an epoch never comes back.
    graves: BTreeMap<ScopeId, OwnerEpoch>,
    pending: VecDeque<Batch>,
    /// Commits so far.
    pub commits: u64,
    /// The disk stands still from this commit on.
    pub stop_after: Option<u64>,
    /// Which scopes wait.
    held: Option<fn(&ScopeId) -> bool>,
    /// What was committed, in order, for stories about crashes.
    pub journal: Vec<ScopeId>,
    tallies: BTreeMap<ScopeId, Tally>,
}

/// A copy of everything that is committed.
#[derive(Clone)]
pub struct Backup(BTreeMap<ScopeId, Scope>);

impl Store {
    /// Copies everything that is committed.
    pub fn backup(&self) -> Backup {
        Backup(self.scopes.clone())
    }

    /// Puts a copy back, as if nothing had been committed since; with the rows that a restored backup has.
    pub fn restore(&mut self, backup: &Backup) {
        self.copy_back(backup);
        for (id, scope) in &mut self.scopes {
            if matches!(id, ScopeId::Hub | ScopeId::Session(_)) {
                scope.rows.insert(Bytes::from_static(RESTORED), Bytes::new());
            }
        }
    }

    /// Puts a copy back without a word, as somebody does who copies folders.
    pub fn copy_back(&mut self, backup: &Backup) {
        self.pending.clear();
        self.graves.clear();
        self.scopes = backup.0.clone();
    }

    /// Opens a scope for a new owner.
    pub fn open(&mut self, id: ScopeId) -> Opened {
        let buried = self.graves.get(&id).copied().unwrap_or_default();
        let scope = self.scopes.entry(id).or_default();
        scope.owner = OwnerEpoch(scope.owner.max(buried).0 + 1);
        let rows = scope.rows.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        // What an earlier owner still has on its way is fenced.
        self.pending.retain(|batch| batch.scope != id);
        Opened { owner: scope.owner, revision: scope.revision, rows }
    }

    pub fn hold(&mut self, held: fn(&ScopeId) -> bool) {
        self.held = Some(held);
    }

    pub fn release(&mut self) {
        self.held = None;
        self.stop_after = None;
    }

    pub fn submit(&mut self, batch: Batch) {
        let tally = self.tallies.entry(batch.scope).or_default();
        tally.batches += 1;
        tally.rows += batch.changes.len();
        tally.bytes += batch.changes.iter().map(Change::bytes).sum::<usize>();
        let under_way = self.pending.iter().filter(|other| other.scope == batch.scope).count() + 1;
        tally.under_way = tally.under_way.max(under_way);
        // What bounds the store's queue in the server: see `StoreSender` there.
        let most = match batch.scope {
            ScopeId::Zone(_) => 2,
            ScopeId::Player(_) => usize::MAX,
            _ => 1,
        };
        assert!(under_way <= most, "{under_way} batches of {:?} under way", batch.scope);
        self.pending.push_back(batch);
    }

    /// What was submitted of a scope since this was last asked.
    pub fn tally(&mut self, id: ScopeId) -> Tally {
        self.tallies.remove(&id).unwrap_or_default()
    }

    pub fn is_stopped(&self) -> bool {
        self.stop_after.is_some_and(|after| self.commits >= after)
    }

    /// Whether anything waits for the disk.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// What was not committed is lost.
    pub fn crash(&mut self) {
        self.pending.clear();
        self.release();
    }

    /// Commits the next batch that may be.
    pub fn commit_next(&mut self) -> Option<(ScopeId, Revision)> {
        if self.is_stopped() {
            return None;
        }
        let held = self.held;
        let free = |batch: &Batch| held.is_none_or(|held| !held(&batch.scope));
        let index = self.pending.iter().position(free)?;
        let batch = self.pending.remove(index)?;
        self.commits += 1;
        self.journal.push(batch.scope);
        self.apply(&batch);
        Some((batch.scope, batch.revision))
    }

    fn apply(&mut self, batch: &Batch) {
        let created = !self.scopes.contains_key(&batch.scope);
        assert!(!created || batch.revision == Revision(1), "no scope for {batch:?}");
        let scope = self.scopes.entry(batch.scope).or_default();
        if created {
            scope.owner = batch.owner;
        }
        assert_eq!(scope.owner, batch.owner, "the owner of {:?}", batch.scope);
        assert_eq!(batch.revision, scope.revision.next(), "the revision of {:?}", batch.scope);
        scope.revision = batch.revision;
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => drop(scope.rows.insert(key.clone(), value.clone())),
                Change::Delete(key) => drop(scope.rows.remove(key)),
                Change::DeletePrefix(prefix) => {
                    scope.rows.retain(|key, _| !key.starts_with(prefix));
                }
            }
        }
        if batch.delete_scope {
            self.graves.insert(batch.scope, batch.owner);
            self.scopes.remove(&batch.scope);
        }
    }

    /// Nothing is kept of it any more.
    pub fn forget(&mut self, id: ScopeId) {
        self.scopes.remove(&id);
    }

    pub fn has(&self, id: ScopeId) -> bool {
        self.scopes.get(&id).is_some_and(|scope| !scope.rows.is_empty())
    }

    /// Whose batches a scope takes.
    pub fn owner(&self, id: ScopeId) -> Option<OwnerEpoch> {
        self.scopes.get(&id).map(|scope| scope.owner)
    }

    pub fn rows(&self, id: ScopeId) -> Vec<(Bytes, Bytes)> {
        let scope = self.scopes.get(&id);
        let rows = scope.into_iter().flat_map(|scope| &scope.rows);
        rows.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub fn ids(&self) -> Vec<ScopeId> {
        self.scopes.keys().copied().collect()
    }
}
