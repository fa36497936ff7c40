//! Durable before visible: nothing that anybody could see leaves before the commit that holds its
//! cause. And recovery: whatever the moment of a crash, everybody has exactly one place afterwards.

use rejoin_core::event::EndCause;
use rejoin_core::hub::{Command, SessionCommand};
use rejoin_core::id::ZoneId;
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Place;
use rejoin_core::time::WallTime;
use rejoin_core::wire::v1::{CloseCode, NoticeCode, Ping, Rung, client_frame, server_frame};

use crate::desk::{Desk, ban, config, join};

/// Everything that the outside has seen since it was last asked.
fn seen(desk: &mut Desk) -> Vec<String> {
    let names: Vec<&'static str> = desk.clients.keys().copied().collect();
    let mut seen = Vec::new();
    for name in names {
        seen.extend(desk.take(name).into_iter().map(|said| format!("{name}: {said}")));
    }
    seen.extend(desk.events.drain(..).map(|event| format!("{event:?}")));
    seen.extend(std::mem::take(&mut desk.answers).into_values().map(|a| format!("{a:?}")));
    seen.extend(desk.natives.drain(..).map(|(_, said)| said));
    seen
}

type Act = fn(&mut Desk);

/// Acts that change something, each told by the word that it must end in.
fn acts() -> Vec<(&'static str, Act, &'static str)> {
    vec![
        ("login", |desk| drop(desk.try_login("dan")), "dan: welcome New First"),
        ("resume", |desk| drop(desk.try_resume("cat")), "cat: welcome Replayed Complete"),
        ("takeover", |desk| drop(desk.try_resume("ann")), "ann: (old) farewell TakenOver"),
        ("say", |desk| desk.say("ann", "say hi"), "bob: hi"),
        ("part", |desk| desk.part("ann"), "ann: out Asked"),
        ("bye", |desk| desk.bye("ann"), "ann: farewell Left"),
        ("outside", |desk| desk.say("eve", "say hi"), "eve: refused 1 NotMember"),
        ("join", |desk| desk.join("eve", "plaza"), "eve: in plaza/p"),
        ("denied", |desk| desk.join_with("eve", "plaza", "p", "deny"), "eve: refused 1 JoinDenied"),
        ("transfer", |desk| desk.say("ann", "transfer hard p"), "ann: in hard/p"),
        ("leave", |desk| desk.bye("eve"), "eve: farewell Left"),
        ("cold", |desk| drop(desk.try_login("eve")), "eve: resync Cold []"),
        ("end", |desk| desk.say("ann", "end"), "ann: out ZoneEnded"),
        (
            "kick",
            |desk| {
                let ann = desk.id("ann");
                desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
            },
            "ann: farewell Kicked",
        ),
        (
            "ban",
            |desk| {
                let player = desk.client("ann").player();
                desk.order(ban(player, WallTime(u64::MAX)));
            },
            "ann: farewell Banned",
        ),
        (
            "send",
            |desk| {
                let eve = desk.id("eve");
                desk.order(Command::Session(eve, SessionCommand::Send("psst".into())));
            },
            "eve: psst",
        ),
        (
            "npc",
            |desk| {
                desk.order(Command::StartSession(Default::default()));
            },
            "Session(SessionId(5))",
        ),
    ]
}

/// ann and bob are in the plaza, cat too but away, eve is outside.
fn stage() -> Desk {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cat"]);
    desk.login("eve");
    desk.cut("cat");
    desk.hush();
    seen(&mut desk);
    desk
}

// Row of §6: "completion or 'ok' reported before the thing is true".
#[test]
fn nothing_is_seen_before_its_commit() {
    for (what, act, end) in acts() {
        let mut desk = stage();
        desk.store.hold(|_| true);
        act(&mut desk);
        assert_eq!(seen(&mut desk), Vec::<String>::new(), "{what} is seen too early");
        let applied: Vec<u64> = ["ann", "eve"].map(|name| desk.client(name).applied).into();
        assert_eq!(applied, [1, 0], "{what} is acknowledged too early");
        desk.store.release();
        desk.run();
        let seen = seen(&mut desk);
        assert!(seen.iter().any(|said| said == end), "{what}: {seen:?}");
    }
}

#[test]
fn a_return_is_told_to_nobody_before_its_leg_is_committed() {
    let mut desk = stage();
    desk.cut("eve");
    seen(&mut desk);
    // The new epoch is committed; the leg that the resync opens is not.
    desk.store.stop_after = Some(desk.store.commits + 1);
    drop(desk.try_login("eve"));
    let early = seen(&mut desk);
    let told = |seen: &[String]| seen.iter().any(|said| said.starts_with("PlayerReturned"));
    assert!(!told(&early), "{early:?}");
    desk.store.release();
    desk.run();
    assert!(told(&seen(&mut desk)));
}

