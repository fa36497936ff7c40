//! Hosts: leased, asked for their health, hidden while away, ended once.

use rejoin_core::id::{GameId, HostId, OwnerEpoch};
use rejoin_directory::game::{EndCause, GameChange, GameSpec, Status};
use rejoin_directory::host::{
    HostEnd, HostOrder, HostState, HostView, HostWord, Presence, Registration,
};
use rejoin_directory::{Answer, Command, Event, Refusal, Target, What};

use crate::desk::{Desk, FLEET, Process, holder, registration, secs, spec};

fn view(desk: &mut Desk, host: HostId) -> HostView {
    match desk.ask(Command::DescribeHost(host)) {
        Ok(Answer::Host(view)) => *view,
        other => panic!("{other:?}"),
    }
}

fn listed(desk: &mut Desk) -> usize {
    desk.search("", "").unwrap().games.len()
}

#[test]
fn ready_is_refused_before_the_hooks_are_set() {
    let mut desk = Desk::new();
    let process = desk.register(registration("a"));
    let ready = |hooks_set, port, log_paths| HostWord::Ready {
        port,
        log_paths,
        hooks_set,
        games: Vec::new(),
    };
    desk.say(process, ready(false, 7777, Vec::new()));
    assert_eq!(desk.told(process), [HostOrder::Refused(Refusal::HooksNotSet)]);
    for (port, paths) in [(0, 0), (60_001, 0), (7777, 17)] {
        desk.say(process, ready(true, port, vec!["log".to_owned(); paths]));
        let told = desk.told(process);
        assert!(matches!(told[..], [HostOrder::Refused(Refusal::Invalid { .. })]), "{told:?}");
    }
    assert_eq!(desk.create(spec("k")), Err(Refusal::NoHost));
    desk.say(process, ready(true, 60_000, vec!["log".to_owned(); 16]));
    assert_eq!(view(&mut desk, process.host).presence, Presence::Present);
    assert!(desk.create(spec("k")).is_ok());
}

#[test]
fn whoever_registers_takes_over_and_the_earlier_process_can_change_nothing() {
    let mut desk = Desk::new();
    let old = desk.host("a");
    let game = desk.game(old, "k");
    let new = desk.register(registration("a"));
    assert_eq!((new.host, new.lease), (old.host, OwnerEpoch(old.lease.0 + 1)));
    assert_eq!(desk.told(old).last(), Some(&HostOrder::Refused(Refusal::StaleLease)));
    for word in [HostWord::Ending, HostWord::Destroyed(game), HostWord::Healthy(false)] {
        desk.say(old, word);
        assert_eq!(desk.told(old), [HostOrder::Refused(Refusal::StaleLease)]);
    }
    desk.leave(old);
    assert_eq!(listed(&mut desk), 0, "hidden until the new process says what it runs");
    desk.ready(new, &[game]);
    assert_eq!(listed(&mut desk), 1);
    assert_eq!(desk.view(game).status, Status::Active);
}

#[test]
fn a_host_that_is_away_hides_its_games_and_takes_them_back() {
    let mut desk = Desk::new();
    let old = desk.host("a");
    let game = desk.game(old, "k");
    let seat = desk.seat(game, "ann", 1);
    desk.leave(old);
    assert_eq!(listed(&mut desk), 0);
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::HostAway));
    assert_eq!(desk.create(spec("other")), Err(Refusal::NoHost));
    desk.pass(secs(179));
    let new = desk.register(registration("a"));
    desk.ready(new, &[game]);
    assert_eq!((listed(&mut desk), desk.view(game).active), (1, 1));
    desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
}

