//! What every store must pass, whatever it is made of. A store joins by handing in a way to make an
//! empty one, and [`crate::contract_of`] makes a test of each case.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_core::id::{
    AccountId, GameId, HostId, OwnerEpoch, PlayerId, QueueId, Revision, SessionId, ZoneId,
};
use rejoin_core::scope::{Batch, Change, ROW_BYTES_MAX, ScopeId};

use crate::faulty::{Faults, Faulty};
use crate::{Outcome, ScopeKind, Store};

/// Makes the tests of a module: one for each case, on a store that `$make` makes. The store is
/// anything that is a [`Store`] and may come with what it needs to live, as a tuple's second half.
#[macro_export]
macro_rules! contract_of {
    ($make:expr; $($case:ident),* $(,)?) => {
        $(
            #[test]
            fn $case() {
                let (mut store, _alive) = $make;
                $crate::contract::$case(&mut store);
            }
        )*
    };
    ($make:expr) => {
        $crate::contract_of!($make;
            a_new_store_is_empty,
            a_first_batch_creates_its_scope_and_a_gap_does_not,
            an_owner_that_was_overtaken_can_write_nothing,
            a_batch_that_came_before_changes_nothing_again,
            another_batch_of_the_same_revision_is_out_of_order,
            a_group_that_comes_again_is_told_to_be_committed,
            prefixes_and_whole_scopes_can_be_deleted,
            changes_of_a_batch_are_applied_in_order,
            a_value_that_does_not_fit_is_refused_whole,
            the_largest_value_and_the_empty_one_come_back,
            a_fenced_batch_fails_alone,
            many_batches_of_one_scope_fit_in_a_group,
            scopes_are_listed_by_kind_and_in_order,
            scopes_do_not_see_each_other,
            a_scope_that_was_deleted_can_be_made_again,
            a_former_owner_is_fenced_in_the_next_life_of_its_scope,
            many_are_opened_at_once,
            random_groups_equal_a_plain_model,
        );
    };
}

const SCOPE: ScopeId = ScopeId::Session(SessionId(7));
const OTHER: ScopeId = ScopeId::Zone(ZoneId(7));

/// A batch of a scope.
#[must_use]
pub fn batch(scope: ScopeId, owner: u64, revision: u64, changes: Vec<Change>) -> Batch {
    let (owner, revision) = (OwnerEpoch(owner), Revision(revision));
    Batch { scope, owner, revision, changes, delete_scope: false }
}

/// A row is written.
#[must_use]
pub fn put(key: &str, value: &str) -> Change {
    Change::Put(Bytes::copy_from_slice(key.as_bytes()), Bytes::copy_from_slice(value.as_bytes()))
}

fn deletion(scope: ScopeId, owner: u64, revision: u64) -> Batch {
    Batch { delete_scope: true, ..batch(scope, owner, revision, vec![]) }
}

fn rows(store: &mut dyn Store, scope: ScopeId) -> Vec<(Bytes, Bytes)> {
    store.open_one(scope).expect("it opens").rows
}

fn keys(store: &mut dyn Store, scope: ScopeId) -> Vec<Bytes> {
    rows(store, scope).into_iter().map(|(key, _)| key).collect()
}

/// Nothing in, nothing out.
pub fn a_new_store_is_empty(store: &mut dyn Store) {
    assert_eq!(store.scopes(None), Ok(vec![]));
    assert_eq!(store.commit(&[]), vec![]);
    let opened = store.open_one(SCOPE).expect("it opens");
    assert_eq!((opened.owner, opened.revision), (OwnerEpoch(1), Revision(0)));
    assert!(opened.rows.is_empty());
    assert_eq!(store.scopes(None), Ok(vec![SCOPE]));
}

/// Revision 1 makes a scope; anything above without it is a gap.
pub fn a_first_batch_creates_its_scope_and_a_gap_does_not(store: &mut dyn Store) {
    let gap = Outcome::OutOfOrder { revision: Revision(0) };
    assert_eq!(store.apply(&batch(SCOPE, 1, 2, vec![])), gap);
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, vec![put("a", "1")])), Outcome::Committed);
    let gap = Outcome::OutOfOrder { revision: Revision(1) };
    assert_eq!(store.apply(&batch(SCOPE, 1, 3, vec![])), gap);
    assert_eq!(rows(store, SCOPE).len(), 1);
}

