//! The life of a Game: made once, told when it is durable, ended once.

use std::collections::BTreeMap;

use rejoin_directory::catalogue::{AliasSpec, Route};
use rejoin_directory::game::{EndCause, GameChange, GameSpec, Status};
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::{Answer, Command, Event, Refusal, Target, What};

use crate::desk::{Desk, FLEET, holder, registration, secs, spec};

#[test]
fn a_game_is_made_prepared_active_and_ended_with_hooks_on_the_way() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let view = desk.create(spec("k")).unwrap();
    assert_eq!((view.status, view.host), (Status::Activating, host.host));
    let game = view.id;
    assert!(matches!(&desk.told(host)[..], [HostOrder::Create(view)] if view.id == game));
    desk.say(host, HostWord::Began(game, Ok(())));
    assert_eq!(desk.told(host), [HostOrder::CreateEnd(game)]);
    assert_eq!(desk.view(game).status, Status::Active);
    let answer = desk.ask(Command::Terminate(game));
    assert!(matches!(answer, Ok(Answer::Game(view)) if view.status == Status::Terminating));
    let limit = desk.config.destroy_limit;
    assert_eq!(desk.told(host), [HostOrder::Destroy { game, limit, may_refuse: true }]);
    desk.say(host, HostWord::Destroying(game, Ok(())));
    desk.say(host, HostWord::Destroyed(game));
    assert_eq!(desk.told(host), [HostOrder::DestroyEnd(game)]);
    let view = desk.view(game);
    assert_eq!((view.status, view.cause), (Status::Terminated, Some(EndCause::Asked)));
    let ends = desk.events.iter().filter(|event| matches!(event, Event::GameEnded { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn the_same_key_gives_the_same_game_with_its_state_of_now() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let again = desk.create(spec("k")).unwrap();
    assert_eq!((again.id, again.status), (game, Status::Active));
    assert_eq!(desk.directory.game_count(), 1);
    let other = GameSpec { capacity: 5, ..spec("k") };
    assert_eq!(desk.create(other), Err(Refusal::KeyReused));
    assert_ne!(desk.create(spec("")).unwrap().id, desk.create(spec("")).unwrap().id);
}

#[test]
fn the_least_loaded_host_is_taken_and_among_equals_the_first_by_name() {
    let mut desk = Desk::new();
    let (b, a) = (desk.host("b"), desk.host("a"));
    let hosts: Vec<_> = ["1", "2", "3"].map(|key| desk.create(spec(key)).unwrap().host).into();
    assert_eq!(hosts, [a.host, b.host, a.host]);
    let west = GameSpec { location: "west".to_owned(), ..spec("w") };
    assert_eq!(desk.create(west.clone()), Err(Refusal::NoHost));
    let mut far = registration("far");
    far.location = "west".to_owned();
    let far = desk.register(far);
    desk.ready(far, &[]);
    assert_eq!(desk.create(west).unwrap().host, far.host);
    let nowhere = GameSpec { location: "north".to_owned(), ..spec("n") };
    assert!(matches!(desk.create(nowhere), Err(Refusal::Invalid { field: "location", .. })));
}

#[test]
fn a_host_never_gets_more_games_than_it_takes() {
    let mut desk = Desk::new();
    let process =
        desk.register(rejoin_directory::host::Registration { games_max: 2, ..registration("a") });
    desk.ready(process, &[]);
    // Even while the store has not committed any of them.
    desk.slow_store();
    let tickets = ["1", "2", "3"].map(|key| {
        let target = Target::Fleet(FLEET.to_owned());
        desk.send(Command::Create { target, spec: spec(key) })
    });
    desk.commit_some(100);
    let outcomes = tickets.map(|ticket| desk.answers[&ticket].is_ok());
    assert_eq!(outcomes, [true, true, false]);
    assert_eq!(desk.answers[&tickets[2]], Err(Refusal::NoHost));
}

#[test]
fn a_veto_of_the_begin_hook_ends_the_game_and_leaves_the_host_as_it_was() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.create(spec("k")).unwrap().id;
    desk.say(host, HostWord::Began(game, Err("not today".to_owned())));
    let view = desk.view(game);
    assert_eq!((view.status, view.cause), (Status::Terminated, Some(EndCause::Vetoed)));
    assert_eq!(desk.told(host).last(), Some(&HostOrder::DestroyEnd(game)));
    let Ok(Answer::Host(view)) = desk.ask(Command::DescribeHost(host.host)) else { panic!() };
    assert_eq!(view.games, []);
}

#[test]
fn a_veto_against_the_end_leaves_the_game_as_it_was() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.seat(game, "ann", 1);
    desk.ask(Command::Terminate(game)).unwrap();
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::WrongStatus(Status::Terminating)));
    desk.say(host, HostWord::Destroying(game, Err("the last lap".to_owned())));
    let view = desk.view(game);
    assert_eq!((view.status, view.cause, view.active), (Status::Active, None, 1));
    desk.reserve(game, &["bob"]).unwrap();
    desk.pass(secs(61));
    desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
    // Nobody has come since the veto, so it is not over yet.
    assert_eq!(desk.view(game).status, Status::Active);
}

