//! The store holds an earlier state than it once held: a backup was restored, or an older copy put back. Whoever
//! returns is told so, however far things have gone on by then, and nothing that was given out before is taken
//! for something that was given out since.

use rejoin_core::account::Refusal;
use rejoin_core::hub::{Answer, Command, SessionCommand, Warning};
use rejoin_core::time::WallTime;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, Rung, RungReason, hello, login};

use crate::desk::client::{Client, hello_for};
use crate::desk::store::Backup;
use crate::desk::{Desk, ban};

const ROLLED_BACK: (Rung, RungReason) = (Rung::Resynced, RungReason::RolledBack);
const REPLAYED: (Rung, RungReason) = (Rung::Replayed, RungReason::Complete);
const DAY_MS: u64 = 86_400_000;

fn resumed(desk: &mut Desk, name: &'static str) -> (Rung, RungReason) {
    let welcome = desk.resume(name);
    (welcome.rung(), welcome.reason())
}

/// The server is killed and started again from a restored backup.
fn restore(desk: &mut Desk, backup: &Backup) {
    desk.crash();
    desk.store.restore(backup);
    desk.restart();
}

fn drop_and_resume(desk: &mut Desk, name: &'static str) -> (Rung, RungReason) {
    desk.cut(name);
    resumed(desk, name)
}

#[test]
fn in_a_zone_that_has_gone_on_nobody_is_told_replayed() {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cat"]);
    let backup = desk.store.backup();
    for number in 0..20 {
        desk.say("cat", &format!("say gone {number}"));
    }
    restore(&mut desk, &backup);
    assert_eq!(resumed(&mut desk, "bob"), ROLLED_BACK);
    for number in 0..40 {
        desk.say("bob", &format!("say new {number}"));
    }
    // Her number was passed long ago.
    assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK);
    desk.take("ann");
    desk.say("bob", "say hello");
    assert_eq!(desk.take("ann"), ["hello"]);
    // What she knows from here on is so.
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
    desk.crash();
    desk.restart();
    assert_eq!(resumed(&mut desk, "ann"), REPLAYED);
}

/// A zone that keeps nothing back says who joined before the session has committed it. After a crash the
/// session joins again, and its new stay has the number of the one that is gone.
#[test]
fn a_join_that_a_crash_took_back_is_no_stay_to_return_to() {
    for kind in ["session", "memory"] {
        let mut desk = Desk::plain();
        for name in ["ann", "bob"] {
            desk.login(name);
        }
        desk.join("bob", kind);
        // The intent is committed, and that she is in is not.
        desk.store.stop_after = Some(desk.store.commits + 1);
        desk.join("ann", kind);
        desk.say("bob", "say gone");
        assert_eq!(desk.take("ann").last().map(String::as_str), Some("gone"), "{kind}");
        desk.crash();
        desk.restart();
        desk.resume("bob");
        desk.join("bob", kind);
        for number in 0..5 {
            desk.say("bob", &format!("say {number}"));
        }
        assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK, "{kind}");
        desk.take("ann");
        desk.say("bob", "say hello");
        assert_eq!(desk.take("ann"), ["hello"]);
        assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
    }
}

#[test]
fn a_welcome_that_is_lost_changes_nothing_of_that() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let backup = desk.store.backup();
    for number in 0..5 {
        desk.say("bob", &format!("say gone {number}"));
    }
    restore(&mut desk, &backup);
    assert_eq!(resumed(&mut desk, "bob"), ROLLED_BACK);
    for number in 0..20 {
        desk.say("bob", &format!("say new {number}"));
    }
    for _ in 0..3 {
        // It never gets to read what it is told, and the server is killed once more.
        let ann = desk.client_mut("ann");
        ann.is_obliging = false;
        let (leg, seq, token, epoch) = (ann.leg, ann.seq, ann.token.clone(), ann.epoch);
        assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK);
        desk.crash();
        desk.restart();
        let ann = desk.client_mut("ann");
        (ann.leg, ann.seq, ann.token, ann.epoch) = (leg, seq, token, epoch);
    }
    desk.client_mut("ann").is_obliging = true;
    assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK);
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
}

#[test]
fn outside_zones_it_is_the_same() {
    let mut desk = Desk::plain();
    desk.login("eve");
    desk.say("eve", "nobody hears it");
    let backup = desk.store.backup();
    for _ in 0..3 {
        desk.say("eve", "nobody hears it");
    }
    restore(&mut desk, &backup);
    // Her numbers are passed before she is back.
    let eve = desk.id("eve");
    for _ in 0..9 {
        desk.order(Command::Session(eve, SessionCommand::Send("psst".into())));
    }
    let welcome = desk.resume("eve");
    assert_eq!((welcome.rung(), welcome.reason()), ROLLED_BACK);
    assert_eq!((welcome.lost_upstream, welcome.applied), (3, 4));
    assert_eq!(drop_and_resume(&mut desk, "eve"), REPLAYED);
}