#[test]
fn past_the_limit_a_host_and_its_games_end_once_with_the_cause() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    desk.leave(process);
    desk.pass(secs(179));
    // Registering is not coming back.
    let again = desk.register(registration("a"));
    desk.pass(secs(1));
    let found = desk.view(game);
    assert_eq!((found.status, found.cause), (Status::Error, Some(EndCause::HostLost)));
    desk.ready(again, &[game]);
    let gone = desk.ask(Command::DescribeHost(process.host));
    let Ok(Answer::Host(gone)) = gone else { panic!("{gone:?}") };
    assert_eq!(gone.state, HostState::Ended(HostEnd::Lost));
    let ends = |event: &&Event| matches!(event, Event::GameEnded { .. } | Event::HostEnded { .. });
    assert_eq!(desk.events.iter().filter(ends).count(), 2);
    assert!(desk.events.contains(&Event::HostEnded { host: process.host, how: HostEnd::Lost }));
    // It may begin anew.
    let anew = desk.register(registration("a"));
    desk.ready(anew, &[]);
    assert!(desk.create(spec("new")).is_ok());
}

#[test]
fn a_missed_health_check_costs_new_joins_first_and_the_host_only_in_the_end() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    desk.told(process);
    desk.pass(secs(60));
    assert_eq!(desk.told(process), [HostOrder::CheckHealth]);
    desk.pass(secs(30));
    assert_eq!(desk.told(process), [HostOrder::Warn { ends_in: secs(90) }]);
    assert_eq!(desk.reserve(game, &["ann"]), Err(Refusal::HostUnhealthy));
    assert_eq!(desk.view(game).status, Status::Active);
    desk.say(process, HostWord::Healthy(true));
    desk.reserve(game, &["ann"]).unwrap();
    desk.say(process, HostWord::Healthy(false));
    assert_eq!(desk.told(process).last(), Some(&HostOrder::Warn { ends_in: secs(180) }));
    desk.pass(secs(180));
    assert_eq!(desk.view(game).cause, Some(EndCause::HostUnhealthy));
    assert_eq!(desk.told(process).last(), Some(&HostOrder::End(HostEnd::Unhealthy)));
}

#[test]
fn a_host_for_one_game_is_spent_with_it() {
    let mut desk = Desk::new();
    let once = Registration { games_max: 1, is_reusable: false, ..registration("a") };
    let process = desk.register(once);
    desk.ready(process, &[]);
    let game = desk.game(process, "k");
    assert_eq!(desk.create(spec("second")), Err(Refusal::NoHost));
    desk.say(process, HostWord::Destroyed(game));
    assert_eq!(desk.view(game).cause, Some(EndCause::HostEnded));
    assert_eq!(desk.told(process).last(), Some(&HostOrder::End(HostEnd::Spent)));
    assert_eq!(desk.create(spec("third")), Err(Refusal::NoHost));
}

#[test]
fn a_host_that_comes_back_without_a_game_ends_that_game_and_no_other() {
    let mut desk = Desk::new();
    let old = desk.host("a");
    let (kept, lost) = (desk.game(old, "kept"), desk.game(old, "lost"));
    let began = desk.create(spec("began")).unwrap().id;
    desk.leave(old);
    let new = desk.register(registration("a"));
    let strange = GameId([3; 16]);
    desk.ready(new, &[kept, strange]);
    assert_eq!(desk.view(kept).status, Status::Active);
    assert_eq!(desk.view(lost).cause, Some(EndCause::HostForgot));
    assert_eq!(desk.view(began).status, Status::Activating);
    let told = desk.told(new);
    assert!(told.iter().any(|it| matches!(it, HostOrder::Create(view) if view.id == began)));
    assert!(told.contains(&HostOrder::DestroyEnd(strange)), "what is not ours is not wanted");
}

#[test]
fn a_host_that_lies_about_games_of_others_is_told_so() {
    let mut desk = Desk::new();
    let (a, b) = (desk.host("a"), desk.host("b"));
    let game = desk.game(a, "k");
    desk.told(b);
    for (name, word) in [
        ("destroyed", HostWord::Destroyed(game)),
        ("began", HostWord::Began(game, Err("mine".to_owned()))),
        ("updated", HostWord::Updated(game, Ok(()))),
        ("destroying", HostWord::Destroying(game, Err("mine".to_owned()))),
    ] {
        desk.say(b, word);
        let refused = HostOrder::RefusedWord { word: name, game, why: Refusal::NotYours };
        assert_eq!(desk.told(b), [refused]);
    }
    assert_eq!(desk.view(game).status, Status::Active);
    let nobody = Process { host: HostId([1; 16]), lease: OwnerEpoch(1) };
    desk.say(nobody, HostWord::Ending);
    assert_eq!(desk.told(nobody), [HostOrder::Refused(Refusal::NotFound(What::Host))]);
}