#[test]
fn a_host_that_does_not_begin_or_end_in_time_is_not_waited_for() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let slow = desk.create(spec("slow")).unwrap().id;
    let game = desk.game(host, "k");
    desk.ask(Command::Terminate(game)).unwrap();
    for _ in 0..6 {
        desk.say(host, HostWord::Healthy(true));
        desk.pass(secs(50));
    }
    assert_eq!(desk.view(slow).cause, Some(EndCause::ActivationTimeout));
    assert_eq!(desk.view(game).status, Status::Terminated);
    // A late word changes nothing.
    desk.say(host, HostWord::Began(slow, Ok(())));
    assert_eq!(desk.view(slow).status, Status::Terminated);
    let refused = HostOrder::RefusedWord { word: "began", game: slow, why: Refusal::NotYours };
    assert!(desk.told(host).contains(&refused));
}

#[test]
fn the_last_player_leaves_and_the_game_ends_unless_somebody_is_on_the_way() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let ann = desk.seat(game, "ann", 1);
    let bob = desk.reserve(game, &["bob"]).unwrap()[0].id;
    desk.ask(Command::Complete { game, seat: ann, holder: holder(1) }).unwrap();
    assert_eq!(desk.view(game).status, Status::Active);
    desk.ask(Command::Release { game, seat: bob }).unwrap();
    let view = desk.view(game);
    assert_eq!((view.status, view.cause), (Status::Terminating, Some(EndCause::LastLeft)));
    let stays = GameSpec { ends_when_empty: false, ..spec("stays") };
    let stays = desk.game_of(host, stays);
    let cid = desk.seat(stays, "cid", 3);
    desk.ask(Command::Complete { game: stays, seat: cid, holder: holder(3) }).unwrap();
    assert_eq!(desk.view(stays).status, Status::Active);
}

#[test]
fn a_game_that_nobody_ever_joins_ends_after_a_time() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let live = |desk: &mut Desk, minutes| {
        for _ in 0..minutes {
            desk.pass(secs(60));
            desk.say(host, HostWord::Healthy(true));
        }
    };
    live(&mut desk, 30);
    desk.reserve(game, &["ann"]).unwrap();
    live(&mut desk, 59);
    assert_eq!(desk.view(game).status, Status::Active, "a reservation starts the time anew");
    live(&mut desk, 3);
    assert_eq!(desk.view(game).cause, Some(EndCause::NobodyCame));
}

#[test]
fn an_update_is_asked_of_the_host_and_merges_properties() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let mut first = spec("k");
    first.properties.insert("mode".to_owned(), "duel".to_owned());
    let game = desk.game_of(host, first);
    let change = GameChange {
        name: Some("new".to_owned()),
        properties: BTreeMap::from([("map".to_owned(), Some("ice".to_owned()))]),
        ..GameChange::default()
    };
    let asked = desk.send(Command::Update { game, change: change.clone() });
    assert!(!desk.answers.contains_key(&asked), "nothing is changed before the host agrees");
    assert_eq!(desk.ask(Command::Update { game, change: change.clone() }), Err(Refusal::Busy));
    desk.say(host, HostWord::Updated(game, Ok(())));
    assert!(desk.answers[&asked].is_ok());
    let view = desk.view(game);
    assert_eq!((view.spec.name.as_str(), view.spec.properties.len()), ("new", 2));
    assert_eq!(desk.told(host).last(), Some(&HostOrder::UpdateEnd(game)));
    let asked = desk.send(Command::Update { game, change: change.clone() });
    desk.say(host, HostWord::Updated(game, Err("no".to_owned())));
    assert_eq!(desk.answers[&asked], Err(Refusal::Vetoed("no".to_owned())));
    let asked = desk.send(Command::Update { game, change });
    desk.pass(desk.config.update_limit);
    assert_eq!(desk.answers[&asked], Err(Refusal::HostSilent));
}

