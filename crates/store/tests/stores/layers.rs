//! Two layers over the tree: one half of the journal waits to be applied while the other is written. The
//! power goes, the apply finds no room or its sync fails, and what was acknowledged is there each time.

use std::collections::BTreeMap;

use rejoin_core::id::{OwnerEpoch, Revision, SessionId};
use rejoin_core::scope::ScopeId;
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::disk::Part;
use rejoin_store::platter::Platter;
use rejoin_store::{Embedded, Outcome, Store};

fn session(id: u64) -> ScopeId {
    ScopeId::Session(SessionId(id))
}

fn word(id: u64, revision: u64) -> String {
    format!("[{id} in revision {revision} {}]", "w".repeat(600))
}

/// Revisions of three sessions as they were acknowledged.
#[derive(Default)]
struct Told(BTreeMap<u64, u64>);

impl Told {
    /// Commits the next revision of the next session, and says what came of it.
    fn commit(&mut self, store: &mut Embedded) -> Outcome {
        let total: u64 = self.0.values().sum();
        let id = total % 3 + 1;
        let revision = self.0.get(&id).copied().unwrap_or(0) + 1;
        let outcome =
            store.apply(&batch(session(id), 1, revision, vec![put("self", &word(id, revision))]));
        if outcome == Outcome::Committed {
            self.0.insert(id, revision);
        }
        outcome
    }

    /// Commits until a half of the journal waits to be applied.
    fn until_two_layers(&mut self, store: &mut Embedded) {
        for _ in 0..200 {
            assert_eq!(self.commit(store), Outcome::Committed);
            if store.awaits_apply() {
                return;
            }
        }
        panic!("no half of the journal is full after 200 commits");
    }

    fn check(&self, store: &mut Embedded, about: &str) {
        for (id, revision) in &self.0 {
            let opened = store.open_one(session(*id)).expect("it opens");
            assert_eq!(opened.revision, Revision(*revision), "{about}: session {id}");
            let value = opened.rows.first().map(|(_, value)| value.to_vec());
            assert_eq!(value, Some(word(*id, *revision).into_bytes()), "{about}: session {id}");
        }
    }
}

fn stepped() -> (Platter, Embedded, Told) {
    let platter = Platter::default();
    let store = platter.stepped_store().expect("a new store");
    (platter, store, Told::default())
}

#[test]
fn both_layers_are_read_before_and_after_the_older_one_is_applied() {
    let (platter, mut store, mut told) = stepped();
    for turn in 0..4 {
        told.until_two_layers(&mut store);
        assert_eq!(told.commit(&mut store), Outcome::Committed);
        told.check(&mut platter.copy().store().expect("it opens"), "killed with two layers");
        store.step_apply();
        told.check(&mut platter.copy().store().expect("it opens"), "killed after the apply");
        assert_eq!(told.commit(&mut store), Outcome::Committed, "turn {turn}");
    }
    told.check(&mut store, "at the end");
}

#[test]
fn the_power_can_go_at_any_write_of_an_apply() {
    for calls in 0..60 {
        for is_kept in [false, true] {
            let (platter, mut store, mut told) = stepped();
            told.until_two_layers(&mut store);
            assert_eq!(told.commit(&mut store), Outcome::Committed);
            platter.die_in(calls);
            store.step_apply();
            // Whatever is left of the process cannot write any more.
            platter.die_in(0);
            drop(store);
            platter.revive(|| is_kept);
            told.check(&mut platter.store().expect("it opens"), &format!("after {calls} calls"));
        }
    }
}

/// The older layer is still over the tree when the newer one is applied: they go in together, in order.
#[test]
fn an_apply_without_room_is_done_again_with_the_layer_that_came_after_it() {
    let mut failed = 0;
    for writes in 0..12 {
        let (platter, mut store, mut told) = stepped();
        told.until_two_layers(&mut store);
        assert_eq!(told.commit(&mut store), Outcome::Committed);
        platter.fill_in(Part::Tree, Some(writes));
        store.step_apply();
        platter.fill_in(Part::Tree, None);
        let about = format!("no room after {writes} writes");
        told.check(&mut platter.copy().store().expect("it opens"), &about);
        // The group that hears of it is told so once, and lands when it comes again.
        let outcome = told.commit(&mut store);
        failed += u64::from(outcome == Outcome::Full);
        told.check(&mut platter.copy().store().expect("it opens"), &about);
        if outcome == Outcome::Full {
            assert_eq!(told.commit(&mut store), Outcome::Committed, "{about}");
        }
        for _ in 0..20 {
            assert_eq!(told.commit(&mut store), Outcome::Committed, "{about}");
        }
        told.check(&mut platter.copy().store().expect("it opens"), &about);
        // Opened last, because that makes another owner.
        told.check(&mut store, &about);
    }
    assert!(failed > 0, "no apply failed");
}

