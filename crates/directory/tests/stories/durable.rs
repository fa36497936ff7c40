//! What a crash costs: nothing that was told.

use rejoin_core::id::GameId;
use rejoin_directory::game::{EndCause, SeatState, Status};
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::{Answer, Command, Target};

use crate::desk::{Desk, FLEET, guests, holder, registration, secs, spec};

#[test]
fn nothing_is_told_before_it_is_durable() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    desk.told(host);
    desk.slow_store();
    let target = Target::Fleet(FLEET.to_owned());
    let created = desk.send(Command::Create { target, spec: spec("k") });
    assert!(desk.answers.is_empty() && desk.orders.is_empty());
    desk.commit_some(1);
    assert!(desk.answers[&created].is_ok());
    assert_eq!(desk.orders, [], "the host has not committed that it takes it");
    desk.commit_some(1);
    let game = GameId::of(FLEET, "k");
    assert!(matches!(desk.told(host)[..], [HostOrder::Create(_)]));
    desk.say(host, HostWord::Began(game, Ok(())));
    assert_eq!(desk.search("", "").unwrap().games.len(), 0, "a listing tells, too");
    desk.commit_some(1);
    assert_eq!(desk.search("", "").unwrap().games.len(), 1);
}

#[test]
fn what_was_told_is_there_after_a_crash_and_what_was_not_may_be_asked_again() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let ann = desk.seat(game, "ann", 1);
    let bob = desk.reserve_as(game, &["bob"], "bob").unwrap()[0].clone();
    desk.slow_store();
    let (guests, key) = (guests(&["cid"]), "cid".to_owned());
    desk.send(Command::Reserve { game, guests, key, hold: None });
    desk.crash();
    let again = desk.register(registration("a"));
    desk.ready(again, &[game]);
    assert_eq!((desk.view(game).active, desk.view(game).reserved), (1, 1));
    assert_eq!(desk.reserve_as(game, &["bob"], "bob").unwrap(), [bob]);
    desk.reserve_as(game, &["cid"], "cid").unwrap();
    desk.ask(Command::Complete { game, seat: ann, holder: holder(1) }).unwrap();
}

#[test]
fn a_host_has_all_of_its_time_again_after_a_crash_and_its_games_are_hidden_until_it_is_back() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.leave(host);
    desk.pass(secs(170));
    desk.crash();
    desk.pass(secs(170));
    assert_eq!(desk.view(game).status, Status::Active);
    assert_eq!(desk.search("", "").unwrap().games, []);
    let again = desk.register(registration("a"));
    assert!(again.lease > host.lease, "no lease is given twice");
    desk.ready(again, &[game]);
    assert_eq!(desk.search("", "").unwrap().games.len(), 1);
    desk.crash();
    desk.pass(secs(180));
    assert_eq!(desk.view(game).cause, Some(EndCause::HostLost));
}

#[test]
fn a_reservation_runs_out_on_time_though_the_directory_was_down() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seats = desk.reserve(game, &["ann", "bob"]).unwrap();
    desk.claim(game, seats[1].id, "bob", holder(2)).unwrap();
    desk.now = desk.now.after(secs(50));
    desk.crash();
    desk.pass(secs(10));
    assert!(matches!(desk.seats(game)[0].state, SeatState::Ended { .. }));
    // A claim has all of its time again: whoever is joining was not asked to hurry.
    assert!(matches!(desk.seats(game)[1].state, SeatState::Claimed { .. }));
    desk.pass(secs(5));
    assert!(matches!(desk.seats(game)[1].state, SeatState::Ended { .. }));
}

#[test]
fn the_end_of_a_game_survives_a_crash_at_any_commit() {
    for commits in 0..6 {
        let mut desk = Desk::new();
        let host = desk.host("a");
        let game = desk.game(host, "k");
        desk.slow_store();
        desk.send(Command::Terminate(game));
        for _ in 0..commits {
            desk.commit_some(1);
            if desk.told(host).iter().any(|order| matches!(order, HostOrder::Destroy { .. })) {
                desk.say(host, HostWord::Destroyed(game));
            }
        }
        desk.crash();
        let again = desk.register(registration("a"));
        let Ok(Answer::Host(view)) = desk.ask(Command::DescribeHost(again.host)) else { panic!() };
        desk.ready(again, &view.games);
        if desk.view(game).status == Status::Active {
            assert_eq!(commits, 0, "nothing was durable");
            desk.ask(Command::Terminate(game)).unwrap();
        }
        desk.pass(desk.config.destroy_limit);
        let found = desk.view(game);
        assert_eq!((found.status, found.cause), (Status::Terminated, Some(EndCause::Asked)));
        let Ok(Answer::Host(view)) = desk.ask(Command::DescribeHost(again.host)) else { panic!() };
        assert_eq!(view.games, [], "after {commits} commits");
        desk.crash();
        assert_eq!(desk.view(game).status, Status::Terminated);
    }
}

#[test]
fn a_game_whose_host_is_gone_is_hidden_though_the_store_is_slow() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.slow_store();
    let (guests, key) = (guests(&["ann"]), String::new());
    desk.send(Command::Reserve { game, guests, key, hold: None });
    desk.leave(host);
    assert_eq!(desk.search("", "").unwrap().games, []);
    desk.commit_some(1);
    assert_eq!(desk.search("", "").unwrap().games, [], "what is committed later shows no ghost");
}
