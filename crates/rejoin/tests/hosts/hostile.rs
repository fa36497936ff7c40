//! Lines that lie, stammer, shout or come without the right: each costs itself at most, and a neighbour
//! never.

use rejoin::server::Role;
use rejoin::server::directory::rules::catalogue::FleetSpec;
use rejoin::server::directory::rules::game::{EndCause, GameChange, Status};
use rejoin::server::directory::rules::{Answer, Command, Refusal, Target};
use rejoin::server::{AskError, DirectoryConfig};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

use crate::bureau::{Bureau, TIED, key_of};
use crate::typed::{Typed, hello};

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_key_there_is_no_line() {
    let bureau = Bureau::open().await;
    assert_eq!(Typed::open(bureau.at, &key_of(Role::Client)).await.err(), Some(403));
    assert_eq!(Typed::open(bureau.at, "rejoin_host_00").await.err(), Some(401));
    assert!(Typed::open(bureau.at, &key_of(Role::Host)).await.is_ok());
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_tied_to_a_fleet_serves_it_and_no_other() {
    let bureau = Bureau::open().await;
    let locations = vec!["here".to_owned()];
    let fleet = FleetSpec { name: "sums".to_owned(), locations, indexed: Vec::new() };
    bureau.ask(Command::PutFleet(fleet)).await.expect("a good fleet");
    let mut line = Typed::open(bureau.at, TIED).await.expect("a line");
    let mut other = hello("one");
    other["hello"]["fleet"] = json!("sums");
    line.say(other).await;
    assert_eq!(line.bye().await, "wrong_fleet");
    // Nothing of it is left.
    let target = Target::Fleet("sums".to_owned());
    let hosts = bureau.ask(Command::ListHosts { target, after: None, limit: 10 }).await;
    assert_eq!(hosts, Ok(Answer::Hosts(Vec::new())));
    let mut line = Typed::open(bureau.at, TIED).await.expect("a line");
    line.say(hello("one")).await;
    line.until("welcome").await;
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_word_that_is_no_hello_ends_the_line_with_its_reason() {
    let bureau = Bureau::open().await;
    let key = key_of(Role::Host);
    let with = |field: &str, value: Value| {
        let mut hello = hello("one");
        hello["hello"][field] = value;
        hello
    };
    for (word, code) in [
        (json!({"ready": {}}), "bad_word"),
        (json!([1, 2]), "bad_word"),
        (with("version", json!(2)), "bad_word"),
        (with("process", json!("7")), "bad_word"),
        (with("surprise", json!(true)), "bad_word"),
        (with("games_max", json!(0)), "invalid"),
        (with("games_max", json!(1_001)), "invalid"),
        (with("name", json!("no spaces")), "invalid"),
        (with("location", json!("elsewhere")), "invalid"),
        (with("fleet", json!("nowhere")), "fleet_not_found"),
        (with("address", json!("x".repeat(257))), "invalid"),
    ] {
        let mut line = Typed::open(bureau.at, &key).await.expect("a line");
        line.say(word.clone()).await;
        assert_eq!(line.bye().await, code, "{word}");
    }
    let mut line = Typed::open(bureau.at, &key).await.expect("a line");
    line.raw(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(line.bye().await, "bad_word");
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_a_message_ends_the_line_and_the_game_waits_for_the_next() {
    let bureau = Bureau::open().await;
    let mut line = Typed::ready(bureau.at, "one", &[]).await;
    let game = bureau.create("k").await;
    line.until("create").await;
    line.say(json!({"began": {"game": game.to_string()}})).await;
    bureau.until(game, Status::Active).await;
    line.raw(Message::text("x".repeat((256 << 10) + 1))).await;
    assert_eq!(line.bye().await, "body_too_large");
    bureau.until_listed(0).await;
    let mut line = Typed::ready(bureau.at, "one", &[game.to_string()]).await;
    bureau.until_listed(1).await;
    // Just as large as it may be.
    let word = json!({"began": {"game": game.to_string(), "refused": ""}}).to_string();
    let padded = word.replace("\"\"", &format!("\"{}\"", "x".repeat((256 << 10) - word.len())));
    assert_eq!(padded.len(), 256 << 10);
    line.raw(Message::text(padded)).await;
    line.say(json!({"seats": {"ask": 1, "game": game.to_string()}})).await;
    assert_eq!(line.until("answer").await["ask"], 1);
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lies_changes_nothing() {
    let bureau = Bureau::open().await;
    let (_host, _diary) = bureau.host("honest").await;
    let game = bureau.game("k").await;
    let ticket = bureau.ticket(game, "ann").await;
    let mut liar = Typed::ready(bureau.at, "liar", &[]).await;
    let (theirs, nobodys) = (game.to_string(), "9".repeat(32));
    for id in [&theirs, &nobodys] {
        for word in ["began", "updated", "destroying"] {
            liar.say(json!({word: {"game": id, "refused": "mine"}})).await;
            assert_eq!(liar.until("refused").await["code"], "not_yours", "{word}");
        }
        liar.say(json!({"destroyed": {"game": id}})).await;
        assert_eq!(liar.until("refused").await["code"], "not_yours");
    }
    let admit = |game: &str, seat: &str| json!({"admit": {"ask": 7, "game": game, "seat": seat, "player": "ann", "entry": 1}});
    liar.say(admit(&theirs, &ticket)).await;
    assert_eq!(liar.until("answer").await["refused"]["code"], "not_yours");
    liar.say(admit(&nobodys, &ticket)).await;
    assert_eq!(liar.until("answer").await["refused"]["code"], "game_not_found");
    liar.say(json!({"left": {"ask": 8, "game": theirs, "seat": ticket}})).await;
    assert_eq!(liar.until("answer").await["refused"]["code"], "not_yours");
    // Games it says it runs and does not: it is told to drop them.
    let mut liar = Typed::ready(bureau.at, "liar", &[]).await;
    liar.say(json!({"ready": {
        "port": 7777, "log_paths": [], "hooks_set": true, "games": [theirs, nobodys],
    }}))
    .await;
    assert_eq!(liar.until("destroy_end").await["game"], theirs);
    assert_eq!(liar.until("destroy_end").await["game"], nobodys);
    let view = bureau.view(game).await;
    assert_eq!((view.status, view.reserved, view.active), (Status::Active, 1, 0));
    // What is no word at all ends the line.
    liar.say(json!({"began": {"game": "short"}})).await;
    assert_eq!(liar.bye().await, "bad_word");
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn activating_twice_is_activating_once_and_a_late_answer_is_none() {
    let config = DirectoryConfig {
        activation_limit: Duration::from_millis(300),
        update_limit: Duration::from_millis(300),
        ..Default::default()
    };
    let bureau = Bureau::with(config).await;
    let mut line = Typed::ready(bureau.at, "one", &[]).await;
    let game = bureau.create("k").await;
    line.until("create").await;
    for _ in 0..3 {
        line.say(json!({"began": {"game": game.to_string()}})).await;
        assert_eq!(line.until("create_end").await["game"], game.to_string());
    }
    assert_eq!(bureau.view(game).await.status, Status::Active);

    let change = GameChange { capacity: Some(9), ..GameChange::default() };
    let asked = bureau.ask(Command::Update { game, change }).await;
    assert_eq!(asked, Err(AskError::Refused(Refusal::HostSilent)));
    line.until("update").await;
    line.say(json!({"updated": {"game": game.to_string()}})).await;

    let late = bureau.create("l").await;
    line.until("create").await;
    let view = bureau.until(late, Status::Terminated).await;
    assert_eq!(view.cause, Some(EndCause::ActivationTimeout));
    line.say(json!({"began": {"game": late.to_string()}})).await;
    line.until("refused").await;
    assert_eq!(bureau.view(late).await.status, Status::Terminated);
    assert_eq!(bureau.view(game).await.spec.capacity, 4);
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_without_hooks_is_refused_by_the_directory_too() {
    let bureau = Bureau::open().await;
    let mut line = Typed::open(bureau.at, &key_of(Role::Host)).await.expect("a line");
    line.say(hello("one")).await;
    line.until("welcome").await;
    let ready = json!({"ready": {"port": 1, "log_paths": [], "hooks_set": false, "games": []}});
    line.say(ready).await;
    assert_eq!(line.until("refused").await["code"], "hooks_not_set");
    assert_eq!(line.until("readied").await["present"], false);
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_floods_does_not_keep_others_from_being_heard() {
    let bureau = Bureau::open().await;
    let mut flood = Typed::open(bureau.at, &key_of(Role::Host)).await.expect("a line");
    flood.say(hello("flood")).await;
    flood.until("welcome").await;
    let (sent, mut told) = tokio::sync::watch::channel(0_u64);
    // For as long as the others take, and a minute at most.
    let flooding = tokio::spawn(async move {
        let begin = std::time::Instant::now();
        while begin.elapsed() < Duration::from_secs(60) {
            flood.say(json!({"healthy": {"well": true}})).await;
            sent.send_modify(|sent| *sent += 1);
        }
    });
    told.wait_for(|sent| *sent >= 1_000).await.expect("it floods");
    let (host, _diary) = bureau.host("calm").await;
    for key in 0..4 {
        let game = bureau.game(&format!("k{key}")).await;
        let ticket = bureau.ticket(game, "ann").await;
        host.admit(game, &ticket, Some("ann")).await.expect("let in");
    }
    let during = *told.borrow_and_update();
    told.wait_for(|sent| *sent > during).await.expect("it still floods");
    flooding.abort();
    bureau.close().await;
}