#[test]
fn a_retired_token_is_refused_once_its_retirement_is_committed() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let old = desk.client("ann").token.clone();
    desk.cut("ann");
    desk.resume("ann");
    desk.store.hold(|_| true);
    desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
    let token = desk.client("ann").token.clone();
    desk.client_mut("ann").token = old;
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "no answer yet");
    let connection = desk.client("ann").connection();
    desk.store.release();
    desk.run();
    assert_eq!(desk.verdict("ann", connection), Err(CloseCode::TokenRetired));
    desk.client_mut("ann").token = token;
    assert!(desk.try_resume("ann").is_ok());
}

#[test]
fn what_waits_for_a_cut_is_not_said_to_a_connection_that_was_taken_over_meanwhile() {
    let mut desk = both_in();
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.say("bob", "say once");
    drop(desk.try_resume("ann"));
    desk.store.release();
    desk.run();
    let heard = desk.take("ann");
    let once = heard.iter().filter(|said| said.ends_with("once")).count();
    assert_eq!(once, 1, "{heard:?}");
    assert!(heard.contains(&"once".to_owned()), "on the new connection: {heard:?}");
}

/// The same one commit at a time: what is seen by then survives a crash right there.
// Row of §6: "acknowledged write lost between snapshot and journal reset".
#[test]
fn what_was_acknowledged_survives_a_crash_at_any_commit() {
    for stop in 0..40 {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.store.stop_after = Some(desk.store.commits + stop);
        for word in ["one", "two", "three", "four"] {
            desk.say("ann", word);
        }
        let (acked, last) = (desk.client("ann").applied, desk.client("ann").number);
        desk.crash();
        desk.restart();
        let welcome = desk.resume("ann");
        assert_eq!((welcome.rung(), welcome.lost_upstream), (Rung::Replayed, 0), "{stop}");
        assert!(welcome.applied >= acked, "{stop}: an acknowledged message is lost");
        // The client sends again what was not applied.
        for number in welcome.applied + 1..=last {
            desk.client_mut("ann").number = number - 1;
            desk.say("ann", ["one", "two", "three", "four"][number as usize - 2]);
        }
        for word in ["one", "two", "three", "four"] {
            assert_eq!(desk.ask("ann", &format!("times {word}")), "1", "{stop}: {word}");
        }
    }
}

/// Plays an act, with a crash after so many commits of it; false when it needs no more than that.
fn crash_within(setup: fn() -> Desk, act: Act, stop: u64) -> (Desk, bool) {
    let mut desk = setup();
    desk.store.stop_after = Some(desk.store.commits + stop);
    act(&mut desk);
    let cut_short = desk.store.is_waiting();
    desk.crash();
    desk.restart();
    (desk, cut_short)
}

/// Whatever happened: one place for each session, no member without a session, all play on.
fn assert_sound(desk: &mut Desk, what: &str) {
    assert!(desk.hub.is_ready(), "{what}: not ready");
    for kind in ["plaza", "hard"] {
        let id = ZoneId::of(kind, "p");
        let here = desk.hub.sessions().filter(|(_, s)| s.place().is_in(id)).count();
        assert_eq!(desk.members(kind), here, "{what}: members of {kind}");
        assert_eq!(desk.is_open(kind), desk.store.has(ScopeId::Zone(id)) || here > 0, "{what}");
    }
    let lost = desk.hub.sessions().find(|(_, s)| matches!(s.place(), Place::Joining(_)));
    assert!(lost.is_none(), "{what}: somebody is on its way for ever");
    let names: Vec<&'static str> = desk.clients.keys().copied().collect();
    for name in names {
        match desk.try_resume(name) {
            Ok(_) => {}
            Err(CloseCode::SessionUnknown) => drop(desk.login(name)),
            Err(code) => panic!("{what}: {name} is refused {code:?}"),
        }
        let applied = desk.client(name).applied;
        desk.client_mut(name).number = applied;
        if desk.is_in_lobby(name) {
            desk.join(name, "plaza");
        }
        desk.assert_plays(name);
    }
}

fn assert_sound_at_every_commit(what: &str, setup: fn() -> Desk, act: Act) {
    for stop in 0..100 {
        let (mut desk, cut_short) = crash_within(setup, act, stop);
        assert_sound(&mut desk, &format!("{what}, {stop} commits"));
        if !cut_short {
            assert!(stop > 1, "{what} is worth more than one commit");
            return;
        }
    }
    panic!("{what} never ends");
}

fn lobby() -> Desk {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk
}

fn both_in() -> Desk {
    Desk::with_plaza(&["ann", "bob"])
}

#[test]
fn a_crash_within_a_join_leaves_one_place() {
    assert_sound_at_every_commit("join", lobby, |desk| desk.join("ann", "plaza"));
    assert_sound_at_every_commit("join of a new zone", lobby, |desk| desk.join("ann", "hard"));
    let denied: Act = |desk| desk.join_with("ann", "plaza", "p", "deny");
    assert_sound_at_every_commit("denied join", lobby, denied);
}

