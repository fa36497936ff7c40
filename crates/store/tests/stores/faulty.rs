//! The store that fails does so as it was told, and what survives it is what the rules say.

use rejoin_core::id::{OwnerEpoch, Revision, SessionId};
use rejoin_core::scope::ScopeId;
use rejoin_store::contract::{a_patient_writer_gets_everything_in, batch, put};
use rejoin_store::faulty::{Faults, Faulty};
use rejoin_store::{Memory, Outcome, Store, StoreError};

const SCOPE: ScopeId = ScopeId::Session(SessionId(1));

fn with(faults: Faults) -> Faulty<Memory> {
    Faulty::new(Memory::default(), faults, 3)
}

#[test]
fn a_patient_writer_gets_everything_in_through_all_passing_faults() {
    let mut struck = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let store = a_patient_writer_gets_everything_in(Memory::default(), seed);
        struck.extend(store.struck.into_keys());
    }
    let all = ["delay", "full", "reorder", "unknown applied", "unknown lost"];
    assert!(struck.into_iter().eq(all));
}

#[test]
fn a_poisoned_store_answers_nothing_else_any_more() {
    let mut store = with(Faults { poisoned: 1_000, ..Faults::default() });
    let first = batch(SCOPE, 1, 1, vec![put("a", "1")]);
    assert_eq!(store.apply(&first), Outcome::Poisoned);
    store.set_faults(Faults::default());
    assert_eq!(store.apply(&first), Outcome::Poisoned);
    assert_eq!(store.open_one(SCOPE), Err(StoreError::Poisoned));
    assert_eq!(store.scopes(None), Err(StoreError::Poisoned));
}

#[test]
fn an_overtaken_owner_is_fenced() {
    let mut store = with(Faults { fenced: 1_000, ..Faults::default() });
    let fenced = store.apply(&batch(SCOPE, 1, 1, vec![]));
    // Opening a scope that there is not makes it, with the first owner.
    assert_eq!(fenced, Outcome::Committed);
    let fenced = store.apply(&batch(SCOPE, 1, 2, vec![]));
    assert_eq!(fenced, Outcome::Fenced { owner: OwnerEpoch(2) });
}

#[test]
fn what_is_unknown_is_told_when_it_comes_again() {
    for (faults, revision) in [
        (Faults { unknown_applied: 1_000, ..Faults::default() }, Revision(1)),
        (Faults { full: 1_000, ..Faults::default() }, Revision(0)),
    ] {
        let mut store = with(faults);
        let first = batch(SCOPE, 1, 1, vec![put("a", "1")]);
        assert!(store.apply(&first).is_worth_another_try());
        let mut inner = store.into_inner();
        assert_eq!(inner.clone().open_one(SCOPE).map(|opened| opened.revision), Ok(revision));
        assert_eq!(inner.apply(&first), Outcome::Committed);
    }
}
