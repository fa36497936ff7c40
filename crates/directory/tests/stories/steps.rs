//! What takes long is done in steps, and what a change costs is what it must touch. Everything here is
//! counted, and nothing is timed.

use std::collections::BTreeSet;

use rejoin_core::id::GameId;
use rejoin_directory::directory::SEARCH_STEP;
use rejoin_directory::game::GameSpec;
use rejoin_directory::host::{HostWord, Registration};
use rejoin_directory::queue::{Destination, PlacementRequest, QueueSpec};
use rejoin_directory::search::{News, SearchRequest};
use rejoin_directory::{Answer, Command, DirectoryConfig, DirectoryInput, Target};

use crate::desk::{Desk, FLEET, Process, guests, registration, spec};

/// A host with room for a thousand Games.
fn large_host(desk: &mut Desk, name: &str) -> Process {
    let host = desk.register(Registration { games_max: 1_000, ..registration(name) });
    desk.ready(host, &[]);
    host
}

/// So many Games, of which every twentieth is blue.
fn crowd(desk: &mut Desk, count: usize) -> Vec<GameId> {
    let hosts: Vec<Process> =
        (0..count.div_ceil(1_000)).map(|it| large_host(desk, &format!("h{it}"))).collect();
    let ids = (0..count).map(|it| {
        let color = if it % 20 == 0 { "blue" } else { "red" };
        let mut spec = GameSpec { name: format!("{it:05}"), ..spec(&format!("k-{it}")) };
        spec.properties.insert("color".to_owned(), color.to_owned());
        let view = desk.create(spec).unwrap();
        let host = hosts.iter().find(|host| host.host == view.host).unwrap();
        desk.say(*host, HostWord::Began(view.id, Ok(())));
        view.id
    });
    ids.collect()
}

fn request(filter: &str, sort: &str) -> SearchRequest {
    SearchRequest {
        target: Target::Fleet(FLEET.to_owned()),
        location: None,
        filter: filter.to_owned(),
        sort: sort.to_owned(),
        limit: 100,
        cursor: String::new(),
    }
}

