//! What is in the journal and not in the tree yet, as it will be: of many changes of a row only the last
//! one is left. Whoever reads the tree lays this over it, once or twice: the result is the same, so it does
//! not matter whether the tree has it already.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, ScopeId};

use super::row::Head;
use crate::memory::Standing;
use crate::print::Print;

/// About what a scope and a row take in memory beside their bytes.
const SCOPE_WEIGHT: usize = 200;
const ROW_WEIGHT: usize = 100;

/// Keys and values in order.
pub(super) type Pairs = Vec<(Bytes, Bytes)>;
/// A scope as it was found, or what is wrong with it. One that is not there stands at revision 0.
pub(super) type Look = Result<(Head, Pairs), String>;

/// What becomes of a scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlay {
    /// Nothing that the tree has of the scope counts any more.
    pub(super) is_anew: bool,
    /// Rows of the tree that begin so are gone.
    pub(super) gone: BTreeSet<Bytes>,
    /// Rows that are written, or gone.
    pub(super) rows: BTreeMap<Bytes, Option<(Revision, Bytes)>>,
    /// A batch was written, so that the head changes; otherwise only the owner does.
    pub(super) is_written: bool,
    /// Where the scope stands; none when it is gone.
    pub(super) standing: Option<Standing>,
}

/// All that waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    scopes: BTreeMap<ScopeId, Overlay>,
    weight: usize,
    /// The highest owner epoch of a scope that this deletes.
    floor: OwnerEpoch,
}