#[test]
fn what_was_said_upward_and_is_gone_is_counted_and_its_numbers_go_on() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let backup = desk.store.backup();
    for number in 0..4 {
        desk.say("ann", &format!("say gone {number}"));
    }
    let applied = desk.client("ann").applied;
    restore(&mut desk, &backup);
    assert_eq!(resumed(&mut desk, "bob"), ROLLED_BACK);
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.reason()), ROLLED_BACK);
    assert_eq!((welcome.lost_upstream, welcome.applied), (4, applied));
    desk.take("bob");
    desk.say("ann", "say new");
    assert_eq!(desk.take("bob"), ["new"]);
}

#[test]
fn a_place_that_is_gone_is_no_position_either() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
    }
    let backup = desk.store.backup();
    desk.join("ann", "plaza");
    restore(&mut desk, &backup);
    // A leg that nobody has opened: she goes back to one below it, which only this reason allows.
    assert_eq!(resumed(&mut desk, "ann"), (Rung::Resynced, RungReason::UnknownPosition));
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
}

#[test]
fn ids_that_were_given_out_are_not_given_out_again() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let backup = desk.store.backup();
    desk.login("bob");
    let gone = desk.id("bob");
    restore(&mut desk, &backup);
    assert_eq!(desk.try_resume("bob").map(|_| ()), Err(CloseCode::SessionUnknown));
    desk.login("cat");
    assert!(desk.id("cat") > gone, "{:?} {gone:?}", desk.id("cat"));
    desk.crash();
    desk.restart();
    desk.login("dan");
    assert!(desk.id("dan").0 < desk.id("cat").0 + (1 << 20), "passed over once only");
}

#[test]
fn an_older_copy_is_noticed_by_the_token_of_who_comes_back() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let backup = desk.store.backup();
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
    for number in 0..5 {
        desk.say("bob", &format!("say gone {number}"));
    }
    desk.crash();
    desk.store.copy_back(&backup);
    desk.restart();
    // Nothing tells that bob lost something but his own numbers, and those are ahead.
    assert_eq!(resumed(&mut desk, "bob").0, Rung::Resynced);
    for number in 0..20 {
        desk.say("bob", &format!("say new {number}"));
    }
    assert!(desk.warnings.is_empty());
    // She signs as well, so she has her session; and it is told once.
    assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK);
    let ann = desk.id("ann");
    assert_eq!(desk.warnings, [Warning::StoreWentBack { session: ann }]);
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
    assert_eq!(desk.warnings.len(), 1);
}

#[test]
fn a_token_that_is_gone_opens_nothing_by_itself() {
    let unsigned = |client: &Client, nonce: &[u8]| -> Hello {
        let mut hello = client.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.key = None;
        }
        hello
    };
    let mut desk = Desk::plain();
    let identity = Some(login::Identity::Mint(Default::default()));
    let mint = hello_for(hello::Purpose::Login(Login { identity, fresh: false }));
    desk.try_hello("gus", |_, _| mint).expect("let in");
    desk.join("gus", "plaza");
    let backup = desk.store.backup();
    desk.cut("gus");
    desk.try_hello("gus", unsigned).expect("let in");
    desk.say("gus", "say gone");
    desk.crash();
    desk.store.copy_back(&backup);
    desk.restart();
    assert_eq!(desk.try_hello("gus", unsigned), Err(CloseCode::SessionUnknown));
    assert_eq!(desk.warnings.len(), 1);
    let identity = Some(login::Identity::Secret(desk.client("gus").secret.clone()));
    let login = hello_for(hello::Purpose::Login(Login { identity, fresh: false }));
    let found = desk.try_hello("gus", |_, _| login).expect("let in");
    assert!(found.found);
    assert_eq!(found.rung(), Rung::Resynced);
}

#[test]
fn an_epoch_that_was_not_reached_yet_is_no_reason_for_replayed() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.cut("ann");
    desk.client_mut("ann").epoch += 3;
    assert_eq!(resumed(&mut desk, "ann"), ROLLED_BACK);
    assert_eq!(drop_and_resume(&mut desk, "ann"), REPLAYED);
}

#[test]
fn a_start_with_a_clock_that_is_ahead_ends_no_later_ban() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.client("ann").player();
    desk.wall_ahead_ms = 365 * DAY_MS;
    desk.crash();
    desk.restart();
    assert!(desk.warnings.is_empty());
    desk.wall_ahead_ms = 0;
    desk.crash();
    desk.restart();
    assert!(matches!(desk.warnings[..], [Warning::ClockWentBack { .. }]), "{:?}", desk.warnings);
    // For a week, by the right clock.
    let until = WallTime(1_000_000 + desk.now.as_millis() + 7 * DAY_MS);
    desk.order(ban(ann, until));
    assert_eq!(desk.try_login("ann").map(|_| ()), Err(CloseCode::Banned));
    // Until tomorrow, by a clock of last week.
    let ticket = desk.order(ban(ann, WallTime(1_000)));
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::PlayerRefused(Refusal::BanOver)));
    assert_eq!(desk.try_login("ann").map(|_| ()), Err(CloseCode::Banned), "it stays as it was");
}
