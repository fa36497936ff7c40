//! Every limit at its number, and at one more.

use bytes::Bytes;
use std::collections::BTreeMap;

use rejoin_directory::catalogue::{AliasSpec, FleetSpec, Route};
use rejoin_directory::game::{GameChange, GameSpec, Guest};
use rejoin_directory::host::{HostOrder, HostWord, Registration};
use rejoin_directory::queue::{Destination, Latency, LatencyPolicy, PlacementRequest, QueueSpec};
use rejoin_directory::{Answer, Command, DirectoryConfig, Refusal, limits};

use crate::desk::{Desk, FLEET, registration, secs, spec};

fn is_invalid<T>(outcome: Result<T, Refusal>, field: &str) -> bool {
    matches!(outcome, Err(Refusal::Invalid { field: known, .. }) if known == field)
}

#[test]
fn fields_of_a_game() {
    let mut desk = Desk::new();
    desk.host("a");
    let mut keys = 0;
    let mut with = |change: &dyn Fn(&mut GameSpec)| {
        keys += 1;
        let mut spec = spec(&format!("key-{keys}"));
        change(&mut spec);
        desk.create(spec).map(drop)
    };
    let long = |count: usize| "ä".repeat(count);
    let some = |count: usize| -> BTreeMap<String, String> {
        (0..count).map(|index| (index.to_string(), String::new())).collect()
    };
    assert_eq!(with(&|it| it.key = "k".repeat(48)), Ok(()));
    assert!(is_invalid(with(&|it| it.key = "k".repeat(49)), "idempotency key"));
    assert!(is_invalid(with(&|it| it.key = "a/b".to_owned()), "idempotency key"));
    assert_eq!(with(&|it| it.name = long(1_024)), Ok(()));
    assert!(is_invalid(with(&|it| it.name = long(1_025)), "name"));
    assert_eq!(with(&|it| it.creator = long(1_024)), Ok(()));
    assert!(is_invalid(with(&|it| it.creator = long(1_025)), "creator"));
    assert_eq!(with(&|it| it.capacity = 200), Ok(()));
    assert!(is_invalid(with(&|it| it.capacity = 201), "capacity"));
    assert!(is_invalid(with(&|it| it.capacity = 0), "capacity"));
    assert_eq!(with(&|it| it.properties = some(16)), Ok(()));
    assert!(is_invalid(with(&|it| it.properties = some(17)), "properties"));
    let pair = |key, value| BTreeMap::from([(long(key), long(value))]);
    assert_eq!(with(&|it| it.properties = pair(32, 96)), Ok(()));
    assert!(is_invalid(with(&|it| it.properties = pair(33, 96)), "property key"));
    assert!(is_invalid(with(&|it| it.properties = pair(0, 96)), "property key"));
    assert!(is_invalid(with(&|it| it.properties = pair(32, 97)), "property value"));
    assert_eq!(with(&|it| it.data = Bytes::from(vec![0; 262_144])), Ok(()));
    assert!(is_invalid(with(&|it| it.data = Bytes::from(vec![0; 262_145])), "data"));
}

