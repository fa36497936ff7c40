//! Callers from outside, and edges where what was documented and what was done differed.

use std::collections::BTreeMap;

use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::game::{
    EndCause, GameChange, GameSpec, SeatFilter, SeatState, SeatStatus, Status,
};
use rejoin_directory::host::{HostEnd, HostState, HostWord, Registration};
use rejoin_directory::queue::{Destination, PlacementRequest, QueueSpec};
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{
    Answer, Caller, Command, DirectoryConfig, Payer, Refusal, Secret, Target, What,
};

use crate::desk::{Desk, FLEET, guests, holder, registration, secs, spec};

const CHOSEN: &str = "0123456789abcdef";

fn caller(network: u128, secret: Option<&str>) -> Caller {
    let secret = secret.map(|text| Secret::new(text).unwrap());
    Caller { is_outside: true, payer: Some(Payer { key: 7, network }), secret }
}

fn ask_for(desk: &mut Desk, caller: Caller, command: Command) -> Result<Answer, Refusal> {
    desk.ask(Command::For(caller, Box::new(command)))
}

fn reserve(desk: &mut Desk, by: Caller, player: &str, key: &str) -> Result<Answer, Refusal> {
    let game = desk.create(spec("k")).unwrap().id;
    let (guests, key) = (guests(&[player]), key.to_owned());
    ask_for(desk, by, Command::Reserve { game, guests, key, hold: None })
}

