//! Endings that the process itself decides: a shutdown, and what a transport knows of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use rejoin_core::event::Event;
use rejoin_core::exchange::{Hold, Native};
use rejoin_core::hub::{Answer, Command, HubInput, SessionCommand, SessionConfig};
use rejoin_core::scope::ScopeId;
use rejoin_core::timeline::What;
use rejoin_core::wire::v1::{
    CloseCode, Login, Ping, Rung, client_frame, hello, login, server_frame,
};

use crate::desk::client::hello_for;
use crate::desk::plaza::Text;
use crate::desk::{Desk, config, zone};

const NAMES: [&str; 6] = ["ann", "bob", "cid", "dan", "eve", "fay"];

/// What the client's present connection was told to wait.
fn told_to_wait(desk: &Desk, name: &str) -> Option<u32> {
    desk.client(name).line().frames.iter().find_map(|frame| match &frame.frame {
        Some(server_frame::Frame::Farewell(said)) => Some(said.retry_after_ms),
        Some(server_frame::Frame::Refusal(said)) => Some(said.retry_after_ms),
        _ => None,
    })
}

#[test]
fn a_shutdown_is_told_to_everybody_with_a_time_that_is_their_own() {
    let mut desk = Desk::with_plaza(&NAMES);
    desk.connect("gus");
    desk.input(HubInput::Shutdown);
    let mut waits = BTreeSet::new();
    for name in NAMES.into_iter().chain(["gus"]) {
        assert_eq!(desk.closed(name), Some(CloseCode::ShuttingDown), "{name}");
        let wait = told_to_wait(&desk, name).expect("a farewell says when to come back");
        assert!((1_000..2_000).contains(&wait), "{name} was told {wait}");
        waits.insert(wait);
    }
    assert!(waits.len() > 5, "they must not all come at once: {waits:?}");
    let ann = desk.id("ann");
    let code = CloseCode::ShuttingDown;
    assert!(desk.events.contains(&Event::PlayerDropped { session: ann, code }));
}

#[test]
fn the_more_are_sent_away_the_longer_their_return_is_spread() {
    let mut config = config();
    config.returns_per_second = 1;
    let mut desk = Desk::new(config);
    for name in NAMES {
        // As slowly as they are let in.
        desk.wait(1_000);
        desk.login(name);
    }
    desk.input(HubInput::Shutdown);
    let waits = NAMES.map(|name| told_to_wait(&desk, name).expect("a farewell"));
    assert!(waits.iter().all(|wait| (1_000..7_000).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > 2_000), "{waits:?}");
}

#[test]
fn nobody_is_let_in_any_more() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.input(HubInput::Shutdown);
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::ShuttingDown));
    assert!(told_to_wait(&desk, "ann").is_some_and(|wait| wait >= 1_000));
    assert_eq!(desk.try_login("bob"), Err(CloseCode::ShuttingDown));
}

#[test]
fn holds_stand_still_from_the_shutdown_on() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    desk.wait(4_000);
    desk.input(HubInput::Shutdown);
    // Longer than any hold: the process takes its time to end.
    desk.wait(60_000);
    assert!(desk.view("ann").is_some(), "dropped before");
    assert!(desk.view("bob").is_some(), "sent away");
    assert!(!desk.events.contains(&Event::HoldEnded { session: ann }));
    desk.crash();
    desk.restart();
    desk.wait(4_900);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    assert_eq!(desk.resume("bob").rung(), Rung::Replayed);
}

#[test]
fn after_a_shutdown_a_hold_still_ends() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.input(HubInput::Shutdown);
    desk.crash();
    desk.restart();
    desk.wait(5_001);
    assert!(desk.view("ann").is_none());
}

#[test]
fn a_place_without_a_hold_loses_its_member_only_in_the_next_process() {
    let mut config = config();
    config.hold = Hold::None;
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.input(HubInput::Shutdown);
    assert!(desk.view("ann").is_some(), "nobody could have come back");
    desk.crash();
    desk.restart();
    assert!(desk.view("ann").is_none());
}

#[test]
fn what_the_transport_knows_is_the_cause_that_is_told() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    for code in [CloseCode::TooSlow, CloseCode::Malformed] {
        let connection = desk.client("ann").connection();
        desk.lose(connection, Some(code));
        assert!(desk.events.contains(&Event::PlayerDropped { session: ann, code }));
        let session = desk.hub.session(ann).expect("held");
        let last = session.timeline().recent().last().expect("a drop is recorded");
        assert_eq!((last.what, last.detail), (What::Dropped, code as u32));
        assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    }
    desk.cut("ann");
    let code = CloseCode::Unspecified;
    assert!(desk.events.contains(&Event::PlayerDropped { session: ann, code }));
    desk.assert_plays("bob");
}

#[test]
fn who_gave_way_before_a_shutdown_is_told_that_and_not_the_shutdown() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let first = desk.client("ann").connection();
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "its commit is under way");
    desk.input(HubInput::Shutdown);
    desk.store.release();
    desk.run();
    assert_eq!(desk.verdict("ann", first).err(), None, "it was let in once");
    let told = desk.client("ann").lines.iter().find(|line| line.id == first);
    assert_eq!(told.and_then(|line| line.closed), Some(CloseCode::TakenOver));
    assert_eq!(desk.closed("ann"), Some(CloseCode::ShuttingDown));
}

/// A token is refused as retired once what has retired it is kept. A shutdown in between takes nothing of that.
#[test]
fn who_showed_a_retired_token_before_a_shutdown_is_told_that_and_not_the_shutdown() {
    let mut desk = Desk::plain();
    let mint = Login { identity: Some(login::Identity::Mint(Default::default())), fresh: false };
    let mint = hello_for(hello::Purpose::Login(mint));
    desk.try_hello("ann", |_, _| mint).expect("let in");
    let retired = desk.client("ann").token.clone();
    desk.resume("ann");
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    // Her first frame says that she has the second token.
    desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
    let early = desk.try_hello("ann", |client, nonce| {
        let mut hello = client.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.token = retired;
        }
        hello
    });
    assert_eq!(early, Err(CloseCode::Unspecified), "nothing is said yet");
    desk.input(HubInput::Shutdown);
    desk.store.release();
    desk.run();
    assert_eq!(desk.closed("ann"), Some(CloseCode::TokenRetired));
}

#[test]
fn the_end_of_a_match_ends_no_hold_from_the_shutdown_on() {
    let mut desk = Desk::with_members("match", &["ann"]);
    let started = desk.command(Command::StartSession(SessionConfig::default()));
    let Some(Answer::Session(npc)) = started else { panic!("{started:?}") };
    let join = SessionCommand::Join(zone("match"), "".into());
    desk.command(Command::Session(npc, join));
    desk.say("ann", "start");
    desk.cut("ann");
    desk.input(HubInput::Shutdown);
    let stop: Native = Arc::new(Text("stop".to_owned()));
    desk.command(Command::Session(npc, SessionCommand::Say(stop)));
    assert!(desk.view("ann").is_some(), "nobody could have come back");
    desk.crash();
    desk.restart();
    desk.wait(4_900);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed, "the next process gives it a whole hold");
}