#[test]
fn fields_of_a_reservation() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game_of(host, GameSpec { capacity: 200, several_seats: true, ..spec("k") });
    let mut reserve = |guests: Vec<Guest>, key: &str, hold| {
        let (key, hold) = (key.to_owned(), Some(hold));
        desk.ask(Command::Reserve { game, guests, key, hold }).map(drop)
    };
    let party = |count: usize| -> Vec<Guest> {
        (0..count).map(|it| Guest { player: it.to_string(), data: Bytes::new() }).collect()
    };
    let one = |player: usize, data: usize| {
        vec![Guest { player: "p".repeat(player), data: Bytes::from(vec![0; data]) }]
    };
    assert_eq!(reserve(party(25), "", secs(60)), Ok(()));
    assert!(is_invalid(reserve(party(26), "", secs(60)), "players"));
    assert!(is_invalid(reserve(party(0), "", secs(60)), "players"));
    let twice = [party(1), party(1)].concat();
    assert!(is_invalid(reserve(twice, "", secs(60)), "players"));
    assert_eq!(reserve(one(1_024, 2_048), "", secs(60)), Ok(()));
    assert!(is_invalid(reserve(one(1_025, 0), "", secs(60)), "player"));
    assert!(is_invalid(reserve(one(0, 0), "", secs(60)), "player"));
    assert!(is_invalid(reserve(one(1, 2_049), "", secs(60)), "player data"));
    assert_eq!(reserve(party(1), &"k".repeat(48), secs(3_600)), Ok(()));
    assert!(is_invalid(reserve(party(1), &"k".repeat(49), secs(60)), "idempotency key"));
    assert!(is_invalid(reserve(party(1), "", secs(3_601)), "hold"));
    assert!(is_invalid(reserve(party(1), "", secs(0)), "hold"));
}

#[test]
fn fields_of_fleets_and_hosts() {
    let mut desk = Desk::new();
    let mut fleet = |name: usize, locations: usize, indexed: usize| {
        let names = |count: usize| (0..count).map(|it| it.to_string()).collect();
        let (locations, indexed) = (names(locations), names(indexed));
        let fleet = FleetSpec { name: "f".repeat(name), locations, indexed };
        desk.ask(Command::PutFleet(fleet)).map(drop)
    };
    assert_eq!(fleet(128, 100, 16), Ok(()));
    assert!(is_invalid(fleet(129, 1, 0), "fleet name"));
    assert!(is_invalid(fleet(1, 101, 0), "locations"));
    assert!(is_invalid(fleet(1, 0, 0), "locations"));
    assert!(is_invalid(fleet(1, 1, 17), "indexed properties"));
    let mut host = |change: &dyn Fn(&mut Registration)| {
        let mut registration = registration("h");
        change(&mut registration);
        desk.ask(Command::Register(registration)).map(drop)
    };
    assert_eq!(host(&|it| it.games_max = 1_000), Ok(()));
    assert!(is_invalid(host(&|it| it.games_max = 1_001), "games_max"));
    assert!(is_invalid(host(&|it| it.games_max = 0), "games_max"));
    assert!(is_invalid(host(&|it| it.is_reusable = false), "games_max"));
    assert_eq!(host(&|it| it.address = "a".repeat(limits::ADDRESS_MAX)), Ok(()));
    assert!(is_invalid(host(&|it| it.address = "a".repeat(257)), "address"));
    assert!(is_invalid(host(&|it| it.name = "h".repeat(129)), "host name"));
}

#[test]
fn numbers_of_things() {
    let mut desk = Desk::with(DirectoryConfig {
        games_max: 1,
        hosts_max: 1,
        fleets_max: 1,
        subscriptions_max: 1,
        ..DirectoryConfig::default()
    });
    let full = |what| Err(Refusal::LimitReached { what, limit: 1 });
    let locations = vec!["east".to_owned()];
    let second = FleetSpec { name: "second".to_owned(), locations, indexed: Vec::new() };
    assert_eq!(desk.ask(Command::PutFleet(second)).map(drop), full("fleets"));
    desk.host("a");
    let second = desk.ask(Command::Register(registration("b")));
    assert_eq!(second.map(drop), full("hosts"));
    desk.create(spec("k")).unwrap();
    assert_eq!(desk.create(spec("l")).map(drop), full("games"));
    let target = rejoin_directory::Target::Fleet(crate::desk::FLEET.to_owned());
    let subscribe = Command::Subscribe { target, location: None, filter: String::new() };
    assert_eq!(desk.ask(subscribe.clone()), Ok(Answer::Subscribed(1)));
    assert_eq!(desk.ask(subscribe.clone()).map(drop), full("subscriptions"));
    desk.ask(Command::Unsubscribe(1)).unwrap();
    assert!(desk.ask(subscribe).is_ok());
}

