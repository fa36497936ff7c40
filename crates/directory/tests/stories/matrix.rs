//! Every operation in every state: of a seat, and of a Game. What is refused says why and changes nothing.

use std::fmt::Debug;

use rejoin_core::id::{GameId, SeatId};
use rejoin_directory::game::{GameChange, SeatState, Status};
use rejoin_directory::host::HostWord;
use rejoin_directory::{Answer, Command, Refusal, What};

use crate::desk::{Desk, Process, holder, registration, secs, spec};

/// What came of it, in a word or two.
fn word<T: Debug>(outcome: Result<T, Refusal>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(Refusal::SeatTaken) => "taken",
        Err(Refusal::SeatEnded) => "ended",
        Err(Refusal::NotClaimed) => "not claimed",
        Err(Refusal::NotFound(What::Seat)) => "no seat",
        Err(Refusal::WrongStatus(_)) => "wrong status",
        Err(other) => panic!("{other:?}"),
    }
}

/// A question of a host, answered.
fn asked(desk: &mut Desk, process: Process, word: HostWord) -> Result<Answer, Refusal> {
    desk.say(process, word);
    desk.answers.remove(&1_000_000).expect("an answer")
}

const OPERATIONS: [&str; 13] = [
    "reserve",
    "extend",
    "release",
    "claim",
    "claim by another stay",
    "confirm",
    "confirm by another stay",
    "abandon",
    "abandon by another stay",
    "complete",
    "complete by another stay",
    "accept",
    "remove",
];

/// Does one of them, for the player and the stay that have the seat, or for another stay.
fn operate(
    desk: &mut Desk,
    process: Process,
    (game, seat): (GameId, SeatId),
    operation: &str,
) -> Result<Answer, Refusal> {
    let (own, other) = (holder(1), holder(2));
    let (ticket, player, hold) = (1_000_000, "ann".to_owned(), secs(120));
    let command = match operation {
        "reserve" => return desk.reserve(game, &["zoe"]).map(Answer::Seats),
        "extend" => Command::Extend { game, seat, hold },
        "release" => Command::Release { game, seat },
        "claim" => Command::Claim { game, seat, player, holder: own },
        "claim by another stay" => Command::Claim { game, seat, player, holder: other },
        "confirm" => Command::Confirm { game, seat, holder: own },
        "confirm by another stay" => Command::Confirm { game, seat, holder: other },
        "abandon" => Command::Abandon { game, seat, holder: own },
        "abandon by another stay" => Command::Abandon { game, seat, holder: other },
        "complete" => Command::Complete { game, seat, holder: own },
        "complete by another stay" => Command::Complete { game, seat, holder: other },
        "accept" => {
            return asked(desk, process, HostWord::Accept { ticket, game, seat, player: None });
        }
        "remove" => return asked(desk, process, HostWord::Remove { ticket, game, seat }),
        other => panic!("{other}"),
    };
    desk.ask(command)
}

const SEAT_STATES: [&str; 5] = ["reserved", "claimed", "active", "left", "timed out"];

/// Ann's seat in this state, beside somebody who keeps the Game alive.
fn seat_in(state: &str) -> (Desk, Process, (GameId, SeatId)) {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.seat(game, "bob", 9);
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    if ["claimed", "active", "left"].contains(&state) {
        desk.claim(game, seat, "ann", holder(1)).unwrap();
    }
    if ["active", "left"].contains(&state) {
        desk.ask(Command::Confirm { game, seat, holder: holder(1) }).unwrap();
    }
    if state == "left" {
        desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
    }
    if state == "timed out" {
        desk.pass(secs(60));
    }
    (desk, host, (game, seat))
}

#[test]
fn every_operation_on_a_seat_in_every_state() {
    // reserved, claimed, active, left, timed out
    let table: [[&str; 5]; 13] = [
        ["ok", "ok", "ok", "ok", "ok"],
        ["ok", "ok", "taken", "ended", "ended"],
        ["ok", "taken", "taken", "ended", "ended"],
        ["ok", "ok", "ok", "ended", "ended"],
        ["ok", "taken", "taken", "ended", "ended"],
        ["not claimed", "ok", "ok", "ended", "ended"],
        ["not claimed", "not claimed", "not claimed", "ended", "ended"],
        ["ok", "ok", "not claimed", "ended", "ended"],
        ["ok", "not claimed", "not claimed", "ended", "ended"],
        ["not claimed", "ok", "ok", "ok", "ok"],
        ["not claimed", "not claimed", "not claimed", "ok", "ok"],
        ["ok", "taken", "taken", "ended", "ended"],
        ["not claimed", "not claimed", "ok", "ok", "ok"],
    ];
    for (operation, row) in OPERATIONS.into_iter().zip(table) {
        for (state, expected) in SEAT_STATES.into_iter().zip(row) {
            let (mut desk, host, at) = seat_in(state);
            let before = desk.seats(at.0);
            let outcome = word(operate(&mut desk, host, at, operation));
            assert_eq!(outcome, expected, "{operation} of a seat that is {state}");
            let after = desk.seats(at.0);
            if expected != "ok" {
                assert_eq!(before, after, "{operation} of a seat that is {state}");
            }
            let taken = after.iter().filter(|it| !matches!(it.state, SeatState::Ended { .. }));
            let view = desk.view(at.0);
            assert_eq!(taken.count() as u32, view.reserved + view.active, "{operation}, {state}");
        }
    }
}

