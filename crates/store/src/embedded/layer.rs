//! What is in the journal and not in the tree yet, as it will be: of many changes of a row only the last
//! one is left, and nothing at all of what came and went again, unless something beneath the layer must go
//! with it. Whoever reads the tree lays this over it, once or twice: the result is the same, so it does not
//! matter whether the tree has it already.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, ScopeId};

use super::beneath::Beneath;
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
    /// Whether anything of the scope may be beneath the layer; none until the first deletion asks.
    is_beneath: Option<bool>,
}

/// All that waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    scopes: BTreeMap<ScopeId, Overlay>,
    weight: usize,
    /// The highest owner epoch of a scope that this deletes.
    floor: OwnerEpoch,
    /// Something was committed here, whether or not anything is left of it.
    is_used: bool,
}

impl Layer {
    /// A batch that was accepted. Keys and values are copied: they may be parts of something larger.
    pub(super) fn write(&mut self, batch: &Batch, print: Print, beneath: &mut impl Beneath) {
        if batch.delete_scope {
            self.delete(batch.scope, batch.owner, beneath);
            return;
        }
        let (overlay, weight) = self.overlay(batch.scope);
        overlay.is_written = true;
        overlay.standing = Some((batch.owner, batch.revision, print));
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => {
                    *weight += ROW_WEIGHT + key.len() + value.len();
                    let value = Some((batch.revision, Bytes::copy_from_slice(value)));
                    *weight -= overlay.set(key, value);
                }
                Change::Delete(key) if overlay.must_hide(batch.scope, key, beneath) => {
                    *weight += ROW_WEIGHT + key.len();
                    *weight -= overlay.set(key, None);
                }
                Change::Delete(key) => {
                    *weight -= overlay.rows.remove(key).map_or(0, |row| weight_of(key, &row));
                }
                Change::DeletePrefix(prefix) => {
                    *weight -= overlay.remove_prefix(prefix);
                    // Of a scope that begins anew nothing beneath is left to hide.
                    if !overlay.is_anew && !overlay.gone.contains(prefix) {
                        *weight += ROW_WEIGHT + prefix.len();
                        overlay.gone.insert(Bytes::copy_from_slice(prefix));
                    }
                }
            }
        }
    }

    /// A scope is gone, with all its rows. What is left of it is its owner epoch, in the floor.
    fn delete(&mut self, scope: ScopeId, owner: OwnerEpoch, beneath: &mut impl Beneath) {
        self.floor = owner.max(self.floor);
        let (overlay, weight) = self.overlay(scope);
        *weight -= overlay.weight();
        // A scope that this layer deleted before has its mark for a reason, which need not be asked for again.
        if overlay.is_anew || overlay.is_beneath(scope, beneath) {
            *overlay = Overlay { is_anew: true, is_written: true, ..Overlay::default() };
            *weight += overlay.weight();
        } else {
            self.scopes.remove(&scope);
        }
    }

    /// A scope has a new owner.
    pub(super) fn raise(&mut self, scope: ScopeId, standing: Standing) {
        self.overlay(scope).0.standing = Some(standing);
    }

    /// What becomes of a scope, to be changed, and the weight of all.
    fn overlay(&mut self, scope: ScopeId) -> (&mut Overlay, &mut usize) {
        let Self { scopes, weight, is_used, .. } = self;
        *is_used = true;
        let overlay = scopes.entry(scope).or_insert_with(|| {
            *weight += SCOPE_WEIGHT;
            Overlay::default()
        });
        (overlay, weight)
    }

    /// Whether nothing was committed here. Otherwise the journal has something that the tree must say it
    /// has, even if nothing of it is left.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_used
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

    /// Whether a row is there or not; none when that is for the tree to say.
    pub(super) fn has_row(&self, scope: ScopeId, key: &[u8]) -> Option<bool> {
        let overlay = self.scopes.get(&scope)?;
        match overlay.rows.get(key) {
            Some(row) => Some(row.is_some()),
            None => overlay.hides(key).then_some(false),
        }
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
        let pairs = pairs.into_iter().filter(|(key, _)| !overlay.hides(key));
        let mut rows: BTreeMap<Bytes, Bytes> = pairs.collect();
        for (key, value) in &overlay.rows {
            match value {
                Some((_, value)) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        Ok((head, rows.into_iter().collect()))
    }
}

/// What a row takes in memory, or the mark that it is gone.
fn weight_of(key: &[u8], row: &Option<(Revision, Bytes)>) -> usize {
    ROW_WEIGHT + key.len() + row.as_ref().map_or(0, |(_, value)| value.len())
}

impl Overlay {
    fn weight(&self) -> usize {
        let rows = self.rows.iter().map(|(key, row)| weight_of(key, row));
        let gone = self.gone.iter().map(|prefix| ROW_WEIGHT + prefix.len());
        SCOPE_WEIGHT + rows.sum::<usize>() + gone.sum::<usize>()
    }

    /// Whether anything of the scope may be beneath.
    fn is_beneath(&mut self, scope: ScopeId, beneath: &mut impl Beneath) -> bool {
        *self.is_beneath.get_or_insert_with(|| beneath.has_scope(scope))
    }

    /// Whether a row beneath is hidden without a mark of its own.
    fn hides(&self, key: &[u8]) -> bool {
        self.is_anew || self.gone.iter().any(|prefix| key.starts_with(prefix))
    }

    /// Whether a row that is deleted needs a mark, because one beneath would be seen otherwise.
    fn must_hide(&mut self, scope: ScopeId, key: &[u8], beneath: &mut impl Beneath) -> bool {
        if matches!(self.rows.get(key), Some(None)) {
            return true;
        }
        !self.hides(key) && self.is_beneath(scope, beneath) && beneath.has_row(scope, key)
    }

    /// Gives back what the row took before.
    fn set(&mut self, key: &[u8], value: Option<(Revision, Bytes)>) -> usize {
        match self.rows.get_mut(key) {
            Some(row) => weight_of(key, &std::mem::replace(row, value)),
            None => {
                self.rows.insert(Bytes::copy_from_slice(key), value);
                0
            }
        }
    }

    /// Gives back what the rows took.
    fn remove_prefix(&mut self, prefix: &[u8]) -> usize {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let rows = self.rows.range::<[u8], _>(from).map(|(key, _)| key);
        let inside: Vec<Bytes> = rows.take_while(|key| key.starts_with(prefix)).cloned().collect();
        let removed = inside.iter().filter_map(|key| Some(weight_of(key, &self.rows.remove(key)?)));
        removed.sum()
    }
}

#[cfg(test)]
mod tests {
    //! Laid over once or twice, or applied first: it is the same.
    use rejoin_core::id::SessionId;

    use super::*;
    use crate::embedded::beneath::Unknown;

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
        layer.write(
            &batch(5, vec![put("a/3", "x"), put("b", "new"), put("d", "soon gone")]),
            5,
            &mut Unknown,
        );
        layer.write(
            &batch(6, vec![Change::DeletePrefix("a/".into()), put("a/4", "y")]),
            6,
            &mut Unknown,
        );
        layer.write(
            &batch(7, vec![Change::Delete("d".into()), Change::Delete("c".into())]),
            7,
            &mut Unknown,
        );
        let once = layer.lay_over(SCOPE, tree());
        assert_eq!(told(once.clone()), [("a/4".into(), "y".into()), ("b".into(), "new".into())]);
        assert_eq!(told(layer.lay_over(SCOPE, once)).len(), 2);
        assert_eq!(layer.standing(SCOPE), Some(Some((OwnerEpoch(1), Revision(7), 7))));
    }

    #[test]
    fn a_scope_that_is_deleted_and_made_again_has_nothing_of_the_old_one() {
        let mut layer = Layer::default();
        layer.write(&batch(5, vec![put("b", "new")]), 5, &mut Unknown);
        layer.write(&Batch { delete_scope: true, ..batch(6, vec![]) }, 6, &mut Unknown);
        assert_eq!(layer.standing(SCOPE), Some(None));
        let mut list = BTreeSet::from([SCOPE]);
        layer.lay_over_list(&mut list);
        assert!(list.is_empty());
        layer.write(&batch(1, vec![put("z", "1")]), 1, &mut Unknown);
        // Not even damage.
        assert_eq!(
            told(layer.lay_over(SCOPE, Err("damaged".to_owned()))),
            [("z".into(), "1".into())]
        );
    }

    /// Of the rows only `a` and `b` are in the tree, and of the scopes only theirs.
    struct Tree;

    impl Beneath for Tree {
        fn has_scope(&mut self, scope: ScopeId) -> bool {
            scope == SCOPE
        }

        fn has_row(&mut self, scope: ScopeId, key: &[u8]) -> bool {
            scope == SCOPE && [&b"a"[..], b"b"].contains(&key)
        }
    }

    fn delete(key: &'static str) -> Change {
        Change::Delete(key.into())
    }

    #[test]
    fn a_deletion_is_kept_only_if_there_is_something_to_delete() {
        let mut layer = Layer::default();
        layer.write(&batch(5, vec![put("a", "1"), put("n", "1")]), 5, &mut Tree);
        layer.write(&batch(6, vec![delete("a"), delete("n"), delete("m")]), 6, &mut Tree);
        let overlay = &layer.scopes[&SCOPE];
        assert_eq!(overlay.rows, BTreeMap::from([("a".into(), None)]));
        let whole = Change::DeletePrefix(Bytes::new());
        layer.write(&batch(7, vec![whole, put("b", "2")]), 7, &mut Tree);
        layer.write(&batch(8, vec![delete("b")]), 8, &mut Tree);
        assert!(layer.scopes[&SCOPE].rows.is_empty(), "what was beneath went with the prefix");
        assert_eq!(layer.has_row(SCOPE, b"b"), Some(false));
    }

    /// The journal has it, so the tree has to say that it has the journal's half.
    #[test]
    fn a_layer_of_which_nothing_is_left_is_not_empty() {
        let other = ScopeId::Session(SessionId(2));
        let mut layer = Layer::default();
        assert!(layer.is_empty());
        layer.write(&Batch { scope: other, ..batch(1, vec![put("a", "1")]) }, 1, &mut Tree);
        let end = Batch { scope: other, delete_scope: true, ..batch(2, vec![]) };
        layer.write(&end, 2, &mut Tree);
        assert_eq!((layer.scopes.len(), layer.weight()), (0, 0));
        assert_eq!((layer.is_empty(), layer.floor()), (false, OwnerEpoch(1)));
    }

    #[test]
    fn the_weight_is_that_of_what_is_left() {
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) % bound
        };
        let mut layer = Layer::default();
        for revision in 1..2_000 {
            let key = ["a", "ab", "b", "n", "na"][below(5) as usize];
            let change = match below(4) {
                0 => delete(key),
                1 => Change::DeletePrefix(key.into()),
                _ => put(key, &"some words"[..below(11) as usize]),
            };
            let scope = ScopeId::Session(SessionId(below(4)));
            let delete_scope = below(20) == 0;
            let batch = Batch { scope, delete_scope, ..batch(revision, vec![change]) };
            layer.write(&batch, revision, &mut Tree);
            let left: usize = layer.scopes.values().map(Overlay::weight).sum();
            assert_eq!(layer.weight(), left, "after revision {revision}");
        }
    }
}