#[test]
fn fields_of_a_change() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let mut change = |change: GameChange| {
        let ticket = desk.send(Command::Update { game, change });
        desk.say(host, HostWord::Updated(game, Ok(())));
        desk.answers.remove(&ticket).expect("an answer").map(drop)
    };
    let name = |count| GameChange { name: Some("n".repeat(count)), ..GameChange::default() };
    assert_eq!(change(name(1_024)), Ok(()));
    assert!(is_invalid(change(name(1_025)), "name"));
    let capacity = |count| GameChange { capacity: Some(count), ..GameChange::default() };
    assert_eq!(change(capacity(200)), Ok(()));
    assert!(is_invalid(change(capacity(201)), "capacity"));
    assert!(is_invalid(change(capacity(0)), "capacity"));
    let properties = |from: usize, to: usize| GameChange {
        properties: (from..to).map(|it| (it.to_string(), Some(String::new()))).collect(),
        ..GameChange::default()
    };
    assert_eq!(change(properties(0, 16)), Ok(()));
    assert!(is_invalid(change(properties(16, 17)), "properties"), "with those there are");
    assert_eq!(change(properties(3, 9)), Ok(()), "those are replaced");
}

#[test]
fn fields_of_aliases_locations_and_words_of_hosts() {
    let mut desk = Desk::new();
    let mut alias = |name: usize, message: usize| {
        let route = Route::Terminal("m".repeat(message));
        desk.ask(Command::PutAlias(AliasSpec { name: "a".repeat(name), route })).map(drop)
    };
    assert_eq!(alias(128, 1_024), Ok(()));
    assert!(is_invalid(alias(129, 1), "alias name"));
    assert!(is_invalid(alias(0, 1), "alias name"));
    assert!(is_invalid(alias(1, 1_025), "message"));
    assert!(is_invalid(alias(1, 0), "message"));
    let mut fleet = |location: usize, indexed: usize| {
        let (locations, indexed) = (vec!["l".repeat(location)], vec!["i".repeat(indexed)]);
        let fleet = FleetSpec { name: "other".to_owned(), locations, indexed };
        desk.ask(Command::PutFleet(fleet)).map(drop)
    };
    assert_eq!(fleet(64, 32), Ok(()));
    assert!(is_invalid(fleet(65, 32), "location"));
    assert!(is_invalid(fleet(0, 32), "location"));
    assert!(is_invalid(fleet(1, 33), "indexed property"));
    let host = desk.register(registration("h"));
    let mut ready = |port: u16, paths: usize, path: usize| {
        let (log_paths, games) = (vec!["p".repeat(path); paths], Vec::new());
        desk.say(host, HostWord::Ready { port, log_paths, hooks_set: true, games });
        let refused = desk.told(host).into_iter().find_map(|order| match order {
            HostOrder::Refused(refusal) => Some(refusal),
            _ => None,
        });
        refused.map_or(Ok(()), Err)
    };
    assert!(is_invalid(ready(0, 0, 1), "port"));
    assert!(is_invalid(ready(60_001, 0, 1), "port"));
    assert!(is_invalid(ready(1, 17, 1), "log paths"));
    assert!(is_invalid(ready(1, 1, 1_025), "log path"));
    assert_eq!(ready(60_000, 16, 1_024), Ok(()));
    // A veto may say as much as it likes, and so much of it is kept.
    let game = desk.game(host, "k");
    let ticket = desk.send(Command::Update { game, change: GameChange::default() });
    desk.say(host, HostWord::Updated(game, Err("x".repeat(257))));
    let Err(Refusal::Vetoed(words)) = &desk.answers[&ticket] else { panic!() };
    assert_eq!(words.len(), 256);
}