fn seats(answer: Answer) -> Vec<rejoin_directory::game::SeatView> {
    match answer {
        Answer::Seats(seats) => seats,
        Answer::Made(answer, _) => seats(*answer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_seat_is_given_back_by_who_has_its_secret() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let made = reserve(&mut desk, caller(1, None), "ann", "").unwrap();
    let Answer::Made(_, Some(secret)) = made.clone() else { panic!("{made:?}") };
    let seat = seats(made)[0].id;
    let release = Command::Release { game, seat };
    for wrong in [caller(1, None), caller(1, Some(CHOSEN))] {
        let refused = ask_for(&mut desk, wrong, release.clone());
        assert_eq!(refused, Err(Refusal::WrongSecret));
    }
    // It is the same after a restart, and only the hash of the secret is kept.
    desk.crash();
    let again = desk.register(registration("a"));
    desk.ready(again, &[game]);
    assert_eq!(ask_for(&mut desk, caller(1, None), release.clone()), Err(Refusal::WrongSecret));
    let shown = caller(2, Some(secret.reveal()));
    assert!(matches!(ask_for(&mut desk, shown.clone(), release.clone()), Ok(Answer::Seats(_))));
    assert_eq!(ask_for(&mut desk, shown, release), Ok(Answer::Done), "it was before");
    // Hosts and operators need none.
    let made = reserve(&mut desk, caller(1, None), "bob", "").unwrap();
    let seat = seats(made)[0].id;
    let operator = Caller { is_outside: true, ..Caller::default() };
    assert!(ask_for(&mut desk, operator, Command::Release { game, seat }).is_ok());
}

#[test]
fn a_reservation_that_is_repeated_says_so_and_gives_nothing_to_strangers() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    desk.game(host, "k");
    let first = reserve(&mut desk, caller(1, Some(CHOSEN)), "ann", "party-1").unwrap();
    assert!(matches!(first, Answer::Made(_, None)), "its owner knows the secret");
    let again = reserve(&mut desk, caller(1, Some(CHOSEN)), "ann", "party-1").unwrap();
    assert_eq!(Answer::Made(Box::new(again), None), first, "the same, and not new");
    let stranger = reserve(&mut desk, caller(2, None), "ann", "party-1");
    assert_eq!(stranger, Err(Refusal::WrongSecret), "not even the ticket");
    let told = reserve(&mut desk, caller(1, None), "bob", "party-2").unwrap();
    assert!(matches!(told, Answer::Made(_, Some(_))));
    let again = reserve(&mut desk, caller(1, None), "bob", "party-2").unwrap();
    assert!(matches!(again, Answer::Seats(_)), "without the secret, which was told once");
}

#[test]
fn a_placement_is_cancelled_and_its_seats_are_given_back_with_its_secret() {
    let mut desk = Desk::new();
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let queue = QueueSpec { name: "q".to_owned(), destinations: vec![to], ..QueueSpec::default() };
    desk.ask(Command::PutQueue(queue)).unwrap();
    let place = |id: &str| {
        let (id, game, party) = (id.to_owned(), spec(""), guests(&["ann"]));
        let request = PlacementRequest { id, game, party, latencies: Vec::new() };
        Command::Place { queue: "q".to_owned(), request }
    };
    let cancel =
        |id: &str| Command::CancelPlacement { queue: "q".to_owned(), placement: id.to_owned() };
    let first = ask_for(&mut desk, caller(1, Some(CHOSEN)), place("one")).unwrap();
    assert!(matches!(first, Answer::Made(_, None)));
    assert_eq!(ask_for(&mut desk, caller(2, None), cancel("one")), Err(Refusal::WrongSecret));
    assert_eq!(ask_for(&mut desk, caller(2, None), place("one")), Err(Refusal::WrongSecret));
    assert!(ask_for(&mut desk, caller(1, Some(CHOSEN)), cancel("one")).is_ok());
    // The seats of one that came about have the same secret, after a restart as well.
    ask_for(&mut desk, caller(1, Some(CHOSEN)), place("two")).unwrap();
    let host = desk.host("a");
    let game = desk.orders.iter().find_map(|(_, order)| match order {
        rejoin_directory::host::HostOrder::Create(view) => Some(view.id),
        _ => None,
    });
    let game = game.expect("it is prepared");
    desk.crash();
    let again = desk.register(registration("a"));
    desk.ready(again, &[game]);
    assert_ne!(host.lease, again.lease);
    let seat = desk.seats(game)[0].id;
    let release = Command::Release { game, seat };
    assert_eq!(ask_for(&mut desk, caller(2, None), release.clone()), Err(Refusal::WrongSecret));
    assert!(ask_for(&mut desk, caller(1, Some(CHOSEN)), release).is_ok());
}

#[test]
fn what_is_held_open_is_bounded_for_each_key_and_address() {
    let mut desk = Desk::with(DirectoryConfig { open_seats_max: 2, ..Default::default() });
    let host = desk.host("a");
    let game = desk.game_of(host, GameSpec { capacity: 10, ..spec("k") });
    let mut book = |by: u128, player: &str| {
        let (guests, key) = (guests(&[player]), String::new());
        ask_for(
            &mut desk,
            caller(by, Some(CHOSEN)),
            Command::Reserve { game, guests, key, hold: None },
        )
    };
    let first = seats(book(1, "a").unwrap())[0].id;
    let second = seats(book(1, "b").unwrap())[0].id;
    let full = Refusal::LimitReached { what: "open seats of this key and address", limit: 2 };
    assert_eq!(book(1, "c"), Err(full.clone()));
    assert!(book(2, "c").is_ok(), "another address");
    // A seat that is used or given back is not open any more.
    desk.claim(game, first, "a", holder(1)).unwrap();
    desk.ask(Command::Confirm { game, seat: first, holder: holder(1) }).unwrap();
    let mut book = |by: u128, player: &str| {
        let (guests, key) = (guests(&[player]), String::new());
        ask_for(
            &mut desk,
            caller(by, Some(CHOSEN)),
            Command::Reserve { game, guests, key, hold: None },
        )
    };
    assert!(book(1, "d").is_ok());
    assert_eq!(book(1, "e"), Err(full));
    let release = Command::Release { game, seat: second };
    ask_for(&mut desk, caller(1, Some(CHOSEN)), release).unwrap();
    assert!(desk.reserve(game, &["f"]).is_ok(), "the process itself has no bound");
    desk.pass(secs(61));
    for player in ["g", "h"] {
        let (guests, key) = (guests(&[player]), String::new());
        let by = caller(1, Some(CHOSEN));
        ask_for(&mut desk, by, Command::Reserve { game, guests, key, hold: None }).unwrap();
    }
}

/// A claim that comes to nothing is a reservation again, and nobody can refuse it then.
#[test]
fn a_seat_is_held_open_until_its_claim_is_confirmed() {
    let mut desk = Desk::with(DirectoryConfig { open_seats_max: 2, ..Default::default() });
    let host = desk.host("a");
    let game = desk.game_of(host, GameSpec { capacity: 10, ..spec("k") });
    let book = |desk: &mut Desk, player: &str| {
        let (guests, key) = (guests(&[player]), String::new());
        ask_for(desk, caller(1, Some(CHOSEN)), Command::Reserve { game, guests, key, hold: None })
    };
    let first = seats(book(&mut desk, "a").unwrap())[0].id;
    book(&mut desk, "b").unwrap();
    desk.claim(game, first, "a", holder(1)).unwrap();
    let full = Refusal::LimitReached { what: "open seats of this key and address", limit: 2 };
    assert_eq!(book(&mut desk, "c"), Err(full.clone()), "the claim is not confirmed");
    desk.pass(secs(16));
    assert_eq!(book(&mut desk, "c"), Err(full), "it ran out, and two are reserved");
    desk.claim(game, first, "a", holder(2)).unwrap();
    desk.ask(Command::Confirm { game, seat: first, holder: holder(2) }).unwrap();
    book(&mut desk, "c").unwrap();
}

#[test]
fn subscriptions_are_shared_among_addresses_keys_and_operators() {
    let mut desk = Desk::with(DirectoryConfig { subscriptions_max: 40, ..Default::default() });
    let mut open = |payer: Option<(u32, u128)>| {
        let payer = payer.map(|(key, network)| Payer { key, network });
        let by = Caller { is_outside: true, payer, secret: None };
        let target = Target::Fleet(FLEET.to_owned());
        let filter = String::new();
        ask_for(&mut desk, by, Command::Subscribe { target, location: None, filter })
    };
    let full = |what, limit| Err(Refusal::LimitReached { what, limit });
    for network in 0..5 {
        for _ in 0..4 {
            assert!(open(Some((1, network))).is_ok());
        }
        if network == 0 {
            assert_eq!(open(Some((1, 0))), full("subscriptions of this key and address", 4));
        }
    }
    assert_eq!(open(Some((1, 9))), full("subscriptions of this key", 20));
    for network in 0..10 {
        assert!(open(Some((2, network))).is_ok());
    }
    assert_eq!(open(Some((3, 1))), full("subscriptions of clients", 30));
    for _ in 0..10 {
        assert!(open(None).is_ok(), "an operator always finds room");
    }
    assert_eq!(open(None), full("subscriptions", 40));
}

#[test]
fn a_player_has_one_seat_of_a_game_unless_it_may_have_several() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    assert_eq!(desk.reserve(game, &["bob", "ann"]), Err(Refusal::AlreadySeated { seat }));
    assert!(desk.reserve(game, &["bob"]).is_ok(), "nobody of that party was seated");
    desk.ask(Command::Release { game, seat }).unwrap();
    assert!(desk.reserve(game, &["ann"]).is_ok());
    let several = desk.game_of(host, GameSpec { several_seats: true, ..spec("s") });
    assert!(desk.reserve(several, &["ann"]).is_ok() && desk.reserve(several, &["ann"]).is_ok());
    desk.crash();
    let host = desk.register(registration("a"));
    desk.ready(host, &[game, several]);
    assert!(matches!(desk.reserve(game, &["ann"]), Err(Refusal::AlreadySeated { .. })));
    assert!(desk.reserve(several, &["ann"]).is_ok());
}

