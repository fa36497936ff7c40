//! Queues: a placement is tried until it works, and ends once.

use std::time::Duration;

use rejoin_core::id::{GameId, QueueId};
use rejoin_directory::game::{EndCause, SeatState, Status};
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::queue::{
    Destination, Latency, LatencyPolicy, PlacementEnd, PlacementRequest, PlacementView, QueueSpec,
};
use rejoin_directory::{Answer, Command, DirectoryConfig, Event, Refusal, What};

use crate::desk::{Desk, FLEET, Process, guests, registration, secs, spec};

const QUEUE: &str = "queue-1";

fn queue(desk: &mut Desk, latency: Vec<LatencyPolicy>) {
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let spec = QueueSpec {
        name: QUEUE.to_owned(),
        destinations: vec![to],
        timeout: secs(60),
        latency,
        ..QueueSpec::default()
    };
    assert_eq!(desk.ask(Command::PutQueue(spec)), Ok(Answer::Done));
}

fn request(id: &str, players: &[&str]) -> PlacementRequest {
    PlacementRequest {
        id: id.to_owned(),
        game: spec(""),
        party: guests(players),
        latencies: Vec::new(),
    }
}

fn place(desk: &mut Desk, request: PlacementRequest) -> Result<PlacementView, Refusal> {
    match desk.ask(Command::Place { queue: QUEUE.to_owned(), request })? {
        Answer::Placement(view) => Ok(*view),
        other => panic!("{other:?}"),
    }
}

fn view(desk: &mut Desk, id: &str) -> PlacementView {
    let (queue, placement) = (QUEUE.to_owned(), id.to_owned());
    match desk.ask(Command::DescribePlacement { queue, placement }) {
        Ok(Answer::Placement(view)) => *view,
        other => panic!("{other:?}"),
    }
}

/// The last Game that a process was told to prepare.
fn asked(desk: &mut Desk, process: Process) -> Option<GameId> {
    desk.told(process).into_iter().rev().find_map(|order| match order {
        HostOrder::Create(game) => Some(game.id),
        _ => None,
    })
}

fn ends(desk: &Desk) -> usize {
    desk.events.iter().filter(|event| matches!(event, Event::PlacementEnded { .. })).count()
}

#[test]
fn a_placement_ends_with_a_running_game_and_a_seat_for_everybody() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    let host = desk.host("a");
    assert_eq!(place(&mut desk, request("p", &["ann", "bob"])).unwrap().end, None);
    let game = asked(&mut desk, host).unwrap();
    desk.say(host, HostWord::Began(game, Ok(())));
    let Some(PlacementEnd::Fulfilled { game: placed, seats }) = view(&mut desk, "p").end else {
        panic!()
    };
    assert_eq!((placed, seats.len()), (game, 2));
    let known = desk.seats(game);
    for ((player, seat), known) in seats.iter().zip(&known) {
        assert_eq!((player, seat), (&known.player, &known.id));
        assert!(matches!(known.state, SeatState::Reserved { .. }));
    }
    assert_eq!(ends(&desk), 1);
    let again = place(&mut desk, request("p", &["ann", "bob"])).unwrap();
    assert!(again.end.is_some(), "asked again it says what came of it");
    assert_eq!(place(&mut desk, request("p", &["ann"])), Err(Refusal::KeyReused));
}

#[test]
fn a_placement_waits_for_a_host_and_takes_the_first() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    place(&mut desk, request("p", &["ann"])).unwrap();
    desk.pass(secs(59));
    let host = desk.host("a");
    let game = asked(&mut desk, host).unwrap();
    desk.say(host, HostWord::Began(game, Ok(())));
    assert!(matches!(view(&mut desk, "p").end, Some(PlacementEnd::Fulfilled { .. })));
}

#[test]
fn a_placement_that_finds_nobody_times_out_once() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    place(&mut desk, request("p", &[])).unwrap();
    desk.pass(secs(60));
    assert_eq!(view(&mut desk, "p").end, Some(PlacementEnd::TimedOut));
    let host = desk.host("a");
    assert_eq!(asked(&mut desk, host), None);
    let (queue, placement) = (QUEUE.to_owned(), "p".to_owned());
    let late = desk.ask(Command::CancelPlacement { queue, placement });
    assert_eq!(late, Err(Refusal::PlacementEnded));
    assert_eq!(ends(&desk), 1);
}