#[test]
fn fields_of_queues_and_placements() {
    let mut desk = Desk::new();
    let policy = LatencyPolicy { max_ms: 50, lasts: None };
    let mut queue = |name: usize, policies: usize, timeout: u64| {
        let to = Destination { fleet: FLEET.to_owned(), location: None };
        let spec = QueueSpec {
            name: "q".repeat(name),
            timeout: secs(timeout),
            destinations: vec![to],
            latency: vec![policy; policies],
            ..QueueSpec::default()
        };
        desk.ask(Command::PutQueue(spec)).map(drop)
    };
    assert_eq!(queue(128, 10, 600), Ok(()));
    assert_eq!(queue(1, 0, 10), Ok(()));
    assert!(is_invalid(queue(129, 0, 10), "queue name"));
    assert!(is_invalid(queue(1, 11, 10), "policies"));
    assert!(is_invalid(queue(1, 0, 9), "timeout"));
    assert!(is_invalid(queue(1, 0, 601), "timeout"));
    let mut place = |id: usize, latencies: usize, bytes: usize| {
        let measured = |it: usize| Latency {
            player: if it == 0 { "p".repeat(bytes) } else { "p".to_owned() },
            location: "east".to_owned(),
            ms: 1,
        };
        let latencies = (0..latencies).map(measured).collect();
        let (id, game) = ("i".repeat(id), spec(""));
        let request = PlacementRequest { id, game, party: Vec::new(), latencies };
        desk.ask(Command::Place { queue: "q".to_owned(), request }).map(drop)
    };
    assert_eq!(place(48, 0, 1), Ok(()));
    assert!(is_invalid(place(49, 0, 1), "placement id"));
    assert!(is_invalid(place(0, 0, 1), "placement id"));
    assert_eq!(place(1, 1_250, 1), Ok(()));
    assert!(is_invalid(place(2, 1_251, 1), "latencies"));
    assert_eq!(place(2, 1, 1_024), Ok(()));
    assert!(is_invalid(place(3, 1, 1_025), "player"));
}

#[test]
fn pages_and_the_numbers_of_aliases_queues_and_placements() {
    let mut desk = Desk::with(DirectoryConfig {
        aliases_max: 1,
        queues_max: 1,
        placements_max: 1,
        ..DirectoryConfig::default()
    });
    let full = |what| Err(Refusal::LimitReached { what, limit: 1 });
    let alias = |name: &str| {
        let route = Route::Fleet(FLEET.to_owned());
        Command::PutAlias(AliasSpec { name: name.to_owned(), route })
    };
    assert_eq!(desk.ask(alias("a")), Ok(Answer::Done));
    assert_eq!(desk.ask(alias("a")), Ok(Answer::Done), "the same once more");
    assert_eq!(desk.ask(alias("b")).map(drop), full("aliases"));
    let queue = |name: &str| {
        let to = Destination { fleet: FLEET.to_owned(), location: None };
        let (name, destinations) = (name.to_owned(), vec![to]);
        Command::PutQueue(QueueSpec { name, destinations, ..QueueSpec::default() })
    };
    assert_eq!(desk.ask(queue("a")), Ok(Answer::Done));
    assert_eq!(desk.ask(queue("b")).map(drop), full("queues"));
    let place = |id: &str| {
        let (id, game) = (id.to_owned(), spec(""));
        let request = PlacementRequest { id, game, party: Vec::new(), latencies: Vec::new() };
        Command::Place { queue: "a".to_owned(), request }
    };
    assert!(desk.ask(place("1")).is_ok());
    assert!(desk.ask(place("1")).is_ok(), "the same once more");
    assert_eq!(desk.ask(place("2")).map(drop), full("placements"));
    for (limit, is_good) in [(0, false), (1, true), (100, true), (101, false)] {
        let target = rejoin_directory::Target::Fleet(FLEET.to_owned());
        let games = desk.ask(Command::ListGames { target: target.clone(), after: None, limit });
        let hosts = desk.ask(Command::ListHosts { target, after: None, limit });
        let page = desk.search_from("", "", limit, "");
        assert_eq!((games.is_ok(), hosts.is_ok(), page.is_ok()), (is_good, is_good, is_good));
    }
}