#[test]
fn a_game_is_found_where_it_runs_whatever_was_asked_for() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let found = |desk: &mut Desk, location: &str| {
        let request = SearchRequest {
            target: Target::Fleet(FLEET.to_owned()),
            location: Some(location.to_owned()),
            filter: String::new(),
            sort: String::new(),
            limit: 10,
            cursor: String::new(),
        };
        match desk.ask(Command::Search(request)) {
            Ok(Answer::Page(page)) => page.games.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((found(&mut desk, "east"), found(&mut desk, "west")), (1, 0));
    assert_eq!(desk.view(game).spec.location, "east");
    // The same key without a location is still the same Game.
    assert_eq!(desk.create(spec("k")).unwrap().id, game);
}

#[test]
fn a_location_stays_with_its_fleet_while_hosts_are_there() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let fleet = |locations: &[&str]| {
        let locations = locations.iter().map(|it| (*it).to_owned()).collect();
        Command::PutFleet(FleetSpec { name: FLEET.to_owned(), locations, indexed: Vec::new() })
    };
    assert_eq!(desk.ask(fleet(&["west"])), Err(Refusal::InUse(What::Location)));
    assert_eq!(desk.ask(fleet(&["east", "north"])), Ok(Answer::Done));
    desk.say(host, HostWord::Ending);
    assert_eq!(desk.ask(fleet(&["west"])), Ok(Answer::Done));
}