#[test]
fn a_veto_or_a_lost_host_is_tried_elsewhere() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    let (a, b) = (desk.host("a"), desk.host("b"));
    place(&mut desk, request("p", &["ann"])).unwrap();
    let first = asked(&mut desk, a).unwrap();
    desk.say(a, HostWord::Began(first, Err("no".to_owned())));
    let second = asked(&mut desk, b).unwrap();
    assert_ne!(first, second);
    desk.say(b, HostWord::Ending);
    assert_eq!(desk.view(second).cause, Some(EndCause::HostEnded));
    let third = asked(&mut desk, a).expect("the only one left is tried again");
    desk.say(a, HostWord::Began(third, Ok(())));
    let found = view(&mut desk, "p");
    assert!(matches!(found.end, Some(PlacementEnd::Fulfilled { game, .. }) if game == third));
    assert_eq!((found.attempts, ends(&desk)), (3, 1));
}

#[test]
fn a_placement_that_everybody_refuses_fails_with_the_cause() {
    let mut desk = Desk::with(DirectoryConfig { attempts_max: 2, ..Default::default() });
    queue(&mut desk, Vec::new());
    let a = desk.host("a");
    place(&mut desk, request("p", &[])).unwrap();
    while let Some(game) = asked(&mut desk, a) {
        desk.say(a, HostWord::Began(game, Err("no".to_owned())));
    }
    let found = view(&mut desk, "p");
    assert_eq!(found.end, Some(PlacementEnd::Failed(EndCause::Vetoed)));
    assert_eq!(found.attempts, 2);
}

#[test]
fn a_cancelled_placement_wants_its_game_no_more() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    let a = desk.host("a");
    place(&mut desk, request("p", &["ann"])).unwrap();
    let game = asked(&mut desk, a).unwrap();
    let (queue, placement) = (QUEUE.to_owned(), "p".to_owned());
    desk.ask(Command::CancelPlacement { queue, placement }).unwrap();
    assert_eq!(view(&mut desk, "p").end, Some(PlacementEnd::Cancelled));
    desk.say(a, HostWord::Began(game, Ok(())));
    desk.say(a, HostWord::Destroyed(game));
    let found = desk.view(game);
    assert_eq!((found.status, found.cause), (Status::Terminated, Some(EndCause::PlacementOver)));
    assert_eq!(ends(&desk), 1);
}

#[test]
fn near_hosts_are_waited_for_as_long_as_the_policy_says() {
    let mut desk = Desk::new();
    let policies = vec![
        LatencyPolicy { max_ms: 50, lasts: Some(secs(20)) },
        LatencyPolicy { max_ms: 200, lasts: None },
    ];
    queue(&mut desk, policies);
    let a = desk.host("a");
    let mut far = request("p", &["ann"]);
    let (player, location) = ("ann".to_owned(), "east".to_owned());
    far.latencies = vec![Latency { player, location, ms: 100 }];
    place(&mut desk, far).unwrap();
    assert_eq!(asked(&mut desk, a), None);
    desk.pass(Duration::from_millis(19_999));
    assert_eq!(asked(&mut desk, a), None);
    desk.pass(Duration::from_millis(1));
    assert!(asked(&mut desk, a).is_some());
}

#[test]
fn bad_queues_and_placements_are_refused() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let good = QueueSpec {
        name: "q".to_owned(),
        destinations: vec![to.clone()],
        timeout: secs(10),
        ..QueueSpec::default()
    };
    let with = |change: &dyn Fn(&mut QueueSpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        Command::PutQueue(spec)
    };
    assert!(desk.ask(with(&|_| {})).is_ok());
    assert!(desk.ask(with(&|it| it.destinations = vec![to.clone(); 10])).is_ok());
    assert!(matches!(desk.ask(Command::ListQueues), Ok(Answer::Queues(all)) if all.len() == 2));
    let bad: [&dyn Fn(&mut QueueSpec); 6] = [
        &|it| it.name = "under_score".to_owned(),
        &|it| it.timeout = secs(9),
        &|it| it.timeout = secs(601),
        &|it| it.destinations.clear(),
        &|it| it.destinations = vec![to.clone(); 11],
        &|it| it.destinations[0].location = Some("north".to_owned()),
    ];
    for change in bad {
        assert!(matches!(desk.ask(with(change)), Err(Refusal::Invalid { .. })));
    }
    let lost = with(&|it| it.destinations[0].fleet = "none".to_owned());
    assert_eq!(desk.ask(lost), Err(Refusal::NotFound(What::Fleet)));
    let nowhere = Command::Place { queue: "none".to_owned(), request: request("p", &[]) };
    assert_eq!(desk.ask(nowhere), Err(Refusal::NotFound(What::Queue)));
    let crowd = ["a", "b", "c", "d", "e"];
    let large = place(&mut desk, request("p", &crowd));
    assert_eq!(large, Err(Refusal::GameFull { free: 4 }));
    assert!(place(&mut desk, request("p", &crowd[..4])).is_ok());
    let busy = desk.ask(Command::DeleteQueue(QUEUE.to_owned()));
    assert_eq!(busy, Err(Refusal::InUse(What::Queue)));
    desk.pass(secs(60));
    assert!(desk.ask(Command::DeleteQueue(QUEUE.to_owned())).is_ok());
    let gone = Command::Place { queue: QUEUE.to_owned(), request: request("p", &[]) };
    assert_eq!(desk.ask(gone), Err(Refusal::NotFound(What::Queue)));
}