impl Layer {
    /// A batch that was accepted. Keys and values are copied: they may be parts of something larger.
    pub(super) fn write(&mut self, batch: &Batch, print: Print) {
        let Self { scopes, weight, floor } = self;
        let overlay = scopes.entry(batch.scope).or_insert_with(|| {
            *weight += SCOPE_WEIGHT;
            Overlay::default()
        });
        overlay.is_written = true;
        if batch.delete_scope {
            *overlay = Overlay { is_anew: true, is_written: true, ..Overlay::default() };
            *floor = batch.owner.max(*floor);
            return;
        }
        overlay.standing = Some((batch.owner, batch.revision, print));
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => {
                    *weight += ROW_WEIGHT + key.len() + value.len();
                    let value = Some((batch.revision, Bytes::copy_from_slice(value)));
                    overlay.set(key, value);
                }
                Change::Delete(key) => {
                    *weight += ROW_WEIGHT + key.len();
                    overlay.set(key, None);
                }
                Change::DeletePrefix(prefix) => {
                    *weight += ROW_WEIGHT + prefix.len();
                    overlay.remove_prefix(prefix);
                }
            }
        }
    }

    /// A scope has a new owner.
    pub(super) fn raise(&mut self, scope: ScopeId, standing: Standing) {
        self.weight += SCOPE_WEIGHT;
        self.scopes.entry(scope).or_default().standing = Some(standing);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// No scope that is made anew begins at or below this owner epoch.
    pub(super) fn floor(&self) -> OwnerEpoch {
        self.floor
    }

    /// About how much memory it takes, at most; never less than what is to be written.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Where a scope stands, and that it is gone; none when nothing is known of it here.
    pub(super) fn standing(&self, scope: ScopeId) -> Option<Option<Standing>> {
        self.scopes.get(&scope).map(|overlay| overlay.standing)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ScopeId, &Overlay)> {
        self.scopes.iter().map(|(scope, overlay)| (*scope, overlay))
    }

    /// What becomes of the list of all scopes.
    pub(super) fn lay_over_list(&self, scopes: &mut BTreeSet<ScopeId>) {
        for (scope, overlay) in &self.scopes {
            if overlay.standing.is_some() {
                scopes.insert(*scope);
            } else {
                scopes.remove(scope);
            }
        }
    }

    /// What becomes of a scope that was read. Rows and sum of its head are not kept up.
    pub(super) fn lay_over(&self, scope: ScopeId, found: Look) -> Look {
        let Some(overlay) = self.scopes.get(&scope) else { return found };
        let (mut head, pairs) = if overlay.is_anew { Default::default() } else { found? };
        if let Some((owner, revision, last)) = overlay.standing {
            (head.owner, head.revision, head.last) = (owner, revision, last);
        }
        if overlay.gone.is_empty() && overlay.rows.is_empty() {
            return Ok((head, pairs));
        }
        let is_left = |key: &Bytes| !overlay.gone.iter().any(|prefix| key.starts_with(prefix));
        let mut rows: BTreeMap<Bytes, Bytes> =
            pairs.into_iter().filter(|(key, _)| is_left(key)).collect();
        for (key, value) in &overlay.rows {
            match value {
                Some((_, value)) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        Ok((head, rows.into_iter().collect()))
    }
}

impl Overlay {
    fn set(&mut self, key: &[u8], value: Option<(Revision, Bytes)>) {
        match self.rows.get_mut(key) {
            Some(row) => *row = value,
            None => drop(self.rows.insert(Bytes::copy_from_slice(key), value)),
        }
    }

    fn remove_prefix(&mut self, prefix: &[u8]) {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let rows = self.rows.range::<[u8], _>(from).map(|(key, _)| key);
        let inside: Vec<Bytes> = rows.take_while(|key| key.starts_with(prefix)).cloned().collect();
        for key in inside {
            self.rows.remove(&key);
        }
        if !self.gone.contains(prefix) {
            self.gone.insert(Bytes::copy_from_slice(prefix));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Laid over once or twice, or applied first: it is the same.
    use rejoin_core::id::SessionId;

    use super::*;

    const SCOPE: ScopeId = ScopeId::Session(SessionId(1));

    fn batch(revision: u64, changes: Vec<Change>) -> Batch {
        let (owner, revision) = (OwnerEpoch(1), Revision(revision));
        Batch { scope: SCOPE, owner, revision, changes, delete_scope: false }
    }

    fn put(key: &'static str, value: &'static str) -> Change {
        Change::Put(key.into(), value.into())
    }

    fn tree() -> Look {
        let rows = [("a/1", "old"), ("a/2", "old"), ("b", "old"), ("c", "old")];
        let rows = rows.map(|(key, value)| (Bytes::from(key), Bytes::from(value)));
        Ok((Head { owner: OwnerEpoch(1), revision: Revision(4), ..Head::default() }, rows.into()))
    }

    fn told(look: Look) -> Vec<(Bytes, Bytes)> {
        look.expect("nothing is wrong").1
    }

    #[test]
    fn later_changes_win_and_laying_over_twice_is_laying_over_once() {
        let mut layer = Layer::default();
        layer.write(&batch(5, vec![put("a/3", "x"), put("b", "new"), put("d", "soon gone")]), 5);
        layer.write(&batch(6, vec![Change::DeletePrefix("a/".into()), put("a/4", "y")]), 6);
        layer.write(&batch(7, vec![Change::Delete("d".into()), Change::Delete("c".into())]), 7);
        let once = layer.lay_over(SCOPE, tree());
        assert_eq!(told(once.clone()), [("a/4".into(), "y".into()), ("b".into(), "new".into())]);
        assert_eq!(told(layer.lay_over(SCOPE, once)).len(), 2);
        assert_eq!(layer.standing(SCOPE), Some(Some((OwnerEpoch(1), Revision(7), 7))));
    }

    #[test]
    fn a_scope_that_is_deleted_and_made_again_has_nothing_of_the_old_one() {
        let mut layer = Layer::default();
        layer.write(&batch(5, vec![put("b", "new")]), 5);
        layer.write(&Batch { delete_scope: true, ..batch(6, vec![]) }, 6);
        assert_eq!(layer.standing(SCOPE), Some(None));
        let mut list = BTreeSet::from([SCOPE]);
        layer.lay_over_list(&mut list);
        assert!(list.is_empty());
        layer.write(&batch(1, vec![put("z", "1")]), 1);
        // Not even damage.
        assert_eq!(
            told(layer.lay_over(SCOPE, Err("damaged".to_owned()))),
            [("z".into(), "1".into())]
        );
    }
}
