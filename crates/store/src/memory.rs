//! The store that lives as long as its process: ordered maps, nothing else. It is also what the
//! simulator puts its delays, crashes and losses around.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, Opened, ROW_BYTES_MAX, ScopeId};

use crate::{Refused, Store};

#[derive(Clone, Debug, Default)]
struct Scope {
    owner: OwnerEpoch,
    revision: Revision,
    rows: BTreeMap<Bytes, Bytes>,
}

/// A store in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    scopes: BTreeMap<ScopeId, Scope>,
}

impl Memory {
    /// Forgets a scope without asking anybody: for scopes that end with their process.
    pub fn forget(&mut self, scope: ScopeId) {
        self.scopes.remove(&scope);
    }

    /// How many rows and bytes there are.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let rows = self.scopes.values().map(|scope| scope.rows.len()).sum();
        let bytes = self.scopes.values().flat_map(|scope| &scope.rows);
        (rows, bytes.map(|(key, value)| key.len() + value.len()).sum())
    }
}

impl Store for Memory {
    fn open(&mut self, scope: ScopeId) -> Opened {
        let known = self.scopes.entry(scope).or_default();
        known.owner = OwnerEpoch(known.owner.0 + 1);
        Opened {
            owner: known.owner,
            revision: known.revision,
            rows: known.rows.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    fn apply(&mut self, batch: &Batch) -> Result<(), Refused> {
        let fresh = Scope { owner: batch.owner, ..Scope::default() };
        let known = match self.scopes.get(&batch.scope) {
            Some(known) => known,
            None if batch.revision == Revision(1) => &fresh,
            None => return Err(Refused::OutOfOrder { revision: Revision(0) }),
        };
        if known.owner != batch.owner {
            return Err(Refused::Fenced { owner: known.owner });
        }
        if known.revision.next() != batch.revision {
            return Err(Refused::OutOfOrder { revision: known.revision });
        }
        for change in &batch.changes {
            if let Change::Put(_, value) = change
                && value.len() > ROW_BYTES_MAX
            {
                return Err(Refused::TooLarge { bytes: value.len() });
            }
        }
        if batch.delete_scope {
            self.scopes.remove(&batch.scope);
            return Ok(());
        }
        let known = self.scopes.entry(batch.scope).or_insert(fresh);
        known.revision = batch.revision;
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => drop(known.rows.insert(key.clone(), value.clone())),
                Change::Delete(key) => drop(known.rows.remove(key)),
                Change::DeletePrefix(prefix) => {
                    known.rows.retain(|key, _| !key.starts_with(prefix))
                }
            }
        }
        Ok(())
    }

    fn scopes(&self) -> Vec<ScopeId> {
        self.scopes.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    //! Whole or nothing, fenced and in order.
    use super::*;
    use rejoin_core::id::SessionId;

    const SCOPE: ScopeId = ScopeId::Session(SessionId(7));

    fn batch(owner: u64, revision: u64, changes: Vec<Change>) -> Batch {
        let (owner, revision) = (OwnerEpoch(owner), Revision(revision));
        Batch { scope: SCOPE, owner, revision, changes, delete_scope: false }
    }

    fn put(key: &'static str, value: &'static str) -> Change {
        Change::Put(Bytes::from_static(key.as_bytes()), Bytes::from_static(value.as_bytes()))
    }

    #[test]
    fn a_first_batch_creates_its_scope_and_a_gap_does_not() {
        let mut store = Memory::default();
        let gap = Err(Refused::OutOfOrder { revision: Revision(0) });
        assert_eq!(store.apply(&batch(1, 2, vec![])), gap);
        assert_eq!(store.apply(&batch(1, 1, vec![put("a", "1")])), Ok(()));
        assert_eq!(store.open(SCOPE).rows.len(), 1);
    }

    #[test]
    fn an_owner_that_was_overtaken_can_write_nothing() {
        let mut store = Memory::default();
        let owner = store.open(SCOPE).owner;
        store.apply(&batch(owner.0, 1, vec![put("a", "1")])).expect("the owner writes");
        let next = store.open(SCOPE);
        assert_eq!((next.owner.0, next.revision), (owner.0 + 1, Revision(1)));
        let late = store.apply(&batch(owner.0, 2, vec![put("a", "2")]));
        assert_eq!(late, Err(Refused::Fenced { owner: next.owner }));
        assert_eq!(store.open(SCOPE).rows, next.rows);
    }

    #[test]
    fn a_batch_that_came_before_changes_nothing_again() {
        let mut store = Memory::default();
        let first = batch(1, 1, vec![put("a", "1")]);
        store.apply(&first).expect("in order");
        assert_eq!(store.apply(&first), Err(Refused::OutOfOrder { revision: Revision(1) }));
    }

    #[test]
    fn prefixes_and_whole_scopes_can_be_deleted() {
        let mut store = Memory::default();
        let rows = vec![put("cut/1", "x"), put("cut/2", "y"), put("base/1", "z")];
        store.apply(&batch(1, 1, rows)).expect("in order");
        let prefix = Change::DeletePrefix(Bytes::from_static(b"cut/"));
        store.apply(&batch(1, 2, vec![prefix])).expect("in order");
        assert_eq!(store.size().0, 1);
        let last = Batch { delete_scope: true, ..batch(1, 3, vec![]) };
        store.apply(&last).expect("in order");
        assert_eq!(store.scopes(), vec![]);
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_whole() {
        let mut store = Memory::default();
        let large = Change::Put(Bytes::new(), Bytes::from(vec![0; ROW_BYTES_MAX + 1]));
        let refused = store.apply(&batch(1, 1, vec![put("a", "1"), large]));
        assert_eq!(refused, Err(Refused::TooLarge { bytes: ROW_BYTES_MAX + 1 }));
        assert_eq!(store.scopes(), vec![]);
    }
}