/// A second deletion had no answer, settings that came meanwhile were deleted, and whoever watched from then
/// on was never told that the queue is gone.
#[test]
fn a_queue_whose_deletion_is_at_the_store_refuses_what_would_be_lost_with_it() {
    let mut desk = Desk::new();
    queue(&mut desk, Vec::new());
    desk.slow_store();
    let delete = Command::DeleteQueue(QUEUE.to_owned());
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let (name, destinations) = (QUEUE.to_owned(), vec![to]);
    let put = Command::PutQueue(QueueSpec { name, destinations, ..QueueSpec::default() });
    let watch = Command::Watch { queue: QUEUE.to_owned(), placement: None };
    let sent = [delete.clone(), watch, delete, put.clone()].map(|command| desk.send(command));
    while desk.commit_some(1) > 0 {}
    let answers = sent.map(|ticket| desk.answers.remove(&ticket));
    let gone = Some(Err(Refusal::NotFound(What::Queue)));
    let busy = Some(Err(Refusal::Busy));
    assert_eq!(answers, [Some(Ok(Answer::Done)), gone.clone(), gone, busy]);
    assert_eq!(desk.ask(Command::ListQueues), Ok(Answer::Queues(Vec::new())));
    let again = desk.send(put);
    desk.commit_some(1);
    assert_eq!(desk.answers.remove(&again), Some(Ok(Answer::Done)));
}

#[test]
fn a_placement_goes_on_after_a_crash_at_any_commit() {
    // The crash comes after so many commits; in the end the placement is fulfilled, once.
    for commits in 0..12 {
        let mut desk = Desk::new();
        queue(&mut desk, Vec::new());
        let first = desk.host("a");
        desk.slow_store();
        let (queue, placement) = (QUEUE.to_owned(), "p".to_owned());
        desk.send(Command::Place { queue: queue.clone(), request: request("p", &["ann"]) });
        for _ in 0..commits {
            desk.commit_some(1);
            let prepared = desk.orders.iter().find_map(|(_, order)| match order {
                HostOrder::Create(game) => Some(game.id),
                _ => None,
            });
            if let Some(game) = prepared {
                desk.say(first, HostWord::Began(game, Ok(())));
            }
        }
        desk.crash();
        let again = desk.register(registration("a"));
        let Ok(Answer::Host(host)) = desk.ask(Command::DescribeHost(again.host)) else { panic!() };
        desk.ready(again, &host.games);
        desk.send(Command::Place { queue: queue.clone(), request: request("p", &["ann"]) });
        while let Some(game) = asked(&mut desk, again) {
            desk.say(again, HostWord::Began(game, Ok(())));
        }
        let found = view(&mut desk, "p");
        let Some(PlacementEnd::Fulfilled { game, seats }) = found.end else {
            panic!("after {commits} commits: {found:?}")
        };
        assert_eq!(seats.len(), 1, "after {commits} commits");
        assert_eq!(desk.view(game).reserved, 1, "after {commits} commits");
        assert_eq!(found.queue, QueueId::of(QUEUE));
        let running = desk.search("", "").unwrap().games;
        assert_eq!(running.len(), 1, "after {commits} commits");
        desk.answers.clear();
        let late = desk.ask(Command::CancelPlacement { queue, placement });
        assert_eq!(late, Err(Refusal::PlacementEnded));
    }
}
