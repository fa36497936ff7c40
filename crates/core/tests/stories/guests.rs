//! Guests by secret: what is kept of them, from when on, and for how long.

use std::time::Duration;

use rejoin_core::budget::Quota;
use rejoin_core::guard::{GuardConfig, Origin};
use rejoin_core::hub::{Answer, Command, HubConfig, HubInput, PlayerCommand, Whom};
use rejoin_core::id::{OwnerEpoch, PlayerId, Revision};
use rejoin_core::scope::{Batch, Change, ScopeId};
use rejoin_core::secret::Secret;
use rejoin_core::time::WallTime;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, hello, login};

use crate::desk::client::hello_for;
use crate::desk::{Desk, config};

const DAY_MS: u64 = 24 * 3_600 * 1_000;

fn mint() -> Hello {
    let identity = Some(login::Identity::Mint(Default::default()));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

fn by_secret(secret: Bytes) -> Hello {
    let identity = Some(login::Identity::Secret(secret));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

fn come(desk: &mut Desk, name: &'static str) -> PlayerId {
    let welcome = desk.try_hello(name, |_, _| mint()).expect("a guest comes in");
    PlayerId::from_slice(&welcome.player).expect("16 bytes")
}

fn come_again(desk: &mut Desk, name: &'static str) -> Result<PlayerId, CloseCode> {
    let welcome = desk.try_hello(name, |known, _| by_secret(known.secret.clone()))?;
    Ok(PlayerId::from_slice(&welcome.player).expect("16 bytes"))
}

fn days(desk: &mut Desk, days: u64) {
    let wall = 1_000_000 + desk.now.as_millis() + days * DAY_MS;
    desk.input(HubInput::Wall(WallTime(wall)));
}

#[test]
fn a_guest_that_does_not_return_leaves_nothing_and_is_known_when_it_does() {
    let mut desk = Desk::plain();
    let ann = come(&mut desk, "ann");
    desk.cut("ann");
    desk.wait(6_000);
    assert!(desk.hub.session(desk.id("ann")).is_none(), "its hold is over");
    assert!(!desk.store.has(ScopeId::Player(ann)), "nothing is kept of it");
    desk.crash();
    desk.restart();
    assert_eq!(come_again(&mut desk, "ann"), Ok(ann), "its second login");
    assert!(desk.store.has(ScopeId::Player(ann)), "from then on it is kept");
}

#[test]
fn the_first_return_of_a_guest_makes_it_durable() {
    let mut desk = Desk::plain();
    let ann = come(&mut desk, "ann");
    desk.cut("ann");
    desk.crash();
    desk.restart();
    assert!(!desk.store.has(ScopeId::Player(ann)));
    desk.resume("ann");
    assert!(desk.store.has(ScopeId::Player(ann)));
}

#[test]
fn with_as_many_guests_as_may_be_kept_new_ones_are_refused_and_the_kept_are_not() {
    let mut desk = Desk::new(HubConfig { guests_max: 1, ..config() });
    let ann = come(&mut desk, "ann");
    let bob = come(&mut desk, "bob");
    assert_eq!(come_again(&mut desk, "ann"), Ok(ann));
    assert_eq!(desk.try_hello("cid", |_, _| mint()), Err(CloseCode::Full));
    assert_eq!(come_again(&mut desk, "bob"), Err(CloseCode::Full), "nothing is kept of it yet");
    desk.cut("bob");
    assert!(desk.try_resume("bob").is_ok(), "a session is not lost by that");
    assert_eq!(come_again(&mut desk, "ann"), Ok(ann));
    assert!(!desk.store.has(ScopeId::Player(bob)));
    // A ban is no guest, and takes no place of one.
    let ban =
        PlayerCommand::Ban(Whom::Player(PlayerId([9; 16])), WallTime(u64::MAX), String::new());
    desk.command(Command::Player(ban));
    desk.crash();
    desk.restart();
    assert_eq!(come_again(&mut desk, "ann"), Ok(ann));
}

#[test]
fn a_guest_that_was_not_here_for_long_is_forgotten_and_a_ban_is_not() {
    let mut desk = Desk::plain();
    let names = ["ann", "bob", "cid"];
    let [ann, bob, cid] = names.map(|name| come(&mut desk, name));
    for name in names {
        come_again(&mut desk, name).expect("known");
    }
    let ban = PlayerCommand::Ban(Whom::Player(bob), WallTime(u64::MAX), String::new());
    desk.command(Command::Player(ban));
    desk.bye("ann");
    days(&mut desk, 89);
    assert!(desk.store.has(ScopeId::Player(ann)));
    days(&mut desk, 91);
    let kept = [ann, bob, cid].map(|player| desk.store.has(ScopeId::Player(player)));
    assert_eq!(kept, [false, true, true], "gone, banned, connected");
    assert_eq!(come_again(&mut desk, "ann"), Ok(ann), "its secret is still its own");
    assert_eq!(come_again(&mut desk, "bob"), Err(CloseCode::Banned));
}

#[test]
fn few_guests_are_looked_at_at_a_time_and_all_in_the_end() {
    let mut desk = Desk::plain();
    let guests: Vec<PlayerId> = (0..100)
        .map(|number| {
            let name: &'static str = format!("guest {number}").leak();
            let player = come(&mut desk, name);
            come_again(&mut desk, name).expect("known");
            desk.bye(name);
            player
        })
        .collect();
    let kept = |desk: &Desk| {
        guests.iter().filter(|player| desk.store.has(ScopeId::Player(**player))).count()
    };
    assert_eq!(kept(&desk), 100);
    days(&mut desk, 91);
    assert_eq!(kept(&desk), 36, "sixty-four at a time");
    days(&mut desk, 91);
    assert_eq!(kept(&desk), 0);
}

#[test]
fn a_row_of_before_is_read_and_its_time_begins_now() {
    let mut desk = Desk::plain();
    // As it was written when secrets were only drawn: the hash in field 1, and nothing else.
    let secret = Secret::from_slice(&[6; 32]).expect("32 bytes");
    let player = PlayerId::of_secret(secret.reveal());
    let mut row = vec![0x0a, 32];
    row.extend(secret.hash().as_bytes());
    let change = Change::Put(Bytes::from_static(b"player"), row.into());
    desk.store.submit(Batch {
        scope: ScopeId::Player(player),
        owner: OwnerEpoch(1),
        revision: Revision(1),
        changes: vec![change],
        delete_scope: false,
    });
    desk.run();
    desk.crash();
    desk.restart();
    days(&mut desk, 91);
    assert!(desk.store.has(ScopeId::Player(player)), "it was not known when it was here");
    let old = |_: &_, _: &[u8]| by_secret(Bytes::from_static(&[6; 32]));
    assert!(desk.try_hello("ann", old).is_ok());
    desk.bye("ann");
    days(&mut desk, 190);
    assert!(!desk.store.has(ScopeId::Player(player)));
    assert_eq!(desk.try_hello("ann", old), Err(CloseCode::Credential), "it cannot prove itself");
}

#[test]
fn secrets_for_an_address_are_rationed() {
    let quota = Quota { most: 3, within: Duration::from_secs(60) };
    let guard = GuardConfig { address_mints: quota, ..GuardConfig::open() };
    let mut desk = Desk::new(HubConfig { guard, ..config() });
    desk.origin = Some(Origin::v4(1));
    for name in ["ann", "bob", "cid"] {
        come(&mut desk, name);
    }
    assert_eq!(desk.try_hello("dan", |_, _| mint()), Err(CloseCode::Flooded));
    assert!(come_again(&mut desk, "ann").is_ok(), "one that it has");
    desk.origin = Some(Origin::v4(2));
    come(&mut desk, "dan");
    desk.origin = Some(Origin::v4(1));
    desk.wait(20_000);
    come(&mut desk, "eve");
}

#[test]
fn what_is_ordered_of_a_guest_that_is_being_deleted_waits_for_that() {
    for is_deleted_again in [false, true] {
        let mut desk = Desk::plain();
        let ann = come(&mut desk, "ann");
        come_again(&mut desk, "ann").expect("known");
        desk.bye("ann");
        let whom = || Whom::Player(ann);
        let ban = || PlayerCommand::Ban(whom(), WallTime(u64::MAX), String::new());
        let last = if is_deleted_again { PlayerCommand::Delete(whom()) } else { ban() };
        let orders = [PlayerCommand::Delete(whom()), ban(), PlayerCommand::Unban(whom()), last];
        desk.store.hold(|scope| matches!(scope, ScopeId::Player(_)));
        let tickets = orders.map(|order| desk.order(Command::Player(order)));
        assert!(tickets.iter().all(|ticket| !desk.answers.contains_key(ticket)));
        desk.store.release();
        desk.run();
        let answers = tickets.map(|ticket| desk.answers.get(&ticket) == Some(&Answer::Done));
        assert_eq!(answers, [true; 4]);
        assert_eq!(desk.store.has(ScopeId::Player(ann)), !is_deleted_again);
        desk.crash();
        desk.restart();
        let verdict = if is_deleted_again { Ok(ann) } else { Err(CloseCode::Banned) };
        assert_eq!(come_again(&mut desk, "ann"), verdict);
    }
}

#[test]
fn a_guest_that_was_deleted_and_comes_again_takes_no_batch_of_a_former_process() {
    let mut desk = Desk::plain();
    let ann = come(&mut desk, "ann");
    come_again(&mut desk, "ann").expect("known");
    desk.bye("ann");
    let former = desk.store.owner(ScopeId::Player(ann)).expect("kept");
    desk.crash();
    desk.restart();
    let delete = PlayerCommand::Delete(Whom::Player(ann));
    assert_eq!(desk.command(Command::Player(delete)), Some(Answer::Done));
    assert!(!desk.store.has(ScopeId::Player(ann)));
    let ban = PlayerCommand::Ban(Whom::Player(ann), WallTime(u64::MAX), String::new());
    assert_eq!(desk.command(Command::Player(ban)), Some(Answer::Done));
    let owner = desk.store.owner(ScopeId::Player(ann)).expect("kept again");
    assert!(owner > former, "{owner} may have a batch of {former} on its way");
}
