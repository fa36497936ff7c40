//! What a name is, and what a change makes of an account.

use bytes::Bytes;

use super::*;
use crate::id::{OwnerEpoch, Revision};
use crate::scope::{Change as RowChange, Opened};

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

fn batch<T: fmt::Debug>(step: Step<T>) -> crate::scope::Batch {
    match step {
        Step::Commit(batch) => batch,
        other => panic!("{other:?}"),
    }
}

/// A book with one account, committed.
fn book(name: &str) -> (Book<u32>, AccountId) {
    let (mut book, _) = Book::open(Vec::new(), OwnerEpoch(1), 2);
    let id = account(name).holder.id();
    let made = batch(book.ask(id, Change::Create(Box::new(account(name))), 0));
    assert!(matches!(book.committed(id, made.revision)[..], [Step::Done(_, 0)]));
    (book, id)
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
    let (mut book, id) = book("ann");
    let locked = batch(book.ask(id, Change::Lock(true), 1));
    assert!(!book.get(id).expect("kept").locked);
    assert!(matches!(book.ask(id, Change::SetRole(Role::Admin), 2), Step::Waits));
    assert!(matches!(book.ask(id, Change::Lock(true), 3), Step::Waits));
    assert!(book.committed(id, Revision(99)).is_empty(), "not the one that is on its way");
    let mut steps = book.committed(id, locked.revision).into_iter();
    assert!(matches!(steps.next(), Some(Step::Done(_, 1))));
    let role = batch(steps.next().expect("the next one begins"));
    assert!(book.get(id).expect("kept").locked);
    let steps = book.committed(id, role.revision);
    // Locked already: there is nothing to write.
    assert!(matches!(steps[..], [Step::Done(_, 2), Step::Done(_, 3)]), "{steps:?}");
}

#[test]
fn what_waits_is_bounded() {
    let (mut book, id) = book("ann");
    batch(book.ask(id, Change::Lock(true), 0));
    let refused = (0..100).filter(|n| {
        matches!(book.ask(id, Change::SetRole(Role::Admin), *n), Step::Refused(Refusal::Busy, _))
    });
    assert_eq!(refused.count(), 84);
}

#[test]
fn a_guest_brings_its_player_to_an_account_that_nobody_has_used() {
    let key = PlayerId([7; 16]);
    let bring = |key| Change::Use { version: 0, link: Some((key, Link::Bring)) };
    let (mut book, id) = book("ann");
    let used = batch(book.ask(id, bring(key), 1));
    book.committed(id, used.revision);
    let ann = book.get(id).expect("kept");
    assert_eq!((ann.player, ann.used, &ann.keys[..]), (key, true, &[key][..]));
    assert_eq!(book.of_key(key).map(|(id, _)| id), Some(id));
    assert!(book.of_player(PlayerId([1; 16])).is_none(), "the player nobody had");
    assert!(matches!(book.ask(id, bring(key), 2), Step::Done(_, 2)), "once more is the same");
    let other = PlayerId([8; 16]);
    assert_eq!(book.preview(id, &bring(other)), Err(Refusal::InUse));
    let join = Change::Use { version: 0, link: Some((other, Link::Join)) };
    let joined = book.preview(id, &join).expect("it may").expect("there is one");
    assert_eq!((joined.player, joined.keys.len()), (key, 2));
}

#[test]
fn a_key_belongs_to_one_account() {
    let (mut book, ann) = book("ann");
    let bob = account("bob").holder.id();
    let mut second = account("bob");
    second.player = PlayerId([9; 16]);
    let made = batch(book.ask(bob, Change::Create(Box::new(second)), 0));
    book.committed(bob, made.revision);
    let third = Change::Create(Box::new(account("cem")));
    assert_eq!(book.preview(account("cem").holder.id(), &third), Err(Refusal::Full));
    let key = PlayerId([7; 16]);
    let join = || Change::Use { version: 0, link: Some((key, Link::Join)) };
    let joined = batch(book.ask(ann, join(), 1));
    assert_eq!(book.preview(bob, &join()), Err(Refusal::Busy), "ann's is on its way");
    book.committed(ann, joined.revision);
    assert_eq!(book.preview(bob, &join()), Err(Refusal::KeyTaken));
    let of_ann = Change::Use { version: 0, link: Some((PlayerId([1; 16]), Link::Bring)) };
    assert_eq!(book.preview(bob, &of_ann), Err(Refusal::KeyTaken), "ann's own player");
    let changed = batch(book.ask(ann, Change::Password("new".to_owned()), 2));
    book.committed(ann, changed.revision);
    assert!(book.of_key(key).is_none(), "a new password clears the keys");
    assert_eq!(book.get(ann).expect("kept").version, 1);
    assert!(book.preview(bob, &join()).is_ok());
}

#[test]
fn a_login_counts_for_the_version_that_it_was_proven_to() {
    let (mut book, id) = book("ann");
    let join = |version| Change::Use { version, link: Some((PlayerId([7; 16]), Link::Join)) };
    let changed = batch(book.ask(id, Change::Password("new".to_owned()), 1));
    assert!(matches!(book.ask(id, join(0), 2), Step::Waits), "behind the new password");
    let steps = book.committed(id, changed.revision);
    let refused = Step::Refused(Refusal::Outdated, 2);
    assert_eq!(format!("{:?}", steps.last()), format!("{:?}", Some(refused)));
    assert!(book.get(id).expect("kept").keys.is_empty());
    assert!(book.preview(id, &join(1)).is_ok());
    let locked = batch(book.ask(id, Change::Lock(true), 3));
    book.committed(id, locked.revision);
    assert_eq!(book.preview(id, &join(1)), Err(Refusal::Locked));
}

#[test]
fn an_account_that_is_made_anew_takes_no_batch_of_a_former_process() {
    let (before, id) = book("ann");
    drop(before);
    // The former process owned it as 1 and has its revision 2 still on the way.
    let rows = vec![(Bytes::from_static(row::KEY), row::encode(&account("ann")))];
    let opened = Opened { owner: OwnerEpoch(2), revision: Revision(1), rows };
    let (mut book, damaged) = Book::<u32>::open(vec![(id, opened)], OwnerEpoch(2), 2);
    assert!(damaged.is_empty());
    let retired = batch(book.ask(id, Change::Retire, 1));
    book.committed(id, retired.revision);
    let gone = batch(book.ask(id, Change::Forget, 2));
    book.committed(id, gone.revision);
    let anew = batch(book.ask(id, Change::Create(Box::new(account("ann"))), 3));
    assert_eq!((anew.owner, anew.revision), (OwnerEpoch(2), Revision(1)));
}

#[test]
fn what_is_being_deleted_is_changed_no_more_and_its_name_is_free_after_that() {
    let (mut book, id) = book("ann");
    let retired = batch(book.ask(id, Change::Retire, 1));
    book.committed(id, retired.revision);
    assert_eq!(book.preview(id, &Change::Lock(false)), Err(Refusal::Leaving));
    let gone = batch(book.ask(id, Change::Forget, 2));
    assert!(gone.delete_scope && matches!(gone.changes[..], [RowChange::DeletePrefix(_)]));
    let again = Change::Create(Box::new(account("ann")));
    assert!(matches!(book.ask(id, again, 3), Step::Waits));
    let mut steps = book.committed(id, gone.revision).into_iter();
    assert!(matches!(steps.next(), Some(Step::Done(_, 2))));
    assert_eq!(batch(steps.next().expect("made anew")).revision, Revision(1));
    assert!(book.is_empty());
}
