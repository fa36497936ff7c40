//! What a name is, and what a change makes of an account.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::*;
use crate::id::{OwnerEpoch, Revision, SessionId};
use crate::scope::{Batch, Change as RowChange, Opened};

fn account(name: &str) -> Account {
    Account {
        holder: Holder::Name(Name::parse(name).expect("a name")),
        password: Some("hash".to_owned()),
        version: 0,
        role: Role::Player,
        locked: false,
        leaving: false,
        player: PlayerId([1; 16]),
        used: false,
        keys: Vec::new(),
        created: WallTime(5),
    }
}

type Output = AccountOutput<u32>;

fn outputs(accounts: &mut Accounts<u32>) -> Vec<Output> {
    std::iter::from_fn(|| accounts.next_output()).map(|(_, output)| output).collect()
}

fn ask(accounts: &mut Accounts<u32>, id: AccountId, change: Change, then: u32) -> Vec<Output> {
    accounts.ask(id, change, then);
    outputs(accounts)
}

fn commit(accounts: &mut Accounts<u32>, id: AccountId, revision: Revision) -> Vec<Output> {
    accounts.committed(id, revision);
    outputs(accounts)
}

/// The batch that is the only output.
fn batch(outputs: Vec<Output>) -> Batch {
    match <[Output; 1]>::try_from(outputs) {
        Ok([AccountOutput::Commit(batch)]) => batch,
        other => panic!("{other:?}"),
    }
}

/// Makes a change and commits it.
fn make(accounts: &mut Accounts<u32>, id: AccountId, change: Change) -> Batch {
    let batch = batch(ask(accounts, id, change, 0));
    let done = commit(accounts, id, batch.revision);
    assert!(matches!(done[..], [AccountOutput::Done(0)]), "{done:?}");
    batch
}

fn create(name: &str) -> Change {
    Change::Create(Box::new(account(name)))
}

/// One account, committed.
fn accounts_with(name: &str) -> (Accounts<u32>, AccountId) {
    let mut accounts = Accounts::open(Vec::new(), OwnerEpoch(1), 2);
    let id = account(name).holder.id();
    make(&mut accounts, id, create(name));
    (accounts, id)
}