/// No batch of an earlier owner is applied: neither a new one, nor a repeated one, nor a deletion.
pub fn an_owner_that_was_overtaken_can_write_nothing(store: &mut dyn Store) {
    let owner = store.open_one(SCOPE).expect("it opens").owner;
    let first = store.apply(&batch(SCOPE, owner.0, 1, vec![put("a", "1")]));
    assert_eq!(first, Outcome::Committed);
    let next = store.open_one(SCOPE).expect("it opens");
    assert_eq!((next.owner.0, next.revision), (owner.0 + 1, Revision(1)));
    let fenced = Outcome::Fenced { owner: next.owner };
    assert_eq!(store.apply(&batch(SCOPE, owner.0, 2, vec![put("a", "2")])), fenced);
    assert_eq!(store.apply(&batch(SCOPE, owner.0, 1, vec![put("a", "1")])), fenced, "even again");
    assert_eq!(store.apply(&deletion(SCOPE, owner.0, 2)), fenced);
    assert_eq!(rows(store, SCOPE), next.rows);
}

/// Submitting again is safe, and tells.
pub fn a_batch_that_came_before_changes_nothing_again(store: &mut dyn Store) {
    let first = batch(SCOPE, 1, 1, vec![put("a", "1")]);
    let second = batch(SCOPE, 1, 2, vec![put("a", "2")]);
    assert_eq!(store.apply(&first), Outcome::Committed);
    assert_eq!(store.apply(&second), Outcome::Committed);
    assert_eq!(store.apply(&second), Outcome::Committed);
    assert_eq!(store.apply(&first), Outcome::Committed);
    let opened = store.open_one(SCOPE).expect("it opens");
    assert_eq!((opened.revision, &opened.rows[0].1[..]), (Revision(2), &b"2"[..]));
}

/// A bug of the writer is not taken for a repetition.
pub fn another_batch_of_the_same_revision_is_out_of_order(store: &mut dyn Store) {
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, vec![put("a", "1")])), Outcome::Committed);
    let other = store.apply(&batch(SCOPE, 1, 1, vec![put("a", "2")]));
    assert_eq!(other, Outcome::OutOfOrder { revision: Revision(1) });
}

/// Also when the group ended with the end of the scope.
pub fn a_group_that_comes_again_is_told_to_be_committed(store: &mut dyn Store) {
    let group = [
        batch(SCOPE, 1, 1, vec![put("a", "1")]),
        batch(OTHER, 1, 1, vec![put("b", "1")]),
        batch(SCOPE, 1, 2, vec![put("a", "2")]),
        deletion(SCOPE, 1, 3),
        batch(OTHER, 1, 2, vec![put("b", "2")]),
    ];
    for _ in 0..3 {
        assert_eq!(store.commit(&group), vec![Outcome::Committed; 5]);
    }
    assert_eq!(store.scopes(None), Ok(vec![OTHER]));
    assert_eq!(rows(store, OTHER)[0].1, "2");
}

/// Rows go by their first bytes, and scopes go whole.
pub fn prefixes_and_whole_scopes_can_be_deleted(store: &mut dyn Store) {
    let changes = vec![put("cut/1", "x"), put("cut/2", "y"), put("cut", "v"), put("cuu", "w")];
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, changes)), Outcome::Committed);
    let prefix = Change::DeletePrefix(Bytes::from_static(b"cut/"));
    assert_eq!(store.apply(&batch(SCOPE, 1, 2, vec![prefix])), Outcome::Committed);
    let opened = store.open_one(SCOPE).expect("it opens");
    let left: Vec<&[u8]> = opened.rows.iter().map(|(key, _)| &key[..]).collect();
    assert_eq!(left, [&b"cut"[..], b"cuu"]);
    assert_eq!(store.apply(&deletion(SCOPE, opened.owner.0, 3)), Outcome::Committed);
    assert_eq!(store.scopes(None), Ok(vec![]));
}