fn subscribe(desk: &mut Desk, filter: &str) -> u64 {
    let (target, filter) = (Target::Fleet(FLEET.to_owned()), filter.to_owned());
    match desk.ask(Command::Subscribe { target, location: None, filter }) {
        Ok(Answer::Subscribed(id)) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_seat_waits_for_no_search_that_is_under_way() {
    let mut desk = Desk::new();
    let games = crowd(&mut desk, 1_200);
    let before = desk.directory.effort();
    let greedy: Vec<u64> = (0..50)
        .map(|_| desk.begin(Command::Search(request("properties.color = 'green'", "name ASC"))))
        .collect();
    desk.put(DirectoryInput::Wake);
    let (guests, key) = (guests(&["ann"]), String::new());
    let seat = desk.begin(Command::Reserve { game: games[3], guests, key, hold: None });
    assert!(matches!(desk.answers.remove(&seat), Some(Ok(_))), "at once");
    let after = desk.directory.effort();
    assert_eq!(after.search_steps - before.search_steps, 1, "the one of the wake");
    assert!(after.searched - before.searched <= SEARCH_STEP as u64);
    // Each wake is one step of one search, and they take turns to their ends.
    let mut wakes = 0;
    while desk.directory.next_deadline().is_some_and(|at| at <= desk.now) {
        let before = desk.directory.effort();
        desk.put(DirectoryInput::Wake);
        let after = desk.directory.effort();
        assert!(after.search_steps - before.search_steps <= 1);
        assert!(after.searched - before.searched <= SEARCH_STEP as u64);
        wakes += 1;
    }
    assert!(wakes >= 50 * 1_200 / SEARCH_STEP, "{wakes}");
    for ticket in greedy {
        let Some(Ok(Answer::Page(page))) = desk.answers.remove(&ticket) else { panic!() };
        assert!(page.games.is_empty() && page.work >= 1_200, "it says what it cost");
    }
}

#[test]
fn too_many_searches_at_once_are_refused_and_the_others_are_answered() {
    let mut desk = Desk::new();
    desk.host("a");
    let tickets: Vec<u64> =
        (0..1_100).map(|_| desk.begin(Command::Search(request("", "")))).collect();
    let busy = tickets.iter().filter(|ticket| desk.answers.contains_key(ticket)).count();
    assert_eq!(busy, 76, "1,024 wait");
    desk.give(DirectoryInput::Wake);
    assert!(tickets.iter().all(|ticket| desk.answers.contains_key(ticket)));
}

#[test]
fn a_search_in_steps_finds_all_that_stays_while_others_come_and_go() {
    for sort in ["", "name ASC", "name DESC", "id DESC", "created DESC", "properties.color ASC"] {
        let mut desk = Desk::new();
        let games = crowd(&mut desk, 900);
        let ticket = desk.begin(Command::Search(request("properties.color = 'blue'", sort)));
        let mut gone = BTreeSet::new();
        for game in games.iter().step_by(60).take(12) {
            desk.put(DirectoryInput::Wake);
            desk.begin(Command::Terminate(*game));
            gone.insert(*game);
            desk.begin(Command::Create { target: Target::Fleet(FLEET.to_owned()), spec: spec("") });
        }
        desk.give(DirectoryInput::Wake);
        let Some(Ok(Answer::Page(page))) = desk.answers.remove(&ticket) else { panic!() };
        let found: BTreeSet<GameId> = page.games.iter().map(|game| game.id).collect();
        assert_eq!(found.len(), page.games.len(), "{sort}: shown twice");
        let stayed = games.iter().step_by(20).filter(|game| !gone.contains(game));
        assert!(stayed.clone().count() >= 30);
        assert!(stayed.clone().all(|game| found.contains(game)), "{sort}: left out");
    }
}

#[test]
fn room_is_found_behind_any_number_of_full_games() {
    let config = DirectoryConfig { search_work_max: 40, ..DirectoryConfig::default() };
    let mut desk = Desk::with(config);
    let games = crowd(&mut desk, 120);
    for game in &games[30..] {
        desk.reserve(*game, &["a", "b", "c", "d"]).unwrap();
    }
    for sort in ["", "id DESC", "created DESC", "created ASC", "players DESC"] {
        let page = desk.search("has_room = true", sort).unwrap();
        assert_eq!(page.games.len(), 30, "{sort}");
        assert!(page.games.iter().all(|game| game.free() > 0));
    }
}

#[test]
fn a_subscription_may_match_more_games_than_may_wait() {
    let config = DirectoryConfig { news_max: 10, ..DirectoryConfig::default() };
    let mut desk = Desk::with(config);
    let games = crowd(&mut desk, 300);
    let id = subscribe(&mut desk, "");
    let mut known = BTreeSet::new();
    for turn in 0..100 {
        desk.give(DirectoryInput::Credit { subscription: id, count: 5 });
        for (_, news) in std::mem::take(&mut desk.news) {
            let is_right = match &news {
                News::Added(_) => known.insert(news.game()),
                News::Changed(_) => known.contains(&news.game()),
                News::Removed(_) => known.remove(&news.game()),
            };
            assert!(is_right, "{news:?}");
        }
        if turn < 20 {
            desk.ask(Command::Terminate(games[turn * 7])).unwrap();
            desk.reserve(games[turn * 7 + 1], &["ann"]).unwrap();
        }
    }
    assert_eq!(desk.cuts, []);
    let target = Target::Fleet(FLEET.to_owned());
    let now: BTreeSet<GameId> =
        games.iter().copied().filter(|game| desk.view(*game).is_listed()).collect();
    assert_eq!(known, now);
    // Another one of the same size can be opened while it is there.
    let again = Command::Subscribe { target, location: None, filter: String::new() };
    assert!(desk.ask(again).is_ok());
}

#[test]
fn a_change_asks_the_filters_that_it_may_concern_and_no_others() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let mut spec = spec("one");
    spec.properties.insert("mode".to_owned(), "m7".to_owned());
    let game = desk.game_of(host, spec);
    for number in 0..900 {
        let filter = format!("properties.mode = 'm{number}' AND has_room = true");
        let id = subscribe(&mut desk, &filter);
        desk.give(DirectoryInput::Credit { subscription: id, count: 100 });
    }
    desk.news.clear();
    let before = desk.directory.effort().filters;
    desk.reserve(game, &["ann"]).unwrap();
    assert_eq!(desk.news.len(), 1);
    let asked = desk.directory.effort().filters - before;
    assert!(asked <= 3, "{asked} of 900");
}

#[test]
fn a_host_with_room_stirs_the_queues_that_lead_to_it_as_far_as_it_has_room() {
    let mut desk = Desk::new();
    desk.fleet("elsewhere");
    let queue = |name: String, fleet: &str| {
        let to = Destination { fleet: fleet.to_owned(), location: None };
        Command::PutQueue(QueueSpec { name, destinations: vec![to], ..QueueSpec::default() })
    };
    for number in 0..50 {
        desk.ask(queue(format!("q{number}"), "elsewhere")).unwrap();
        for placement in 0..4 {
            place(&mut desk, &format!("q{number}"), placement);
        }
    }
    desk.ask(queue("ours".to_owned(), FLEET)).unwrap();
    for placement in 0..300 {
        place(&mut desk, "ours", placement);
    }
    let before = desk.directory.effort();
    let two = Registration { games_max: 2, ..registration("a") };
    let host = desk.register(two);
    desk.ready(host, &[]);
    let after = desk.directory.effort();
    assert_eq!(after.seeks - before.seeks, 2, "two placements have a host, and it is full");
    // What is over makes room for one more.
    let view = desk.orders.iter().find_map(|(_, order)| match order {
        rejoin_directory::host::HostOrder::Create(view) => Some(view.clone()),
        _ => None,
    });
    let game = view.expect("one is prepared").id;
    desk.say(host, HostWord::Began(game, Err("no".to_owned())));
    assert!(desk.directory.effort().seeks - after.seeks <= 4);
}

fn place(desk: &mut Desk, queue: &str, number: usize) {
    let request = PlacementRequest {
        id: format!("p{number}"),
        game: spec(""),
        party: guests(&["ann"]),
        latencies: Vec::new(),
    };
    desk.ask(Command::Place { queue: queue.to_owned(), request }).unwrap();
}
