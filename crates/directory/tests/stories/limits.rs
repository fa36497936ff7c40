//! Every limit at its number, and at one more.

use bytes::Bytes;
use std::collections::BTreeMap;

use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::game::{GameSpec, Guest};
use rejoin_directory::host::Registration;
use rejoin_directory::{Answer, Command, DirectoryConfig, Refusal, limits};

use crate::desk::{Desk, registration, secs, spec};

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
    let game = desk.game_of(host, GameSpec { capacity: 200, ..spec("k") });
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
