//! The life of Games on a host: begun, changed and ended by hooks; hidden and taken back with the line.

use std::time::Duration;

use rejoin::host::{HostEnd, HostError};
use rejoin::server::Role;
use rejoin::server::directory::rules::game::{EndCause, GameChange, Status};
use rejoin::server::directory::rules::{Command, Refusal};
use rejoin::server::{AskError, DirectoryConfig};
use tokio::time::timeout;

use crate::bureau::{Bureau, FLEET, PATIENCE, Scribe, key_of};
use crate::typed::Relay;

#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_begun_changed_and_ended_by_hooks() {
    let bureau = Bureau::open().await;
    let (host, mut diary) = bureau.host("one").await;
    assert_eq!(diary.next().await, "line true");
    let game = bureau.game("k").await;
    assert_eq!(diary.next().await, format!("create {game}"));
    assert_eq!(diary.next().await, format!("created {game}"));

    let change = GameChange { capacity: Some(7), ..GameChange::default() };
    bureau.ask(Command::Update { game, change }).await.expect("it agrees");
    assert_eq!(diary.next().await, "update 7");
    assert_eq!(diary.next().await, "updated 7");

    bureau.ask(Command::Terminate(game)).await.expect("it runs");
    assert_eq!(diary.next().await, format!("destroy {game} true"));
    host.game_over(game).await;
    assert_eq!(diary.next().await, format!("destroyed {game}"));
    let view = bureau.until(game, Status::Terminated).await;
    assert_eq!(view.cause, Some(EndCause::Asked));

    // A Game that ends by itself, and then the host.
    let game = bureau.game("l").await;
    diary.until(&format!("created {game}")).await;
    host.game_over(game).await;
    assert_eq!(diary.next().await, format!("destroyed {game}"));
    assert_eq!(bureau.view(game).await.cause, Some(EndCause::HostEnded));
    assert_eq!(timeout(PATIENCE, host.end()).await.expect("in time"), HostEnd::Ended);
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_say_no_leave_nothing_half_done() {
    let bureau = Bureau::open().await;
    let (hooks, mut diary) = Scribe::new();
    let refuses = hooks.refuses.clone();
    let host = bureau.builder("one").hooks(hooks).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    *refuses.lock().expect("whole") = vec!["create"];
    let game = bureau.create("k").await;
    let view = bureau.until(game, Status::Terminated).await;
    assert_eq!(view.cause, Some(EndCause::Vetoed));

    *refuses.lock().expect("whole") = vec!["update", "destroy"];
    let game = bureau.game("l").await;
    let change = GameChange { capacity: Some(7), ..GameChange::default() };
    let refused = bureau.ask(Command::Update { game, change }).await;
    let words = "the game refused".to_owned();
    assert_eq!(refused, Err(AskError::Refused(Refusal::Vetoed(words))));
    assert_eq!(bureau.view(game).await.spec.capacity, 4);
    bureau.ask(Command::Terminate(game)).await.expect("it is asked");
    diary.until(&format!("destroy {game} true")).await;
    bureau.until(game, Status::Active).await;

    // A hook that panics has said no, and the next one is asked as before.
    *refuses.lock().expect("whole") = vec!["panic"];
    let broken = bureau.create("m").await;
    let view = bureau.until(broken, Status::Terminated).await;
    assert_eq!(view.cause, Some(EndCause::Vetoed));
    refuses.clear_poison();
    refuses.lock().expect("whole").clear();
    bureau.game("n").await;
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_needs_hooks_and_a_start_that_cannot_work_says_why() {
    let bureau = Bureau::open().await;
    let host = bureau.builder("one").start().expect("it starts");
    assert!(matches!(host.ready(7777, &[]).await, Err(HostError::HooksNotSet)));

    let refused = |code: &str, end: HostError| match end {
        HostError::Over(HostEnd::Refused { code: told, detail }) => {
            assert_eq!(told, code, "{detail}");
            assert!(!detail.is_empty());
        }
        other => panic!("{other}"),
    };
    let start = |key: String, fleet: &str| {
        let builder = rejoin::host::Host::builder(format!("http://{}", bureau.at), key);
        builder.fleet(fleet).location("here").hooks(Scribe::new().0).start().expect("it starts")
    };
    let with = async |key: String, fleet: &str, port: u16| {
        let host = start(key, fleet);
        timeout(PATIENCE, host.ready(port, &[])).await.expect("in time").expect_err("it cannot")
    };
    refused("no_key", with("rejoin_host_00".to_owned(), FLEET, 7777).await);
    refused("forbidden", with(key_of(Role::Client), FLEET, 7777).await);
    refused("fleet_not_found", with(key_of(Role::Host), "nowhere", 7777).await);
    refused("invalid", with(key_of(Role::Host), FLEET, 60_001).await);
    refused("invalid", with(key_of(Role::Host), FLEET, 0).await);
    let bad = rejoin::host::Host::builder("ws://x", "k").start();
    assert!(matches!(bad, Err(HostError::Endpoint(_))));
    let bad = rejoin::host::Host::builder("http://x", "k\n").start();
    assert!(matches!(bad, Err(HostError::Key)));
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_breaks_hides_the_games_and_the_next_takes_them_back() {
    let bureau = Bureau::open().await;
    let relay = Relay::to(bureau.at).await;
    let (hooks, mut diary) = Scribe::new();
    let host = bureau.builder("one");
    let host = relay.builder(host).hooks(hooks).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    let ticket = bureau.ticket(game, "ann").await;
    let seat = host.admit(game, &ticket, Some("ann")).await.expect("let in");
    diary.until(&format!("created {game}")).await;

    for _ in 0..3 {
        relay.shut();
        bureau.until_listed(0).await;
        assert_eq!(bureau.reserve(game, &["bob"]).await, Err(Refusal::HostAway));
        assert_eq!(diary.next().await, "line false");
        relay.open();
        bureau.until_listed(1).await;
        assert_eq!(diary.next().await, "line true");
    }
    let view = bureau.view(game).await;
    assert_eq!((view.status, view.active), (Status::Active, 1));
    // What was agreed to is told once, whatever becomes of the line.
    assert_eq!(diary.rest(), Vec::<String>::new());
    host.left(&seat).await;
    bureau.until(game, Status::Terminating).await;
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stays_away_is_over_and_its_games_end_once() {
    let config = DirectoryConfig { away_limit: Duration::from_millis(400), ..Default::default() };
    let bureau = Bureau::with(config).await;
    let relay = Relay::to(bureau.at).await;
    let (hooks, mut diary) = Scribe::new();
    let host = bureau.builder("one");
    let host = relay.builder(host).hooks(hooks).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    diary.until(&format!("created {game}")).await;
    relay.shut();
    let view = bureau.until(game, Status::Error).await;
    assert_eq!(view.cause, Some(EndCause::HostLost));
    relay.open();
    // It may come back, and hears what became of its Game.
    assert_eq!(diary.until(&format!("destroyed {game}")).await[0], "line false");
    let other = bureau.game("l").await;
    diary.until(&format!("created {other}")).await;
    assert_eq!(bureau.view(game).await.cause, Some(EndCause::HostLost));
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_well_is_warned_and_then_ended() {
    let config = DirectoryConfig {
        health_every: Duration::from_millis(200),
        health_limit: Duration::from_millis(1_000),
        ..Default::default()
    };
    let bureau = Bureau::with(config).await;
    let (hooks, mut diary) = Scribe::new();
    let refuses = hooks.refuses.clone();
    let host = bureau.builder("one").hooks(hooks).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    refuses.lock().expect("whole").push("health");
    diary.until("warning ").await;
    assert_eq!(bureau.reserve(game, &["ann"]).await, Err(Refusal::HostUnhealthy));
    let end = timeout(PATIENCE, host.ended()).await.expect("in time");
    assert_eq!(end, HostEnd::Unhealthy);
    assert_eq!(bureau.until(game, Status::Error).await.cause, Some(EndCause::HostUnhealthy));
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_of_the_same_name_takes_over_and_the_first_is_told() {
    let bureau = Bureau::open().await;
    let (first, _diary) = bureau.host("one").await;
    let game = bureau.game("k").await;
    let ticket = bureau.ticket(game, "ann").await;
    let seat = first.admit(game, &ticket, Some("ann")).await.expect("let in");

    let (hooks, mut diary) = Scribe::new();
    let second = bureau.builder("one").running([game]).hooks(hooks).start().expect("it starts");
    second.ready(7778, &[]).await.expect("ready");
    assert_eq!(timeout(PATIENCE, first.ended()).await.expect("in time"), HostEnd::TakenOver);
    assert!(first.admit(game, &ticket, Some("ann")).await.is_err());
    diary.until(&format!("created {game}")).await;
    // The player comes to the new process with the seat it has.
    let again = second.admit(game, &ticket, Some("ann")).await.expect("let in again");
    assert_eq!(again.id, seat.id);
    let view = bureau.view(game).await;
    assert_eq!((view.status, view.active), (Status::Active, 1));
    bureau.close().await;
}