#[test]
fn a_fleet_that_a_queue_leads_to_is_in_use() {
    let mut desk = Desk::new();
    let to = Destination { fleet: FLEET.to_owned(), location: None };
    let queue = QueueSpec { name: "q".to_owned(), destinations: vec![to], ..QueueSpec::default() };
    desk.ask(Command::PutQueue(queue)).unwrap();
    let delete = Command::DeleteFleet(FLEET.to_owned());
    assert_eq!(desk.ask(delete.clone()), Err(Refusal::InUse(What::Fleet)));
    desk.crash();
    assert_eq!(desk.ask(delete.clone()), Err(Refusal::InUse(What::Fleet)));
    desk.ask(Command::DeleteQueue("q".to_owned())).unwrap();
    assert_eq!(desk.ask(delete), Ok(Answer::Done));
}

#[test]
fn a_reservation_with_another_hold_is_another_reservation() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let mut with = |hold| {
        let (guests, key) = (guests(&["ann"]), "party".to_owned());
        desk.ask(Command::Reserve { game, guests, key, hold })
    };
    let first = with(Some(secs(10)));
    assert!(first.is_ok());
    assert_eq!(with(Some(secs(10))), first);
    assert_eq!(with(Some(secs(20))), Err(Refusal::KeyReused));
    assert_eq!(with(None), Err(Refusal::KeyReused));
}

#[test]
fn a_host_has_its_time_to_begin_a_game_once_however_often_the_server_starts() {
    let limit = secs(10);
    let mut desk = Desk::with(DirectoryConfig { activation_limit: limit, ..Default::default() });
    desk.host("a");
    let game = desk.create(spec("k")).unwrap().id;
    for _ in 0..3 {
        desk.pass(secs(3));
        desk.crash();
        assert_eq!(desk.view(game).status, Status::Activating);
    }
    desk.pass(secs(1));
    assert_eq!(desk.view(game).cause, Some(EndCause::ActivationTimeout));
}

#[test]
fn the_holder_of_a_seat_is_known_after_a_restart_whatever_its_number() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.seat(game, "ann", 0);
    desk.crash();
    assert!(desk.ask(Command::Complete { game, seat, holder: holder(0) }).is_ok());
    assert_eq!(desk.seats(game)[0].state.status(), SeatStatus::Ended);
}

#[test]
fn games_that_accept_nobody_can_be_left_out() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let open = desk.game(host, "open");
    desk.game_of(host, GameSpec { accepts: false, ..spec("closed") });
    assert_eq!(desk.search("has_room = true", "").unwrap().games.len(), 2, "free seats only");
    let found = desk.search("has_room = true AND accepts = true", "").unwrap().games;
    assert_eq!(found.iter().map(|game| game.id).collect::<Vec<_>>(), [open]);
    assert_eq!(desk.search("accepts = false", "created DESC").unwrap().games.len(), 1);
}

#[test]
fn any_property_can_be_searched_for_and_removed() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let mut spec = spec("k");
    spec.properties.insert("a b".to_owned(), "x".to_owned());
    let game = desk.game_of(host, spec);
    assert_eq!(
        desk.search("properties.'a b' = 'x'", "properties.\"a b\" ASC").unwrap().games.len(),
        1
    );
    let properties =
        BTreeMap::from([("a b".to_owned(), None), ("new".to_owned(), Some("y".to_owned()))]);
    desk.send(Command::Update { game, change: GameChange { properties, ..GameChange::default() } });
    desk.say(host, HostWord::Updated(game, Ok(())));
    let left: Vec<_> = desk.view(game).spec.properties.keys().cloned().collect();
    assert_eq!(left, ["new"]);
}