/// A base that replaces what was before deletes and writes in one batch.
pub fn changes_of_a_batch_are_applied_in_order(store: &mut dyn Store) {
    let all = Change::DeletePrefix(Bytes::new());
    let changes = vec![put("a", "1"), put("b", "1"), all, put("b", "2"), put("c", "3")];
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, changes)), Outcome::Committed);
    let changes = vec![put("d", "4"), Change::Delete(Bytes::from_static(b"d"))];
    assert_eq!(store.apply(&batch(SCOPE, 1, 2, changes)), Outcome::Committed);
    assert_eq!(keys(store, SCOPE), ["b", "c"]);
}

/// Whole or nothing.
pub fn a_value_that_does_not_fit_is_refused_whole(store: &mut dyn Store) {
    let large = Change::Put(Bytes::new(), Bytes::from(vec![0; ROW_BYTES_MAX + 1]));
    let refused = store.apply(&batch(SCOPE, 1, 1, vec![put("a", "1"), large]));
    assert_eq!(refused, Outcome::TooLarge { bytes: ROW_BYTES_MAX + 1 });
    assert_eq!(store.scopes(None), Ok(vec![]));
}

/// The bounds of a value.
pub fn the_largest_value_and_the_empty_one_come_back(store: &mut dyn Store) {
    let large = Bytes::from(vec![0xa5; ROW_BYTES_MAX]);
    let changes = vec![
        Change::Put(Bytes::from_static(b"large"), large.clone()),
        Change::Put(Bytes::new(), Bytes::new()),
        Change::Put(Bytes::from_static(b"\xff\xff"), Bytes::from_static(b"last")),
    ];
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, changes)), Outcome::Committed);
    let found = rows(store, SCOPE);
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0].0[..], &found[0].1[..]), (&b""[..], &b""[..]));
    assert!(found[1].1 == large);
    let all = Change::DeletePrefix(Bytes::from_static(b"\xff"));
    assert_eq!(store.apply(&batch(SCOPE, 2, 2, vec![all])), Outcome::Committed);
    assert_eq!(rows(store, SCOPE).len(), 2);
}

/// Neighbours in a group do not notice.
pub fn a_fenced_batch_fails_alone(store: &mut dyn Store) {
    store.open_one(SCOPE).expect("it opens");
    let owner = store.open_one(SCOPE).expect("it opens").owner;
    let outcomes = store.commit(&[
        batch(OTHER, 1, 1, vec![put("a", "1")]),
        batch(SCOPE, 1, 1, vec![put("a", "1")]),
        batch(OTHER, 1, 2, vec![put("b", "2")]),
    ]);
    let fenced = Outcome::Fenced { owner };
    assert_eq!(outcomes, [Outcome::Committed, fenced, Outcome::Committed]);
    assert_eq!(rows(store, SCOPE).len(), 0);
    assert_eq!(rows(store, OTHER).len(), 2);
}

/// Cuts of a zone are submitted before the ones before them are committed.
pub fn many_batches_of_one_scope_fit_in_a_group(store: &mut dyn Store) {
    let group: Vec<Batch> = (1..=100)
        .map(|revision| batch(SCOPE, 1, revision, vec![put(&format!("{revision:03}"), "x")]))
        .collect();
    assert_eq!(store.commit(&group), vec![Outcome::Committed; 100]);
    let opened = store.open_one(SCOPE).expect("it opens");
    assert_eq!((opened.revision, opened.rows.len()), (Revision(100), 100));
}

