//! Who is let in: those whose seat the directory confirms, once, and nobody when it cannot be asked.

use std::time::Duration;

use rejoin::host::{AdmitError, SeatStatus, blocking};
use rejoin::server::directory::rules::game::Status;
use tokio::time::timeout;

use crate::bureau::{Bureau, PATIENCE, Scribe};
use crate::typed::Relay;

#[tokio::test(flavor = "multi_thread")]
async fn a_seat_lets_its_player_in_once_and_every_refusal_says_why() {
    let bureau = Bureau::open().await;
    let (host, _diary) = bureau.host("one").await;
    let (game, other) = (bureau.game("k").await, bureau.game("l").await);
    let brief = Some(Duration::from_millis(200));
    let stale = bureau.reserve_for(game, &["eve"], brief).await.expect("a seat")[0].id.to_string();
    let seats = bureau.reserve(game, &["ann", "bob"]).await.expect("two seats");
    let [ann, bob] = [seats[0].id.to_string(), seats[1].id.to_string()];

    let seat = host.admit(game, &ann, Some("ann")).await.expect("it is hers");
    assert_eq!((seat.player.as_str(), seat.status), ("ann", SeatStatus::Active));
    let refused = async |game, ticket: &str, player| host.admit(game, ticket, player).await.err();
    assert_eq!(refused(game, &ann, Some("ann")).await, Some(AdmitError::Taken));
    assert_eq!(refused(game, &bob, Some("ann")).await, Some(AdmitError::WrongPlayer));
    assert_eq!(refused(other, &bob, Some("bob")).await, Some(AdmitError::NoSuchSeat));
    assert_eq!(refused(game, "no ticket", None).await, Some(AdmitError::NotATicket));
    assert_eq!(refused(game, &"0".repeat(32), None).await, Some(AdmitError::NoSuchSeat));
    let nowhere = rejoin::host::GameId([9; 16]);
    assert_eq!(refused(nowhere, &bob, Some("bob")).await, Some(AdmitError::NotYours));
    // All of that was nobody's business but theirs.
    assert_eq!(bureau.view(game).await.active, 1);

    let ended = async {
        // It runs out by the directory's own clock.
        loop {
            match host.admit(game, &stale, Some("nobody")).await {
                Err(AdmitError::Ended) => return,
                Err(AdmitError::WrongPlayer) => {}
                other => panic!("{other:?}"),
            }
            let is_over = host.seats(game).await.expect("it is asked");
            if is_over.iter().any(|seat| seat.player == "eve" && seat.status == SeatStatus::Ended) {
                assert_eq!(refused(game, &stale, Some("eve")).await, Some(AdmitError::Ended));
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, ended).await.expect("in time");

    // Whoever left is gone for good.
    host.left(&seat).await;
    let gone = async {
        while bureau.view(game).await.active != 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("the seat is free");
    assert_eq!(refused(game, &ann, Some("ann")).await, Some(AdmitError::Ended));
    bureau.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_let_in_while_the_directory_cannot_be_asked() {
    let bureau = Bureau::open().await;
    let relay = Relay::to(bureau.at).await;
    let builder = bureau.builder("one").patience(Duration::from_secs(2));
    let host = relay.builder(builder).hooks(Scribe::new().0).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    let seats = bureau.reserve(game, &["ann", "bob"]).await.expect("two seats");
    let [ann, bob] = [seats[0].id.to_string(), seats[1].id.to_string()];
    host.admit(game, &ann, Some("ann")).await.expect("it is hers");
    relay.shut();
    bureau.until_listed(0).await;
    assert_eq!(host.admit(game, &bob, Some("bob")).await, Err(AdmitError::Unreachable));
    relay.open();
    bureau.until_listed(1).await;
    // Nothing was asked, so nothing was lost: the next knock finds the seat as it was.
    let found = async { while host.admit(game, &bob, Some("bob")).await.is_err() {} };
    timeout(PATIENCE, found).await.expect("in time");
    assert_eq!(bureau.view(game).await.active, 2);
    bureau.close().await;
}

/// The answer is lost with the line: asked again on the next, it is the same answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_survives_the_line_it_was_asked_on() {
    let bureau = Bureau::open().await;
    let relay = Relay::to(bureau.at).await;
    let builder = bureau.builder("one").patience(PATIENCE);
    let host = relay.builder(builder).hooks(Scribe::new().0).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    for player in ["ann", "bob", "cid"] {
        let ticket = bureau.ticket(game, player).await;
        let before = bureau.view(game).await.active;
        // What the server says is held back, then lost.
        relay.hold_answers();
        let (asking, ask) = (host.clone(), ticket.clone());
        let asked = tokio::spawn(async move { asking.admit(game, &ask, Some(player)).await });
        let is_in = async {
            while bureau.view(game).await.active == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, is_in).await.expect("the directory let it in");
        assert!(!asked.is_finished());
        relay.shut();
        bureau.until_listed(0).await;
        relay.open();
        let seat = timeout(PATIENCE, asked).await.expect("in time").expect("no panic");
        assert_eq!(seat.expect("let in").player, player);
        assert_eq!(bureau.view(game).await.active, before + 1);
        bureau.until_listed(1).await;
    }
    bureau.close().await;
}

/// A connection that does not wait for its answer is not in, and its seat does not stay taken.
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_wait_for_the_answer_is_not_in() {
    let bureau = Bureau::open().await;
    let relay = Relay::to(bureau.at).await;
    let host = bureau.builder("one");
    let host = relay.builder(host).hooks(Scribe::new().0).start().expect("it starts");
    host.ready(7777, &[]).await.expect("ready");
    let game = bureau.game("k").await;
    let seats = bureau.reserve(game, &["ann", "bob"]).await.expect("two seats");
    let ticket = seats[0].id.to_string();
    relay.hold_answers();
    let gone = timeout(Duration::from_millis(200), host.admit(game, &ticket, Some("ann"))).await;
    assert!(gone.is_err());
    relay.open();
    let free = async {
        loop {
            let view = bureau.view(game).await;
            if (view.active, view.reserved) == (0, 1) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, free).await.expect("the seat is free again");
    bureau.close().await;
}

#[test]
fn a_host_without_async_does_the_same() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let bureau = runtime.block_on(Bureau::open());
    let builder = bureau.builder("one").hooks(Scribe::new().0);
    let host = blocking::Host::start(builder).expect("it starts");
    host.ready(7777, &[]).expect("ready");
    let game = runtime.block_on(bureau.game("k"));
    let ticket = runtime.block_on(bureau.ticket(game, "ann"));
    let seat = host.admit(game, &ticket, Some("ann")).expect("let in");
    assert_eq!(host.seats(game).expect("asked").len(), 1);
    host.left(&seat);
    runtime.block_on(bureau.until(game, Status::Terminating));
    host.game_over(game);
    runtime.block_on(bureau.until(game, Status::Terminated));
    drop(host);
    runtime.block_on(bureau.close());
}