#[test]
fn a_game_that_is_said_to_run_twice_runs_once() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    desk.say(process, HostWord::Began(game, Ok(())));
    desk.say(process, HostWord::Began(game, Err("too late".to_owned())));
    assert_eq!(desk.view(game).status, Status::Active);
    let begun = desk.events.iter().filter(|event| **event == Event::GameActive { game });
    assert_eq!(begun.count(), 1);
}

#[test]
fn a_host_that_is_emptied_ends_with_its_last_game() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game_of(process, GameSpec { ends_when_empty: false, ..spec("k") });
    desk.ask(Command::DrainHost(process.host)).unwrap();
    let limit = desk.config.destroy_limit;
    let told = desk.told(process);
    assert_eq!(told.last(), Some(&HostOrder::Destroy { game, limit, may_refuse: false }));
    assert_eq!(desk.create(spec("new")), Err(Refusal::NoHost));
    desk.say(process, HostWord::Destroying(game, Err("no".to_owned())));
    assert_eq!(desk.view(game).status, Status::Terminating, "this is no question");
    desk.pass(limit);
    assert_eq!(desk.view(game).cause, Some(EndCause::HostDrained));
    assert_eq!(desk.told(process).last(), Some(&HostOrder::End(HostEnd::Drained)));
}

#[test]
fn hosts_are_listed_by_their_fleet_page_by_page_as_they_are_committed() {
    let mut desk = Desk::new();
    desk.fleet("fleet-2");
    let mut known: Vec<HostId> = ["a", "b", "c"].map(|name| desk.host(name).host).into();
    known.sort_unstable();
    let list = |desk: &mut Desk, fleet: &str, after, limit| {
        let target = Target::Fleet(fleet.to_owned());
        match desk.ask(Command::ListHosts { target, after, limit }) {
            Ok(Answer::Hosts(hosts)) => hosts,
            other => panic!("{other:?}"),
        }
    };
    let first = list(&mut desk, FLEET, None, 2);
    let rest = list(&mut desk, FLEET, Some(first[1].id), 2);
    let ids: Vec<HostId> = first.iter().chain(&rest).map(|host| host.id).collect();
    assert_eq!(ids, known);
    assert!(first.iter().all(|host| host.presence == Presence::Present && host.port == 7777));
    assert_eq!(list(&mut desk, "fleet-2", None, 2), []);
    desk.leave(Process { host: known[0], lease: first[0].lease });
    assert_eq!(list(&mut desk, FLEET, None, 1)[0].presence, Presence::Away);
    desk.crash();
    assert_eq!(list(&mut desk, FLEET, None, 100).len(), 3);
}

#[test]
fn a_host_that_was_away_hears_again_what_it_may_have_missed() {
    let mut desk = Desk::new();
    let old = desk.host("a");
    let game = desk.game(old, "k");
    let change = GameChange { capacity: Some(9), ..GameChange::default() };
    let ticket = desk.send(Command::Update { game, change });
    desk.leave(old);
    let new = desk.register(registration("a"));
    desk.ready(new, &[game]);
    let told = desk.told(new);
    assert!(told.contains(&HostOrder::CreateEnd(game)), "{told:?}");
    let asked =
        told.iter().filter(|order| matches!(order, HostOrder::Update(id, _) if *id == game));
    assert_eq!(asked.count(), 1, "{told:?}");
    desk.say(new, HostWord::Updated(game, Ok(())));
    assert!(desk.answers[&ticket].is_ok());
    assert_eq!(desk.view(game).spec.capacity, 9);
}