#[test]
fn capacity_cannot_fall_below_the_seats_that_are_taken() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.reserve(game, &["ann", "bob"]).unwrap();
    let to = |capacity| GameChange { capacity: Some(capacity), ..GameChange::default() };
    let refused = desk.ask(Command::Update { game, change: to(1) });
    assert!(matches!(refused, Err(Refusal::Invalid { field: "capacity", .. })));
    let asked = desk.send(Command::Update { game, change: to(2) });
    desk.reserve(game, &["cid"]).unwrap();
    desk.say(host, HostWord::Updated(game, Ok(())));
    assert!(desk.answers[&asked].is_err(), "seats were taken meanwhile");
    assert_eq!(desk.view(game).spec.capacity, 4);
}

#[test]
fn an_ended_game_is_kept_for_its_time_and_then_forgotten() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.say(host, HostWord::Ending);
    assert_eq!(desk.view(game).cause, Some(EndCause::HostEnded));
    desk.pass(secs(30 * 24 * 3_600 - 1));
    assert_eq!(desk.view(game).status, Status::Terminated);
    desk.pass(secs(1));
    assert_eq!(desk.ask(Command::DescribeGame(game)), Err(Refusal::NotFound(What::Game)));
    assert_eq!(desk.directory.game_count(), 0);
    assert_eq!(desk.directory.next_deadline(), None, "nothing is left to wake up for");
}

#[test]
fn aliases_lead_to_a_fleet_or_say_why_not() {
    let mut desk = Desk::new();
    desk.host("a");
    let alias = |name: &str, route| AliasSpec { name: name.to_owned(), route };
    let to = Route::Fleet(FLEET.to_owned());
    desk.ask(Command::PutAlias(alias("live", to))).unwrap();
    let closed = Route::Terminal("closed for good".to_owned());
    desk.ask(Command::PutAlias(alias("old", closed))).unwrap();
    let lost = Route::Fleet("none".to_owned());
    let refused = desk.ask(Command::PutAlias(alias("lost", lost)));
    assert_eq!(refused, Err(Refusal::NotFound(What::Fleet)));
    let mut through = |name: &str| {
        let target = Target::Alias(name.to_owned());
        desk.ask(Command::Create { target, spec: spec(name) })
    };
    assert!(through("live").is_ok());
    assert_eq!(through("old"), Err(Refusal::TerminalAlias("closed for good".to_owned())));
    assert_eq!(through("none"), Err(Refusal::NotFound(What::Alias)));
    let in_use = desk.ask(Command::DeleteFleet(FLEET.to_owned()));
    assert_eq!(in_use, Err(Refusal::InUse(What::Fleet)));
}

#[test]
fn every_request_in_a_state_in_which_it_cannot_be_is_refused_with_that_state() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let activating = desk.create(spec("activating")).unwrap().id;
    let terminating = desk.game(host, "terminating");
    let seat = desk.reserve(terminating, &["ann"]).unwrap()[0].id;
    desk.ask(Command::Terminate(terminating)).unwrap();
    let over = desk.game(host, "over");
    desk.ask(Command::Terminate(over)).unwrap();
    desk.say(host, HostWord::Destroyed(over));
    let states = [
        (activating, Status::Activating),
        (terminating, Status::Terminating),
        (over, Status::Terminated),
    ];
    for (game, status) in states {
        let wrong = Err(Refusal::WrongStatus(status));
        assert_eq!(desk.reserve(game, &["ann"]).map(drop), wrong);
        let claimed = desk.claim(game, seat, "ann", holder(1));
        assert_eq!(claimed.map(drop), wrong);
        let change = GameChange::default();
        assert_eq!(desk.ask(Command::Update { game, change }).map(drop), wrong);
        let hold = secs(60);
        assert_eq!(desk.ask(Command::Extend { game, seat, hold }).map(drop), wrong);
        let ticket = 1_000_000 + status as u64;
        desk.say(host, HostWord::Accept { ticket, game, seat, player: None });
        assert_eq!(desk.answers[&ticket].clone().map(drop), wrong);
    }
    let again = desk.ask(Command::Terminate(over));
    assert_eq!(again, Err(Refusal::WrongStatus(Status::Terminated)));
    assert!(desk.ask(Command::Terminate(terminating)).is_ok(), "asking twice is no error");
}