/// The hub first, then sessions, zones and players, then what is the directory's.
pub fn scopes_are_listed_by_kind_and_in_order(store: &mut dyn Store) {
    let all = [
        ScopeId::Hub,
        ScopeId::Session(SessionId(2)),
        ScopeId::Session(SessionId(256)),
        ScopeId::Zone(ZoneId(1)),
        ScopeId::Zone(ZoneId(u64::MAX)),
        ScopeId::Player(PlayerId([0; 16])),
        ScopeId::Player(PlayerId([0xff; 16])),
        ScopeId::Catalogue,
        ScopeId::Game(GameId([0; 16])),
        ScopeId::Game(GameId([0xff; 16])),
        ScopeId::Host(HostId([7; 16])),
        ScopeId::Queue(QueueId([0xff; 16])),
        ScopeId::Account(AccountId([1; 16])),
    ];
    for scope in all.iter().rev() {
        let made = store.apply(&batch(*scope, 1, 1, vec![put("a", "1"), put("b", "2")]));
        assert_eq!(made, Outcome::Committed);
    }
    assert_eq!(store.scopes(None), Ok(all.to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Zone)), Ok(all[3..5].to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Hub)), Ok(all[..1].to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Player)), Ok(all[5..7].to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Catalogue)), Ok(all[7..8].to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Game)), Ok(all[8..10].to_vec()));
    assert_eq!(store.scopes(Some(ScopeKind::Queue)), Ok(all[11..12].to_vec()));
}

/// Not even those whose ids begin alike.
pub fn scopes_do_not_see_each_other(store: &mut dyn Store) {
    let near = [SCOPE, ScopeId::Session(SessionId(8)), OTHER, ScopeId::Hub];
    for scope in near {
        store.apply(&batch(scope, 1, 1, vec![put("a", "1")]));
    }
    let all = Change::DeletePrefix(Bytes::new());
    assert_eq!(store.apply(&batch(SCOPE, 1, 2, vec![all])), Outcome::Committed);
    assert_eq!(store.apply(&deletion(ScopeId::Hub, 1, 2)), Outcome::Committed);
    assert_eq!(rows(store, SCOPE).len(), 0);
    assert_eq!((rows(store, near[1]).len(), rows(store, OTHER).len()), (1, 1));
}

/// Zones end and begin again under the same name.
pub fn a_scope_that_was_deleted_can_be_made_again(store: &mut dyn Store) {
    assert_eq!(store.apply(&batch(OTHER, 1, 1, vec![put("a", "1")])), Outcome::Committed);
    assert_eq!(store.apply(&deletion(OTHER, 1, 2)), Outcome::Committed);
    let opened = store.open_one(OTHER).expect("it opens");
    assert_eq!((opened.revision, opened.rows.len()), (Revision(0), 0));
    let again = store.apply(&batch(OTHER, opened.owner.0, 1, vec![put("b", "1")]));
    assert_eq!(again, Outcome::Committed);
    assert_eq!(keys(store, OTHER), ["b"]);
}

/// Owner epochs outlive their scopes: a batch that comes late must not fit into the scope that was made
/// anew under the same name.
pub fn a_former_owner_is_fenced_in_the_next_life_of_its_scope(store: &mut dyn Store) {
    let mut former = store.open_one(OTHER).expect("it opens").owner;
    for _ in 0..3 {
        assert_eq!(store.apply(&batch(OTHER, former.0, 1, vec![])), Outcome::Committed);
        assert_eq!(store.apply(&deletion(OTHER, former.0, 2)), Outcome::Committed);
        assert_eq!(store.scopes(None), Ok(vec![]));
        let owner = store.open_one(OTHER).expect("it opens").owner;
        assert!(owner > former, "{owner} after {former}");
        let late = store.apply(&batch(OTHER, former.0, 1, vec![put("late", "1")]));
        assert_eq!(late, Outcome::Fenced { owner });
        former = owner;
    }
}

/// As a start does it.
pub fn many_are_opened_at_once(store: &mut dyn Store) {
    let scopes: Vec<ScopeId> = (1..=300).map(|id| ScopeId::Session(SessionId(id))).collect();
    let group: Vec<Batch> =
        scopes.iter().map(|scope| batch(*scope, 1, 1, vec![put("self", "x")])).collect();
    assert!(store.commit(&group).iter().all(|outcome| *outcome == Outcome::Committed));
    let found = store.open(&scopes).expect("they open");
    assert_eq!(found.len(), 300);
    for opened in found {
        let opened = opened.expect("nothing is damaged");
        assert_eq!((opened.owner, opened.revision), (OwnerEpoch(2), Revision(1)));
        assert_eq!(opened.rows.len(), 1);
    }
}