const STATUSES: [Status; 4] =
    [Status::Activating, Status::Terminating, Status::Terminated, Status::Error];

/// A Game in this state; with Ann's seat, where it ever was active.
fn game_in(status: Status) -> (Desk, Process, (GameId, SeatId)) {
    let mut desk = Desk::new();
    let mut host = desk.host("a");
    let game = desk.create(spec("k")).unwrap().id;
    let mut seat = SeatId([9; 16]);
    if status != Status::Activating {
        desk.say(host, HostWord::Began(game, Ok(())));
        seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    }
    match status {
        Status::Terminating | Status::Terminated => {
            desk.ask(Command::Terminate(game)).unwrap();
            if status == Status::Terminated {
                desk.say(host, HostWord::Destroyed(game));
            }
        }
        Status::Error => {
            // Its host came back without it.
            host = desk.register(registration("a"));
            desk.ready(host, &[]);
        }
        _ => {}
    }
    assert_eq!(desk.view(game).status, status);
    (desk, host, (game, seat))
}

#[test]
fn every_operation_on_a_game_in_every_state_it_is_not_made_for() {
    let wrong = "wrong status";
    // activating, terminating, terminated, error
    let table: [[&str; 4]; 13] = [
        [wrong, wrong, wrong, wrong],
        [wrong, wrong, wrong, wrong],
        ["no seat", "ok", "ended", "ended"],
        [wrong, wrong, wrong, wrong],
        [wrong, wrong, wrong, wrong],
        ["no seat", "not claimed", "ended", "ended"],
        ["no seat", "not claimed", "ended", "ended"],
        ["no seat", "ok", "ended", "ended"],
        ["no seat", "ok", "ended", "ended"],
        ["no seat", "not claimed", "ok", "ok"],
        ["no seat", "not claimed", "ok", "ok"],
        [wrong, wrong, wrong, wrong],
        ["no seat", "not claimed", "ok", "ok"],
    ];
    for (operation, row) in OPERATIONS.into_iter().zip(table) {
        for (status, expected) in STATUSES.into_iter().zip(row) {
            let (mut desk, host, at) = game_in(status);
            let before = desk.seats(at.0);
            let outcome = word(operate(&mut desk, host, at, operation));
            assert_eq!(outcome, expected, "{operation} of a Game that is {status:?}");
            if expected != "ok" {
                assert_eq!(before, desk.seats(at.0), "{operation} of a Game that is {status:?}");
            }
            assert_eq!(desk.view(at.0).status, status);
        }
    }
    for (status, update, terminate) in [
        (Status::Activating, wrong, "ok"),
        (Status::Terminating, wrong, "ok"),
        (Status::Terminated, wrong, wrong),
        (Status::Error, wrong, wrong),
    ] {
        let (mut desk, _, (game, _)) = game_in(status);
        let change = GameChange { name: Some("n".to_owned()), ..GameChange::default() };
        assert_eq!(word(desk.ask(Command::Update { game, change })), update, "{status:?}");
        assert_eq!(desk.view(game).spec.name, "");
        assert_eq!(word(desk.ask(Command::Terminate(game))), terminate, "{status:?}");
    }
}

#[test]
fn a_key_with_other_parameters_is_refused_for_games_and_seats_whatever_differs() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let mut full = spec("k");
    full.properties.insert("mode".to_owned(), "duel".to_owned());
    let game = desk.game_of(host, full.clone());
    let differs: [&dyn Fn(&mut rejoin_directory::game::GameSpec); 9] = [
        &|it| it.location = "east".to_owned(),
        &|it| it.name = "n".to_owned(),
        &|it| drop(it.properties.insert("mode".to_owned(), "party".to_owned())),
        &|it| it.data = bytes::Bytes::from_static(b"d"),
        &|it| it.capacity = 5,
        &|it| it.accepts = false,
        &|it| it.visible = false,
        &|it| it.creator = "c".to_owned(),
        &|it| it.ends_when_empty = false,
    ];
    for change in differs {
        let mut other = full.clone();
        change(&mut other);
        assert_eq!(desk.create(other).map(drop), Err(Refusal::KeyReused));
    }
    assert_eq!(desk.create(full).unwrap().id, game);
    desk.reserve_as(game, &["ann", "bob"], "p").unwrap();
    for others in [&["ann"][..], &["bob", "ann"], &["ann", "cid"], &["ann", "bob", "cid"]] {
        assert_eq!(desk.reserve_as(game, others, "p"), Err(Refusal::KeyReused), "{others:?}");
    }
    assert_eq!(desk.reserve_as(game, &["ann", "bob"], "p").unwrap().len(), 2);
    assert_eq!(desk.view(game).reserved, 2);
}
