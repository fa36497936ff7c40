//! The store that lives as long as its process: ordered maps, nothing else. It is also what the
//! simulator puts its delays, crashes and losses around.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::planted::{Bug, is_armed};
use rejoin_core::scope::{Batch, Change, Opened, ROW_BYTES_MAX, ScopeId};

use crate::print::{self, Print};
use crate::{Damaged, Outcome, ScopeKind, Store, StoreError};

#[derive(Clone, Debug, Default)]
struct Scope {
    owner: OwnerEpoch,
    revision: Revision,
    /// Of the last batch.
    print: Print,
}

/// A store in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    scopes: BTreeMap<ScopeId, Scope>,
    /// Apart, because a scope may have none.
    rows: BTreeMap<ScopeId, BTreeMap<Bytes, Bytes>>,
    /// The highest owner epoch of a scope that is gone.
    floor: OwnerEpoch,
    /// Sessions, players and accounts are not kept.
    is_unread: bool,
}

/// What is read at the next start only, which never comes.
fn is_for_next_start(scope: ScopeId) -> bool {
    matches!(scope, ScopeId::Session(_) | ScopeId::Player(_) | ScopeId::Account(_))
}

/// What is to be done with a batch, given where its scope stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is the next one.
    Apply,
    /// Nothing is to be done.
    Answer(Outcome),
}

/// Where a scope stands: owner, revision, and the fingerprint of its last batch.
pub(crate) type Standing = (OwnerEpoch, Revision, Print);

/// For each batch of a group, whether it or a later one deletes its scope.
pub(crate) fn doomed(group: &[Batch]) -> Vec<bool> {
    let mut ending = BTreeSet::new();
    let mut doomed = vec![false; group.len()];
    for (batch, is_doomed) in group.iter().zip(&mut doomed).rev() {
        if batch.delete_scope {
            ending.insert(batch.scope);
        }
        *is_doomed = ending.contains(&batch.scope);
    }
    doomed
}

/// Judges a batch, the same way in every store.
pub(crate) fn judge(batch: &Batch, known: Option<Standing>, is_doomed: bool) -> Verdict {
    let largest = batch.changes.iter().map(|change| match change {
        Change::Put(_, value) => value.len(),
        Change::Delete(_) | Change::DeletePrefix(_) => 0,
    });
    let largest = largest.max().unwrap_or(0);
    let outcome = match known {
        // The last word on the scope has been said, maybe by this very group: nothing would be left.
        None if is_doomed => Outcome::Committed,
        None if batch.revision != Revision(1) => Outcome::OutOfOrder { revision: Revision(0) },
        Some((owner, ..)) if owner != batch.owner && !is_armed(Bug::LateBatchTaken) => {
            Outcome::Fenced { owner }
        }
        // An owner writes in order, so what lies behind is its own, sent again.
        Some((_, revision, _)) if batch.revision < revision => Outcome::Committed,
        Some((_, revision, print)) if batch.revision == revision => {
            if print == print::of_batch(batch) {
                Outcome::Committed
            } else {
                Outcome::OutOfOrder { revision }
            }
        }
        Some((_, revision, _)) if batch.revision != revision.next() => {
            Outcome::OutOfOrder { revision }
        }
        _ if largest > ROW_BYTES_MAX => Outcome::TooLarge { bytes: largest },
        _ => return Verdict::Apply,
    };
    Verdict::Answer(outcome)
}

impl Memory {
    /// A store that ends with the server it is given to. Sessions and players are read when a server
    /// starts and never again, so here they would be kept for nobody.
    /// Zones are kept, because a zone that faults is opened again.
    #[must_use]
    pub fn unread() -> Self {
        Self { is_unread: true, ..Self::default() }
    }

    /// Forgets a scope without asking anybody: for scopes that end with their process.
    pub fn forget(&mut self, scope: ScopeId) {
        if let Some(gone) = self.scopes.remove(&scope) {
            self.floor = self.floor.max(gone.owner);
        }
        self.rows.remove(&scope);
    }

    /// How many rows and bytes there are.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let rows = self.rows.values().map(BTreeMap::len).sum();
        let bytes = self.rows.values().flatten();
        (rows, bytes.map(|(key, value)| key.len() + value.len()).sum())
    }

    fn open_scope(&mut self, scope: ScopeId) -> Opened {
        let floor = self.floor;
        let anew = || Scope { owner: floor, ..Scope::default() };
        let known = self.scopes.entry(scope).or_insert_with(anew);
        known.owner = OwnerEpoch(known.owner.0 + 1);
        let rows = self.rows.get(&scope).into_iter().flatten();
        Opened {
            owner: known.owner,
            revision: known.revision,
            rows: rows.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    fn commit_one(&mut self, batch: &Batch, is_doomed: bool) -> Outcome {
        if self.is_unread && is_for_next_start(batch.scope) {
            return Outcome::Committed;
        }
        let known = self.scopes.get(&batch.scope);
        let known = known.map(|known| (known.owner, known.revision, known.print));
        if let Verdict::Answer(outcome) = judge(batch, known, is_doomed) {
            return outcome;
        }
        if batch.delete_scope {
            self.forget(batch.scope);
            return Outcome::Committed;
        }
        let known = self.scopes.entry(batch.scope).or_default();
        known.owner = batch.owner;
        known.revision = batch.revision;
        known.print = print::of_batch(batch);
        let rows = self.rows.entry(batch.scope).or_default();
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => drop(rows.insert(key.clone(), value.clone())),
                Change::Delete(key) => drop(rows.remove(key)),
                Change::DeletePrefix(prefix) => rows.retain(|key, _| !key.starts_with(prefix)),
            }
        }
        Outcome::Committed
    }
}

impl Store for Memory {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        Ok(scopes.iter().map(|scope| Ok(self.open_scope(*scope))).collect())
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let doomed = doomed(group);
        let judged = group.iter().zip(doomed);
        judged.map(|(batch, is_doomed)| self.commit_one(batch, is_doomed)).collect()
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        let all = self.scopes.keys().copied();
        Ok(all.filter(|scope| kind.is_none_or(|kind| ScopeKind::of(*scope) == kind)).collect())
    }
}

#[cfg(test)]
mod tests {
    use rejoin_core::id::{SessionId, ZoneId};

    use super::*;

    #[test]
    fn what_nobody_will_read_is_not_kept() {
        let mut store = Memory::unread();
        let row = Change::Put(Bytes::from_static(b"key"), Bytes::from_static(b"value"));
        let (session, zone) = (ScopeId::Session(SessionId(1)), ScopeId::Zone(ZoneId(1)));
        for scope in [session, zone] {
            let (owner, changes) = (OwnerEpoch(0), vec![row.clone()]);
            let batch = Batch { scope, owner, revision: Revision(1), changes, delete_scope: false };
            assert_eq!(store.apply(&batch), Outcome::Committed);
        }
        assert_eq!(store.scopes(None).unwrap(), [zone]);
        assert_eq!(store.size().0, 1);
    }
}
