//! What is recorded of a session, while the store is slow and over a crash.

use rejoin_core::scope::ScopeId;
use rejoin_core::timeline::KEPT;

use crate::desk::Desk;

fn is_session(scope: &ScopeId) -> bool {
    matches!(scope, ScopeId::Session(_))
}

/// How many entries the store has of ann's session.
fn stored(desk: &Desk) -> usize {
    let rows = desk.store.rows(ScopeId::Session(desk.id("ann")));
    rows.iter().filter(|(key, _)| key.starts_with(b"timeline/")).count()
}

/// Comes back so often, each time from where the last connection still was.
fn return_often(desk: &mut Desk, times: u32) {
    for _ in 0..times {
        let _ = desk.try_resume("ann");
    }
}

#[test]
fn no_entry_is_given_up_before_it_is_stored() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let before = stored(&desk);
    desk.store.hold(is_session);
    return_often(&mut desk, 20);
    desk.store.release();
    desk.run();
    let session = desk.hub.session(desk.id("ann")).expect("it goes on");
    let count = session.timeline().count() as usize;
    assert!(count >= before + 20, "each takeover is one");
    assert_eq!(stored(&desk), count, "all of them are in the store");
    assert!(session.timeline().recent().len() <= 4, "and few in memory");
}

/// While the store does not answer a session records as much as the store keeps of it, and no more.
#[test]
fn entries_that_wait_for_the_store_are_bounded() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.store.hold(is_session);
    return_often(&mut desk, 3 * KEPT);
    let session = desk.hub.session(desk.id("ann")).expect("it goes on");
    assert!(session.timeline().count() > 3 * KEPT);
    assert_eq!(session.timeline().recent().len(), KEPT as usize);
    desk.store.release();
    desk.run();
    assert_eq!(stored(&desk), KEPT as usize);
}