#[test]
fn a_name_is_plain_and_short_and_has_one_form() {
    for good in ["ann", "Ann.B_2-x", "0xy", &"z".repeat(32)] {
        let name = Name::parse(good).unwrap_or_else(|why| panic!("{good}: {why}"));
        assert_eq!(name.as_str(), good.to_ascii_lowercase());
    }
    let long = "a".repeat(10_000);
    let id = "0123456789abcdef0123456789abcdef";
    let greek = "\u{430}nn"; // A Cyrillic letter that looks like an a.
    for bad in ["", "an", &long, "ann\n", "an\0n", "a nn", greek, "ánn", "-ann", ".ann", id] {
        assert!(Name::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_row_is_read_as_it_was_written() {
    let mut one = account("ann");
    one.keys = vec![PlayerId([2; 16]), PlayerId([3; 16])];
    (one.role, one.locked, one.used, one.version) = (Role::Admin, true, true, 9);
    let two = Account {
        holder: Holder::Subject { issuer: "https://i".to_owned(), subject: "s".to_owned() },
        password: None,
        ..one.clone()
    };
    for account in [one, two] {
        let rows = vec![(Bytes::from_static(row::KEY), row::encode(&account))];
        let opened = Opened { owner: OwnerEpoch(1), revision: Revision(1), rows };
        assert_eq!(row::decode(&opened), Ok(account));
    }
    assert!(row::decode(&Opened::default()).is_err());
}

#[test]
fn a_change_counts_once_it_is_committed_and_the_next_one_waits_for_it() {
    let (mut accounts, id) = accounts_with("ann");
    let locked = batch(ask(&mut accounts, id, Change::Lock(true), 1));
    assert!(!accounts.get(id).expect("kept").locked);
    assert!(ask(&mut accounts, id, Change::SetRole(Role::Admin), 2).is_empty());
    assert!(ask(&mut accounts, id, Change::Lock(true), 3).is_empty());
    let other = commit(&mut accounts, id, Revision(99));
    assert!(other.is_empty(), "not the one that is on its way");
    let mut next = commit(&mut accounts, id, locked.revision);
    assert!(matches!(next.remove(0), AccountOutput::Done(1)));
    let role = batch(next);
    assert!(accounts.get(id).expect("kept").locked);
    let done = commit(&mut accounts, id, role.revision);
    // Locked already: there is nothing to write.
    assert!(matches!(done[..], [AccountOutput::Done(2), AccountOutput::Done(3)]), "{done:?}");
}

#[test]
fn what_waits_is_bounded() {
    let (mut accounts, id) = accounts_with("ann");
    batch(ask(&mut accounts, id, Change::Lock(true), 0));
    let refused = (0..100).filter(|n| {
        let outputs = ask(&mut accounts, id, Change::SetRole(Role::Admin), *n);
        matches!(outputs[..], [AccountOutput::Refused(Refusal::Busy, _)])
    });
    assert_eq!(refused.count(), 84);
}

#[test]
fn a_guest_brings_its_player_to_an_account_that_nobody_has_used() {
    let key = PlayerId([7; 16]);
    let bring = |key| Change::Use { version: 0, link: Some((key, Link::Bring)) };
    let (mut accounts, id) = accounts_with("ann");
    make(&mut accounts, id, bring(key));
    let ann = accounts.get(id).expect("kept");
    assert_eq!((ann.player, ann.used, &ann.keys[..]), (key, true, &[key][..]));
    assert_eq!(accounts.of_key(key).map(|(id, _)| id), Some(id));
    assert!(accounts.of_player(PlayerId([1; 16])).is_none(), "the player nobody had");
    let again = ask(&mut accounts, id, bring(key), 2);
    assert!(matches!(again[..], [AccountOutput::Done(2)]), "once more is the same");
    let other = PlayerId([8; 16]);
    assert_eq!(accounts.preview(id, &bring(other)), Err(Refusal::InUse));
    let join = Change::Use { version: 0, link: Some((other, Link::Join)) };
    let joined = accounts.preview(id, &join).expect("it may");
    assert_eq!((joined.player, joined.keys.len()), (key, 2));
}

#[test]
fn a_key_belongs_to_one_account() {
    let (mut accounts, ann) = accounts_with("ann");
    let bob = account("bob").holder.id();
    let mut second = account("bob");
    second.player = PlayerId([9; 16]);
    make(&mut accounts, bob, Change::Create(Box::new(second)));
    let third = account("cem").holder.id();
    assert_eq!(accounts.preview(third, &create("cem")), Err(Refusal::Full));
    let key = PlayerId([7; 16]);
    let join = || Change::Use { version: 0, link: Some((key, Link::Join)) };
    let joined = batch(ask(&mut accounts, ann, join(), 1));
    assert_eq!(accounts.preview(bob, &join()), Err(Refusal::Busy), "ann's is on its way");
    commit(&mut accounts, ann, joined.revision);
    assert_eq!(accounts.preview(bob, &join()), Err(Refusal::KeyTaken));
    let of_ann = Change::Use { version: 0, link: Some((PlayerId([1; 16]), Link::Bring)) };
    assert_eq!(accounts.preview(bob, &of_ann), Err(Refusal::KeyTaken), "ann's own player");
    make(&mut accounts, ann, Change::Password("new".to_owned()));
    assert!(accounts.of_key(key).is_none(), "a new password clears the keys");
    assert_eq!(accounts.get(ann).expect("kept").version, 1);
    assert!(accounts.preview(bob, &join()).is_ok());
}

#[test]
fn an_account_that_is_being_made_has_its_place_and_a_damaged_one_takes_none() {
    let damaged = account("dan").holder.id();
    let opened = Opened { owner: OwnerEpoch(3), revision: Revision(4), rows: Vec::new() };
    let mut accounts = Accounts::open(vec![(damaged, opened)], OwnerEpoch(3), 2);
    assert_eq!(accounts.damaged().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [damaged]);
    let [ann, bob, cem] = ["ann", "bob", "cem"].map(|name| account(name).holder.id());
    make(&mut accounts, ann, create("ann"));
    let made = batch(ask(&mut accounts, bob, create("bob"), 1));
    assert_eq!(accounts.preview(cem, &create("cem")), Err(Refusal::Full), "bob is on its way");
    assert!(accounts.preview(bob, &create("bob")).is_ok(), "its own place is not another's");
    commit(&mut accounts, bob, made.revision);
    assert_eq!(accounts.preview(cem, &create("cem")), Err(Refusal::Full));
}

/// Its rows are still there: a first batch in their place would never be taken by the store.
#[test]
fn a_damaged_account_is_not_made_again_and_not_changed() {
    let id = account("ann").holder.id();
    let rows = vec![(Bytes::from_static(row::KEY), Bytes::from_static(b"\xff"))];
    let opened = Opened { owner: OwnerEpoch(3), revision: Revision(4), rows };
    let mut accounts = Accounts::open(vec![(id, opened)], OwnerEpoch(3), 2);
    assert!(accounts.get(id).is_none());
    let made = ask(&mut accounts, id, create("ann"), 1);
    assert!(matches!(made[..], [AccountOutput::Refused(Refusal::Exists, 1)]), "{made:?}");
    let locked = ask(&mut accounts, id, Change::Lock(true), 2);
    assert!(matches!(locked[..], [AccountOutput::Refused(Refusal::Unknown, 2)]), "{locked:?}");
    accounts.leave(id, BTreeSet::new(), 3);
    let left = outputs(&mut accounts);
    assert!(matches!(left[..], [AccountOutput::Refused(Refusal::Unknown, 3)]), "{left:?}");
}

#[test]
fn a_login_counts_for_the_version_that_it_was_proven_to() {
    let (mut accounts, id) = accounts_with("ann");
    let join = |version| Change::Use { version, link: Some((PlayerId([7; 16]), Link::Join)) };
    let changed = batch(ask(&mut accounts, id, Change::Password("new".to_owned()), 1));
    assert!(ask(&mut accounts, id, join(0), 2).is_empty(), "behind the new password");
    let next = commit(&mut accounts, id, changed.revision);
    let refused = AccountOutput::Refused(Refusal::Outdated, 2);
    assert_eq!(format!("{:?}", next.last()), format!("{:?}", Some(refused)));
    assert!(accounts.get(id).expect("kept").keys.is_empty());
    assert!(accounts.preview(id, &join(1)).is_ok());
    make(&mut accounts, id, Change::Lock(true));
    assert_eq!(accounts.preview(id, &join(1)), Err(Refusal::Locked));
}

/// A login and a new password that wait together are committed apart: the login counts in between.
#[test]
fn changes_that_wait_together_are_seen_one_after_the_other() {
    let (mut accounts, id) = accounts_with("ann");
    let locked = batch(ask(&mut accounts, id, Change::SetRole(Role::Admin), 1));
    let used = Change::Use { version: 0, link: None };
    assert!(ask(&mut accounts, id, used, 2).is_empty());
    assert!(ask(&mut accounts, id, Change::Password("new".to_owned()), 3).is_empty());
    let mut next = commit(&mut accounts, id, locked.revision);
    assert!(matches!(next.remove(0), AccountOutput::Done(1)));
    let login = batch(next);
    let mut next = commit(&mut accounts, id, login.revision);
    assert!(matches!(next.remove(0), AccountOutput::Done(2)));
    let ann = accounts.get(id).expect("kept");
    assert_eq!((ann.used, ann.version), (true, 0), "the new password is not seen yet");
    assert_eq!(batch(next).revision, login.revision.next());
}

#[test]
fn an_account_that_is_made_anew_takes_no_batch_of_a_former_process() {
    let id = account("ann").holder.id();
    // The former process owned it as 1 and has its revision 2 still on the way.
    let rows = vec![(Bytes::from_static(row::KEY), row::encode(&account("ann")))];
    let opened = Opened { owner: OwnerEpoch(2), revision: Revision(1), rows };
    let mut accounts = Accounts::open(vec![(id, opened)], OwnerEpoch(2), 2);
    assert!(accounts.damaged().is_empty());
    make(&mut accounts, id, Change::Retire);
    accounts.leave(id, BTreeSet::new(), 2);
    let gone = batch(outputs(&mut accounts));
    commit(&mut accounts, id, gone.revision);
    let anew = batch(ask(&mut accounts, id, create("ann"), 3));
    assert_eq!((anew.owner, anew.revision), (OwnerEpoch(2), Revision(1)));
}

#[test]
fn what_is_being_deleted_is_changed_no_more_and_its_name_is_free_after_that() {
    let (mut accounts, id) = accounts_with("ann");
    make(&mut accounts, id, Change::Retire);
    assert_eq!(accounts.preview(id, &Change::Lock(false)), Err(Refusal::Leaving));
    accounts.leave(id, BTreeSet::new(), 2);
    let gone = batch(outputs(&mut accounts));
    assert!(gone.delete_scope && matches!(gone.changes[..], [RowChange::DeletePrefix(_)]));
    assert!(ask(&mut accounts, id, create("ann"), 3).is_empty(), "behind the deletion");
    let mut next = commit(&mut accounts, id, gone.revision);
    assert!(matches!(next.remove(0), AccountOutput::Done(2)));
    assert_eq!(batch(next).revision, Revision(1));
    assert!(accounts.get(id).is_none() && accounts.after(None).next().is_none());
    // A late word about the first life makes nothing of the second visible.
    assert!(commit(&mut accounts, id, gone.revision).is_empty());
    assert!(accounts.get(id).is_none());
}

#[test]
fn an_account_is_deleted_after_every_session_that_was_named_and_all_askers_hear_of_it() {
    let (mut accounts, id) = accounts_with("ann");
    make(&mut accounts, id, Change::Retire);
    let [one, two] = [SessionId(1), SessionId(2)];
    accounts.leave(id, BTreeSet::from([one]), 1);
    accounts.leave(id, BTreeSet::from([one, two]), 2);
    accounts.session_ended(id, one);
    accounts.session_ended(id, one);
    assert!(outputs(&mut accounts).is_empty(), "the other session can still come back");
    accounts.session_ended(id, two);
    let gone = batch(outputs(&mut accounts));
    accounts.leave(id, BTreeSet::new(), 3);
    assert!(outputs(&mut accounts).is_empty());
    assert!(accounts.get(id).is_some(), "until that is committed");
    let done = commit(&mut accounts, id, gone.revision);
    let told = done.iter().map(|output| matches!(output, AccountOutput::Done(1..=3)));
    assert_eq!(told.collect::<Vec<_>>(), [true; 3], "{done:?}");
    let again = ask(&mut accounts, id, Change::Retire, 4);
    assert!(matches!(again[..], [AccountOutput::Refused(Refusal::Unknown, 4)]), "{again:?}");
}