#[test]
fn a_failed_sync_of_an_apply_poisons_the_store_with_the_next_group() {
    let (platter, mut store, mut told) = stepped();
    told.until_two_layers(&mut store);
    platter.fail_syncs(true);
    store.step_apply();
    platter.fail_syncs(false);
    assert_eq!(told.commit(&mut store), Outcome::Poisoned);
    assert!(store.complaint().is_some());
    platter.die_in(0);
    drop(store);
    platter.revive(|| false);
    told.check(&mut platter.store().expect("it opens"), "after a failed sync");
}

/// The file system copies what it writes, so that even a file that has its length finds no room. The half
/// that is full must not be written again before it is in the tree.
#[test]
fn a_half_that_cannot_be_begun_costs_nothing_that_was_acknowledged() {
    let mut refused = 0;
    for (half, before) in (0..2).flat_map(|half| (1..40).map(move |before| (half, before))) {
        let (platter, mut store, mut told) = stepped();
        for turn in 0..80 {
            // The writes of one group to one half are refused: in some rounds its first one.
            platter.fill_in(Part::Journal(half), (turn == before).then_some(0));
            refused += u64::from(told.commit(&mut store) == Outcome::Full);
            platter.fill_in(Part::Journal(half), None);
            let about = format!("journal.{half} refused group {before}, killed after {turn}");
            if turn > before {
                told.check(&mut platter.copy().store().expect(&about), &about);
            }
        }
    }
    assert!(refused > 0, "no half was refused its first write");
}

#[test]
fn a_former_owner_is_fenced_in_both_layers() {
    let (_platter, mut store, mut told) = stepped();
    told.until_two_layers(&mut store);
    let raised = store.open_one(session(1)).expect("it opens");
    assert_eq!(raised.owner, OwnerEpoch(2));
    let late = batch(session(1), 1, raised.revision.0 + 1, vec![put("self", "late")]);
    let fenced = Outcome::Fenced { owner: OwnerEpoch(2) };
    assert_eq!(store.apply(&late), fenced);
    store.step_apply();
    assert_eq!(store.apply(&late), fenced);
    assert_eq!(store.open_one(session(1)).expect("it opens").revision, raised.revision);
}

/// The next life of a scope that is set aside begins above the owners of the one before, also when nothing
/// of it is in the tree yet.
#[test]
fn the_owner_of_a_damaged_scope_is_fenced_when_it_begins_anew() {
    for owner in [1, 4] {
        let (platter, mut store, _) = stepped();
        for id in 1..=2 {
            (1..owner).for_each(|_| drop(store.open_one(session(id)).expect("it opens")));
            let first = batch(session(id), owner, 1, vec![put("self", &word(id, 1))]);
            if owner > 1 {
                store.open_one(session(id)).expect("it opens");
            }
            assert_eq!(store.apply(&first), Outcome::Committed);
        }
        assert_eq!(store.misplace(session(1), session(2)), Ok(true));
        let found = store.open(&[session(1), session(2)]).expect("they open");
        assert!(found.iter().all(Result::is_err), "a row is where it does not belong");
        for id in 1..=2 {
            let anew = store.open_one(session(id)).expect("it opens");
            assert_eq!(anew.revision, Revision(0));
            assert!(anew.owner > OwnerEpoch(owner), "{:?} after {owner}", anew.owner);
            let late = batch(session(id), owner, 1, vec![put("self", "late")]);
            assert_eq!(store.apply(&late), Outcome::Fenced { owner: anew.owner });
        }
        let mut killed = platter.copy().store().expect("it opens");
        assert!(killed.open_one(session(3)).expect("it opens").owner > OwnerEpoch(owner));
    }
}