#[test]
fn seats_are_listed_in_pages_by_status_and_by_player() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game_of(host, GameSpec { capacity: 9, ..spec("k") });
    desk.reserve(game, &["a", "b", "c"]).unwrap();
    desk.seat(game, "d", 1);
    let mut find = |player: Option<&str>, status, after, limit| {
        let filter = SeatFilter { player: player.map(str::to_owned), status };
        match desk.ask(Command::FindSeats { game, filter, after, limit })? {
            Answer::Seats(seats) => Ok(seats),
            other => panic!("{other:?}"),
        }
    };
    let names = |seats: Result<Vec<rejoin_directory::game::SeatView>, Refusal>| {
        seats.map(|seats| seats.iter().map(|seat| seat.player.clone()).collect::<Vec<_>>().concat())
    };
    let first = find(None, None, None, 2).unwrap();
    assert_eq!(names(Ok(first.clone())).unwrap(), "ab");
    assert_eq!(names(find(None, None, Some(first[1].number), 9)).unwrap(), "cd");
    assert_eq!(names(find(None, Some(SeatStatus::Reserved), None, 9)).unwrap(), "abc");
    assert_eq!(names(find(Some("d"), None, None, 9)).unwrap(), "d");
    assert_eq!(names(find(Some("d"), Some(SeatStatus::Reserved), None, 9)).unwrap(), "");
    for limit in [0, 1_001] {
        assert!(matches!(
            find(None, None, None, limit),
            Err(Refusal::Invalid { field: "limit", .. })
        ));
    }
    let seat = first[0].id;
    let one = desk.ask(Command::DescribeSeat { game, seat });
    assert!(
        matches!(one, Ok(Answer::Seats(one)) if matches!(one[0].state, SeatState::Reserved { .. }))
    );
}

#[test]
fn a_host_that_has_ended_can_be_looked_up_until_it_registers_again() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    desk.ask(Command::DrainHost(host.host)).unwrap();
    let state = |desk: &mut Desk| match desk.ask(Command::DescribeHost(host.host)) {
        Ok(Answer::Host(view)) => view.state,
        other => panic!("{other:?}"),
    };
    assert_eq!(state(&mut desk), HostState::Ended(HostEnd::Drained));
    let target = Target::Fleet(FLEET.to_owned());
    let listed = desk.ask(Command::ListHosts { target, after: None, limit: 10 });
    assert_eq!(listed, Ok(Answer::Hosts(Vec::new())));
    desk.register(registration("a"));
    assert_eq!(state(&mut desk), HostState::Registered);
}

#[test]
fn the_servers_own_host_is_neither_drained_nor_taken_over_and_says_how_large_its_games_are() {
    let mut desk = Desk::new();
    let own = Command::RegisterOwn { registration: registration("local"), capacity_max: 64 };
    let Ok(Answer::Host(view)) = desk.ask(own.clone()) else { panic!() };
    let process = crate::desk::Process { host: view.id, lease: view.lease };
    desk.ready(process, &[]);
    assert_eq!(desk.ask(Command::DrainHost(view.id)), Err(Refusal::OwnHost));
    let taken = desk.ask(Command::Register(registration("local")));
    assert!(matches!(taken, Err(Refusal::Invalid { field: "name", .. })));
    let large = desk.create(GameSpec { capacity: 65, ..spec("large") });
    assert_eq!(large.map(drop), Err(Refusal::TooManySeats { most: 64 }));
    assert!(desk.create(GameSpec { capacity: 64, ..spec("fits") }).is_ok());
    // Another host of the fleet takes it.
    let other = desk.register(Registration { location: "west".to_owned(), ..registration("b") });
    desk.ready(other, &[]);
    let view = desk.create(GameSpec { capacity: 65, ..spec("large") }).unwrap();
    assert_eq!(view.host, other.host);
    assert!(matches!(desk.ask(own), Ok(Answer::Host(_))), "it comes back itself");
}