#[test]
fn a_crash_within_a_part_leaves_one_place() {
    assert_sound_at_every_commit("part", both_in, |desk| desk.part("ann"));
    assert_sound_at_every_commit("hard drop", hard_in, |desk| desk.cut("ann"));
    let kick: Act = |desk| {
        let ann = desk.id("ann");
        desk.say("bob", &format!("part {ann}"));
    };
    assert_sound_at_every_commit("kick", both_in, kick);
}

fn hard_in() -> Desk {
    Desk::with_members("hard", &["ann", "bob"])
}

#[test]
fn a_crash_within_a_transfer_leaves_one_place() {
    assert_sound_at_every_commit("transfer", both_in, |desk| desk.say("ann", "transfer hard p"));
    let refused: Act = |desk| desk.say("ann", "transfer unknown p");
    assert_sound_at_every_commit("refused transfer", both_in, refused);
    let denied: Act = |desk| desk.say("ann", "deny hard p");
    assert_sound_at_every_commit("denied transfer", both_in, denied);
    let hasty: Act = |desk| {
        desk.queue("ann", crate::desk::client::message("transfer hard p"));
        desk.queue("ann", crate::desk::client::message("transfer plaza p"));
        desk.run();
    };
    assert_sound_at_every_commit("there and back", both_in, hasty);
}

#[test]
fn a_crash_within_the_end_of_a_zone_leaves_nothing_of_it() {
    assert_sound_at_every_commit("zone end", both_in, |desk| desk.say("ann", "end"));
    let again: Act = |desk| {
        desk.say("ann", "end");
        if desk.is_in_lobby("ann") {
            desk.join("ann", "plaza");
        }
    };
    assert_sound_at_every_commit("zone end and a new one", both_in, again);
}

#[test]
fn a_crash_within_an_ending_leaves_no_member() {
    assert_sound_at_every_commit("bye", both_in, |desk| desk.bye("ann"));
    let kick: Act = |desk| {
        let ann = desk.id("ann");
        desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
    };
    assert_sound_at_every_commit("end", both_in, kick);
    let hasty: Act = |desk| {
        let ann = desk.id("ann");
        desk.queue("ann", join("plaza", "p", ""));
        desk.run();
        desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
    };
    assert_sound_at_every_commit("end right after a join", lobby, hasty);
}

#[test]
fn an_end_of_a_session_whose_admission_it_has_not_heard_of_leaves_no_member() {
    let mut desk = lobby();
    let ann = desk.id("ann");
    // The zone commits the admission; the news of it is lost with the hub's own commit.
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.join("ann", "plaza");
    desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.run();
    desk.crash();
    desk.restart();
    assert!(desk.hub.session(ann).is_none());
    assert_eq!(desk.members("plaza"), 1, "no leftover");
    desk.resume("bob");
    desk.assert_plays("bob");
}

#[test]
fn a_resume_waits_for_a_zone_that_is_being_opened_again() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.hold_zones = true;
    desk.say("ann", "panic");
    assert_eq!(desk.try_resume("bob"), Err(CloseCode::Unspecified), "it waits");
    // Another commit of the session is on its way at the moment the zone opens.
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let bob = desk.id("bob");
    desk.order(Command::Session(bob, SessionCommand::Configure(Default::default())));
    desk.hold_zones = false;
    desk.run();
    desk.store.release();
    desk.run();
    assert_eq!(
        desk.verdict("bob", desk.client("bob").connection()).map(|w| w.rung()),
        Ok(Rung::Replayed)
    );
    desk.assert_plays("bob");
}

#[test]
fn a_join_waits_for_a_zone_that_is_being_opened() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.hold_zones = true;
    desk.join("ann", "plaza");
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let ann = desk.id("ann");
    desk.order(Command::Session(ann, SessionCommand::Configure(Default::default())));
    desk.hold_zones = false;
    desk.run();
    desk.store.release();
    desk.run();
    assert!(desk.is_in("ann", "plaza"));
    desk.assert_plays("ann");
}

