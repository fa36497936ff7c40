//! Watching placements: what becomes of one, or of all in a queue, told once it is durable and to whoever
//! reads.

use rejoin_core::id::GameId;
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::queue::{
    Destination, PlacementEnd, PlacementNews, PlacementRequest, QueueSpec,
};
use rejoin_directory::search::CutCause;
use rejoin_directory::{Answer, Command, DirectoryConfig, DirectoryInput, Refusal, What};

use crate::desk::{Desk, FLEET, Process, guests, secs, spec};

const QUEUE: &str = "queue-1";

fn queue(desk: &mut Desk) {
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let (name, destinations) = (QUEUE.to_owned(), vec![to]);
    let spec = QueueSpec { name, destinations, timeout: secs(60), ..QueueSpec::default() };
    assert_eq!(desk.ask(Command::PutQueue(spec)), Ok(Answer::Done));
}

fn place(desk: &mut Desk, id: &str) {
    let request = PlacementRequest {
        id: id.to_owned(),
        game: spec(""),
        party: guests(&["ann"]),
        latencies: Vec::new(),
    };
    desk.send(Command::Place { queue: QUEUE.to_owned(), request });
}

fn watch(desk: &mut Desk, placement: Option<&str>) -> Result<u64, Refusal> {
    let (queue, placement) = (QUEUE.to_owned(), placement.map(str::to_owned));
    match desk.ask(Command::Watch { queue, placement })? {
        Answer::Subscribed(id) => Ok(id),
        other => panic!("{other:?}"),
    }
}

fn credit(desk: &mut Desk, subscription: u64, count: u64) {
    desk.give(DirectoryInput::Credit { subscription, count });
}

/// What this one was told, taken away: what, and of which placement.
fn told(desk: &mut Desk, subscription: u64) -> Vec<(&'static str, String)> {
    let all = std::mem::take(&mut desk.placed).into_iter();
    let (own, others): (Vec<_>, Vec<_>) = all.partition(|(id, _)| *id == subscription);
    desk.placed = others;
    let named = own.into_iter().map(|(_, news)| {
        let what = match &news {
            PlacementNews::Added(_) => "added",
            PlacementNews::Changed(_) => "changed",
            PlacementNews::Ended(_) => "ended",
        };
        (what, news.view().id.clone())
    });
    named.collect()
}

fn are(told: &[(&'static str, String)], expected: &[(&str, &str)]) -> bool {
    told.iter().map(|(what, id)| (*what, id.as_str())).eq(expected.iter().copied())
}

/// The Games that a process was told to prepare.
fn asked(desk: &mut Desk, process: Process) -> Vec<GameId> {
    let orders = desk.told(process).into_iter();
    let games = orders.filter_map(|order| match order {
        HostOrder::Create(game) => Some(game.id),
        _ => None,
    });
    games.collect()
}

#[test]
fn a_placement_is_told_from_its_beginning_to_its_end() {
    let mut desk = Desk::new();
    queue(&mut desk);
    place(&mut desk, "m1");
    let one = watch(&mut desk, Some("m1")).unwrap();
    let all = watch(&mut desk, None).unwrap();
    credit(&mut desk, one, 100);
    credit(&mut desk, all, 100);
    assert!(are(&told(&mut desk, one), &[("added", "m1")]));
    place(&mut desk, "m2");
    let host = desk.host("a");
    let games = asked(&mut desk, host);
    assert_eq!(games.len(), 2);
    let heard = told(&mut desk, one);
    assert!(are(&heard, &[("changed", "m1")]), "nothing of the other: {heard:?}");
    for game in games {
        desk.say(host, HostWord::Began(game, Ok(())));
    }
    assert!(are(&told(&mut desk, one), &[("ended", "m1")]));
    let heard = told(&mut desk, all);
    let ends = heard.iter().filter(|(what, _)| *what == "ended").count();
    assert_eq!((heard.first().map(|(what, _)| *what), ends), (Some("added"), 2), "{heard:?}");
    // Whoever comes afterwards hears of the end at once, and of a whole queue what is under way only.
    let late = watch(&mut desk, Some("m1")).unwrap();
    credit(&mut desk, late, 1);
    let (_, last) = desk.placed.last().expect("it is told");
    assert!(matches!(last.view().end, Some(PlacementEnd::Fulfilled { .. })));
    assert!(are(&told(&mut desk, late), &[("ended", "m1")]));
    let empty = watch(&mut desk, None).unwrap();
    credit(&mut desk, empty, 1);
    assert!(told(&mut desk, empty).is_empty());
    assert_eq!(watch(&mut desk, Some("m3")), Err(Refusal::NotFound(What::Placement)));
}

#[test]
fn nothing_is_told_of_a_placement_before_it_is_durable() {
    let mut desk = Desk::new();
    queue(&mut desk);
    let all = watch(&mut desk, None).unwrap();
    credit(&mut desk, all, 100);
    desk.slow_store();
    place(&mut desk, "m1");
    let late = desk.send(Command::Watch { queue: QUEUE.to_owned(), placement: None });
    assert!(desk.placed.is_empty() && !desk.answers.contains_key(&late));
    desk.commit_some(1);
    assert!(are(&told(&mut desk, all), &[("added", "m1")]));
    let Some(Ok(Answer::Subscribed(late))) = desk.answers.remove(&late) else { panic!() };
    credit(&mut desk, late, 1);
    assert!(are(&told(&mut desk, late), &[("added", "m1")]), "once, with how it was then");
}

#[test]
fn whoever_does_not_read_of_placements_is_cut_off_and_nobody_else_is() {
    let mut desk = Desk::with(DirectoryConfig { news_max: 2, ..Default::default() });
    queue(&mut desk);
    for id in ["m1", "m2", "m3"] {
        place(&mut desk, id);
    }
    // What there was at the beginning may wait, however many.
    let lazy = watch(&mut desk, None).unwrap();
    let reader = watch(&mut desk, None).unwrap();
    credit(&mut desk, reader, 1_000);
    assert_eq!(desk.cuts, []);
    place(&mut desk, "m4");
    assert_eq!(desk.cuts, [(lazy, CutCause::TooSlow)], "too many changes");
    let slow = watch(&mut desk, Some("m1")).unwrap();
    desk.pass(secs(30));
    assert_eq!(desk.cuts.last(), Some(&(slow, CutCause::TooSlow)), "too long");
    told(&mut desk, reader);
    desk.pass(secs(30));
    assert_eq!(told(&mut desk, reader).len(), 4, "all have timed out");
    let command = Command::DeleteQueue(QUEUE.to_owned());
    assert_eq!(desk.ask(command), Ok(Answer::Done));
    assert_eq!(desk.cuts.last(), Some(&(reader, CutCause::QueueDeleted)));
}

#[test]
fn subscribers_of_all_kinds_are_counted_together() {
    let mut desk = Desk::with(DirectoryConfig { subscriptions_max: 2, ..Default::default() });
    queue(&mut desk);
    let first = watch(&mut desk, None).unwrap();
    let target = rejoin_directory::Target::Fleet(FLEET.to_owned());
    let subscribe = Command::Subscribe { target, location: None, filter: String::new() };
    desk.ask(subscribe.clone()).unwrap();
    let full = Refusal::LimitReached { what: "subscriptions", limit: 2 };
    assert_eq!(watch(&mut desk, None), Err(full.clone()));
    assert_eq!(desk.ask(subscribe.clone()), Err(full));
    assert_eq!(desk.ask(Command::Unsubscribe(first)), Ok(Answer::Done));
    assert!(desk.ask(subscribe).is_ok());
}
