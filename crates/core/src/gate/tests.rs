//! The order of effects and batches at one gate.

use bytes::Bytes;

use super::{Gate, Gated};
use crate::id::{OwnerEpoch, Revision, SessionId};
use crate::scope::{Batch, Change, Opened, ScopeId};

const SCOPE: ScopeId = ScopeId::Session(SessionId(1));

#[derive(PartialEq, Eq, Debug)]
enum Out {
    Batch(u64, Vec<Change>, bool),
    Said(&'static str),
}

impl Gated for Out {
    fn submit(batch: Batch) -> Self {
        assert_eq!((batch.scope, batch.owner), (SCOPE, OwnerEpoch(1)));
        Self::Batch(batch.revision.0, batch.changes, batch.delete_scope)
    }
}

fn put(key: &'static str, value: &'static str) -> Change {
    Change::Put(Bytes::from_static(key.as_bytes()), Bytes::from_static(value.as_bytes()))
}

fn drain(gate: &mut Gate<Out>) -> Vec<Out> {
    std::iter::from_fn(|| gate.next_effect()).collect()
}

fn input(gate: &mut Gate<Out>, said: &'static str, changes: Vec<Change>) -> Vec<Out> {
    gate.after(Out::Said(said));
    gate.settle(changes);
    drain(gate)
}

#[test]
fn one_batch_is_under_way_and_the_changes_of_several_inputs_go_together() {
    let mut gate = Gate::new(SCOPE);
    let first = input(&mut gate, "a", vec![put("k", "1")]);
    assert_eq!(first, [Out::Batch(1, vec![put("k", "1")], false)]);
    for (said, value) in [("b", "2"), ("c", "3"), ("d", "4")] {
        assert_eq!(input(&mut gate, said, vec![put("k", value)]), []);
    }
    assert_eq!(gate.waiting(), 4);
    gate.committed(Revision(1));
    let second = Out::Batch(2, vec![put("k", "4")], false);
    assert_eq!(drain(&mut gate), [Out::Said("a"), second]);
    gate.committed(Revision(2));
    assert_eq!(drain(&mut gate), ["b", "c", "d"].map(Out::Said));
    assert!(gate.is_at_rest() && gate.is_settled() && gate.waiting() == 0);
}

#[test]
fn an_effect_without_a_change_waits_behind_what_is_under_way_and_behind_what_gathers() {
    let mut gate = Gate::new(SCOPE);
    assert_eq!(input(&mut gate, "free", Vec::new()), [Out::Said("free")]);
    input(&mut gate, "a", vec![put("k", "1")]);
    assert_eq!(input(&mut gate, "behind a", Vec::new()), []);
    assert_eq!(input(&mut gate, "b", vec![Change::Delete(Bytes::from_static(b"k"))]), []);
    assert_eq!(input(&mut gate, "behind b", Vec::new()), []);
    gate.committed(Revision(1));
    let batch = Out::Batch(2, vec![Change::Delete(Bytes::from_static(b"k"))], false);
    assert_eq!(drain(&mut gate), [Out::Said("a"), Out::Said("behind a"), batch]);
    gate.committed(Revision(2));
    assert_eq!(drain(&mut gate), [Out::Said("b"), Out::Said("behind b")]);
}

#[test]
fn rows_that_are_described_late_hold_all_that_changed_until_then() {
    let mut gate = Gate::new(SCOPE);
    gate.touch();
    gate.after(Out::Said("a"));
    gate.end_input();
    assert!(gate.is_due() && !gate.is_settled());
    gate.submit(vec![put("k", "1")]);
    gate.touch();
    gate.after(Out::Said("b"));
    gate.end_input();
    assert!(!gate.is_due(), "one is under way");
    drain(&mut gate);
    gate.committed(Revision(1));
    assert_eq!(drain(&mut gate), [Out::Said("a")]);
    assert!(gate.is_due());
    gate.submit(vec![put("k", "2")]);
    assert_eq!(drain(&mut gate), [Out::Batch(2, vec![put("k", "2")], false)]);
}

#[test]
fn a_scope_that_ends_is_deleted_after_what_is_under_way_and_writes_nothing_that_gathered() {
    let mut gate = Gate::new(SCOPE);
    input(&mut gate, "a", vec![put("k", "1")]);
    assert_eq!(input(&mut gate, "b", vec![put("k", "2")]), []);
    gate.after(Out::Said("last"));
    gate.close();
    assert_eq!(input(&mut gate, "after the end", Vec::new()), []);
    gate.committed(Revision(1));
    let end = Out::Batch(2, vec![Change::DeletePrefix(Bytes::new())], true);
    assert_eq!(drain(&mut gate), [Out::Said("a"), end]);
    gate.committed(Revision(2));
    assert_eq!(drain(&mut gate), ["b", "last", "after the end"].map(Out::Said));
}

// A scope that was deleted counts its revisions from the start again.
#[test]
fn a_late_word_about_the_first_life_of_a_scope_releases_nothing_of_the_second() {
    let mut second = Gate::new(SCOPE);
    input(&mut second, "a", vec![put("k", "1")]);
    second.committed(Revision(7));
    second.committed(Revision(0));
    assert_eq!(drain(&mut second), []);
    second.committed(Revision(1));
    second.committed(Revision(1));
    assert_eq!(drain(&mut second), [Out::Said("a")]);
    // The same where the second life goes on from what was found.
    let opened = Opened { owner: OwnerEpoch(1), revision: Revision(7), rows: Vec::new() };
    let mut found = Gate::opened(SCOPE, &opened);
    found.committed(Revision(7));
    assert_eq!(input(&mut found, "b", vec![put("k", "2")]).len(), 1);
    found.committed(Revision(7));
    assert_eq!(drain(&mut found), []);
    found.committed(Revision(8));
    assert_eq!(drain(&mut found), [Out::Said("b")]);
}

#[test]
fn what_is_abandoned_never_leaves_and_what_may_leave_still_does() {
    let mut gate = Gate::new(SCOPE);
    input(&mut gate, "a", vec![put("k", "1")]);
    assert_eq!(input(&mut gate, "b", vec![put("k", "2")]), []);
    gate.after(Out::Said("c"));
    gate.at_once(Out::Said("now"));
    assert_eq!(gate.held(), 2, "c is of an input that has not ended");
    gate.abandon();
    assert_eq!(gate.held(), 0);
    gate.committed(Revision(1));
    gate.end_input();
    assert_eq!(drain(&mut gate), [Out::Said("now")]);
}

#[test]
fn a_passing_gate_holds_effects_until_their_input_ends_and_keeps_its_batches() {
    let mut gate = Gate::passing(SCOPE, &Opened { owner: OwnerEpoch(1), ..Opened::default() });
    gate.after(Out::Said("a"));
    assert_eq!(drain(&mut gate), [], "its input may still be abandoned");
    gate.touch();
    gate.end_input();
    assert_eq!(drain(&mut gate), [Out::Said("a")]);
    assert!(gate.is_due());
    gate.submit(vec![put("k", "1")]);
    gate.after(Out::Said("b"));
    gate.end_input();
    assert_eq!(drain(&mut gate), [Out::Batch(1, vec![put("k", "1")], false), Out::Said("b")]);
    assert!(gate.is_under_way() && gate.held() == 0);
}