#[test]
fn a_refusal_of_the_zone_does_not_come_before_the_welcome() {
    let mut desk = lobby();
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.join_with("ann", "plaza", "p", "deny");
    desk.say("bob", "keep the disk busy");
    desk.cut("ann");
    desk.try_resume("ann").err();
    desk.take("ann");
    desk.store.release();
    desk.run();
    let connection = desk.client("ann").connection();
    assert!(desk.verdict("ann", connection).is_ok());
    let frames = &desk.client("ann").line().frames;
    let second = frames.get(1).and_then(|frame| frame.frame.as_ref());
    let is_welcome = matches!(second, Some(rejoin_core::wire::v1::server_frame::Frame::Welcome(_)));
    assert!(is_welcome, "the Welcome comes right after the challenge: {second:?}");
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn in_a_memory_zone_nothing_waits_and_a_crash_loses_the_place() {
    let mut desk = Desk::new(config());
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "memory");
    }
    desk.hush();
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.say("ann", "say now");
    assert_eq!(desk.take("bob"), ["now"]);
    desk.crash();
    desk.restart();
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.zone), (Rung::Resynced, None));
    desk.client_mut("ann").number = welcome.applied;
    desk.join("ann", "memory");
    desk.assert_plays("ann");
}

fn notices(desk: &Desk, name: &str) -> Vec<NoticeCode> {
    let frames = desk.client(name).line().frames.iter();
    frames
        .filter_map(|frame| match &frame.frame {
            Some(server_frame::Frame::Notice(notice)) => Some(notice.code()),
            _ => None,
        })
        .collect()
}

/// Nothing of it could be kept, so nothing happens; whoever is there is told, once.
#[test]
fn a_full_disk_stops_a_durable_zone_and_its_members_are_told() {
    let mut desk = Desk::plain();
    for (name, kind) in [("ann", "busy"), ("bob", "memory")] {
        desk.login(name);
        desk.join(name, kind);
    }
    desk.wait(1_000);
    let before = desk.counts("busy").ticks;
    assert!(before >= 19, "{before}");
    desk.store_full(true);
    desk.store_full(true);
    desk.wait(60_000);
    assert_eq!(desk.counts("busy").ticks, before, "its time stands still");
    assert_eq!(notices(&desk, "ann"), [NoticeCode::Frozen]);
    assert_eq!(notices(&desk, "bob"), [], "a zone in memory runs on");
    desk.store_full(false);
    assert_eq!(notices(&desk, "ann"), [NoticeCode::Frozen, NoticeCode::Thawed]);
    desk.wait(1_000);
    let after = desk.counts("busy").ticks;
    assert!(
        (before + 19..=before + 21).contains(&after),
        "{before} {after}: nothing to make up for"
    );
    desk.assert_plays("ann");
}

#[test]
fn what_a_zone_has_written_is_bounded_by_what_it_holds() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let zone = desk.zones.keys().copied().next().expect("a zone");
    let held = |desk: &Desk| -> usize {
        let rows = desk.store.rows(ScopeId::Zone(zone));
        rows.iter().map(|(key, value)| key.len() + value.len()).sum()
    };
    // The game remembers all of it, so each cut is as large as everything said so far.
    for number in 1..=100_usize {
        desk.say("ann", &format!("note {}", "x".repeat(2_000)));
        desk.hush();
        let most = 4 * 2_100 * number + 2 * 64 * 1_024;
        assert!(held(&desk) <= most, "{} bytes after {number} messages", held(&desk));
    }
}

#[test]
fn a_zone_that_saves_now_and_then_keeps_one_cut() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "session");
    let zone = desk.zones.keys().copied().next().expect("a zone");
    let mut counts = Vec::new();
    for _ in 0..20 {
        desk.say("ann", "note");
        desk.hush();
        desk.wait(30_000);
        counts.push(desk.store.rows(ScopeId::Zone(zone)).len());
    }
    assert!(counts[2..].iter().all(|count| *count == counts[2]), "{counts:?}");
}

/// The session has taken over in memory, its commit is under way, and the zone that is open again says once
/// more who has left: it may not forget before that commit, or a crash finds the member nowhere.
#[test]
fn a_zone_that_starts_again_forgets_nobody_before_the_session_is_committed() {
    for act in ["transfer hard p", "transfer unknown p", "part"] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.say("ann", "say hi");
        desk.hush();
        desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
        match act {
            "part" => desk.part("ann"),
            transfer => desk.say("ann", transfer),
        }
        desk.say("bob", "panic");
        assert!(desk.is_open("plaza"), "{act}: it started again");
        desk.crash();
        desk.restart();
        let welcome = desk.resume("ann");
        assert_eq!(welcome.rung(), Rung::Replayed, "{act}: {welcome:?}");
        assert_eq!(welcome.lost_upstream, 0, "{act}");
    }
}

/// Where a session is, its own scope decides: a zone that was asked before that is kept would show a stay that
/// a crash takes back.
#[test]
fn no_zone_is_asked_for_a_stay_that_the_session_does_not_keep_yet() {
    let mut desk = lobby();
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.hush();
    desk.join("ann", "plaza");
    assert_eq!(desk.members("plaza"), 1, "bob alone");
    assert_eq!((desk.take("ann"), desk.take("bob")), (Vec::new(), Vec::new()));
    desk.store.release();
    desk.run();
    assert_eq!(desk.members("plaza"), 2);
    desk.assert_plays("ann");
}