/// What the model says of a scope.
#[derive(Default)]
struct Model {
    owner: u64,
    revision: u64,
    rows: BTreeMap<Bytes, Bytes>,
}

/// A long life of a few scopes, followed row by row.
pub fn random_groups_equal_a_plain_model(store: &mut dyn Store) {
    let mut chance = Draw(7);
    let scopes = [SCOPE, OTHER, ScopeId::Hub, ScopeId::Player(PlayerId([9; 16]))];
    let mut model: BTreeMap<ScopeId, Model> = BTreeMap::new();
    for _ in 0..60 {
        let mut group = Vec::new();
        for _ in 0..chance.below(6) {
            let scope = scopes[chance.below(4) as usize];
            let known =
                model.entry(scope).or_insert_with(|| Model { owner: 1, ..Model::default() });
            known.revision += 1;
            let changes = chance.changes(&mut known.rows);
            group.push(batch(scope, known.owner, known.revision, changes));
            if chance.below(12) == 0 {
                group.push(deletion(scope, known.owner, known.revision + 1));
                model.remove(&scope);
            }
        }
        assert_eq!(store.commit(&group), vec![Outcome::Committed; group.len()]);
        let scope = scopes[chance.below(4) as usize];
        if chance.below(3) == 0 && model.contains_key(&scope) {
            let opened = store.open_one(scope).expect("it opens");
            let known = model.get_mut(&scope).expect("it was looked for");
            known.owner += 1;
            assert_eq!((opened.owner.0, opened.revision.0), (known.owner, known.revision));
            let rows: Vec<_> = known.rows.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(opened.rows, rows);
        }
    }
    assert_eq!(store.scopes(None), Ok(model.keys().copied().collect()));
}

/// A writer that keeps to the rules gets every batch in, once and in order, through every fault but
/// the ones that end it. Works on whatever store is inside.
pub fn a_patient_writer_gets_everything_in<S: Store>(inner: S, seed: u64) -> Faulty<S> {
    let faults = Faults {
        full: 100,
        unknown_applied: 150,
        unknown_lost: 150,
        delay: 100,
        reorder: 400,
        ..Faults::default()
    };
    let mut store = Faulty::new(inner, faults, seed);
    let mut waiting: Vec<Batch> = Vec::new();
    let mut written: u64 = 0;
    while written < 120 || !waiting.is_empty() {
        for scope in [SCOPE, OTHER] {
            if written < 120 {
                written += 1;
                let revision = written.div_ceil(2);
                let row = put(&format!("{revision:04}"), "x");
                waiting.push(batch(scope, 1, revision, vec![row]));
            }
        }
        let outcomes = store.commit(&waiting);
        let mut keep = Vec::new();
        for (batch, outcome) in waiting.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Committed => {}
                again if again.is_worth_another_try() => keep.push(batch),
                other => panic!("{batch:?} ended {other:?}"),
            }
        }
        waiting = keep;
    }
    for scope in [SCOPE, OTHER] {
        let opened = store.open_one(scope).expect("it opens");
        assert_eq!((opened.revision, opened.rows.len()), (Revision(60), 60));
    }
    store
}

/// A small chance of its own: the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }

    fn changes(&mut self, rows: &mut BTreeMap<Bytes, Bytes>) -> Vec<Change> {
        let count = 1 + self.below(5);
        let mut changes = Vec::new();
        for _ in 0..count {
            let key = Bytes::from(format!("{}/{}", self.below(3), self.below(6)));
            changes.push(match self.below(8) {
                0 => {
                    rows.remove(&key);
                    Change::Delete(key)
                }
                1 => {
                    let prefix = key.slice(..2);
                    rows.retain(|key, _| !key.starts_with(&prefix));
                    Change::DeletePrefix(prefix)
                }
                _ => {
                    let value =
                        Bytes::from(vec![self.below(256) as u8; self.below(3_000) as usize]);
                    rows.insert(key.clone(), value.clone());
                    Change::Put(key, value)
                }
            });
        }
        changes
    }
}
