//! The directory inside a server: its door, a host's line, subscriptions, and what a store that is
//! full, fails or starts again means to them.

use std::time::Duration;

use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId};
use rejoin_server::directory::rules::catalogue::FleetSpec;
use rejoin_server::directory::rules::game::{GameSpec, GameView, Guest, SeatState, Status};
use rejoin_server::directory::rules::host::{HostOrder, HostWord, Presence, Registration};
use rejoin_server::directory::rules::search::News;
use rejoin_server::directory::rules::{Answer, Command, Refusal, Target, What};
use rejoin_server::directory::{HostOrders, Notice, Notices};
use rejoin_server::{AskError, DirectoryConfig, DirectoryDoor, Server, ServerBuilder};
use rejoin_store::faulty::{Faults, Faulty};
use rejoin_store::{Embedded, Memory, Store};

const PATIENCE: Duration = Duration::from_secs(60);

fn serve(store: impl Store + Send + 'static) -> (Server, DirectoryDoor) {
    let builder = ServerBuilder::new().store(store).directory(DirectoryConfig::default());
    let server = builder.start().expect("it starts");
    let door = server.directory().expect("it was asked for");
    (server, door)
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("in time")
}

fn fleet(name: &str) -> FleetSpec {
    let (name, locations) = (name.to_owned(), vec!["here".to_owned()]);
    FleetSpec { name, locations, indexed: Vec::new() }
}

async fn put_fleet(door: &DirectoryDoor) {
    let fleet = fleet("arena");
    assert_eq!(in_time(door.ask(Command::PutFleet(fleet))).await, Ok(Answer::Done));
}

/// A host with room for a few Games, ready, still running `games`.
async fn host(door: &DirectoryDoor, games: Vec<GameId>) -> HostOrders {
    let registration = Registration {
        fleet: "arena".to_owned(),
        name: "one".to_owned(),
        location: "here".to_owned(),
        address: "127.0.0.1".to_owned(),
        games_max: 8,
        is_reusable: true,
    };
    put_fleet(door).await;
    let (view, orders) = in_time(door.register(registration)).await.expect("it may");
    let word = HostWord::Ready { port: 7777, log_paths: Vec::new(), hooks_set: true, games };
    door.host_said(view.id, view.lease, word).await.expect("it runs");
    let mut ready = door.events();
    loop {
        match in_time(door.ask(Command::DescribeHost(view.id))).await {
            Ok(Answer::Host(view)) if view.presence == Presence::Present => return orders,
            _ => drop(in_time(ready.recv()).await),
        }
    }
}

fn create(key: &str) -> Command {
    let spec = GameSpec { key: key.to_owned(), capacity: 2, ..GameSpec::default() };
    Command::Create { target: Target::Fleet("arena".to_owned()), spec }
}

/// A Game that its host has begun.
async fn game(door: &DirectoryDoor, orders: &mut HostOrders, key: &str) -> GameId {
    let Ok(Answer::Game(game)) = in_time(door.ask(create(key))).await else {
        panic!("it is made");
    };
    let mut events = door.events();
    loop {
        match in_time(orders.next()).await {
            Some(HostOrder::Create(told)) if told.id == game.id => break,
            Some(_) => {}
            None => panic!("the line is cut"),
        }
    }
    let began = HostWord::Began(game.id, Ok(()));
    door.host_said(orders.host(), orders.lease(), began).await.expect("it runs");
    while describe(door, game.id).await.status != Status::Active {
        let _ = in_time(events.recv()).await;
    }
    game.id
}

async fn describe(door: &DirectoryDoor, id: GameId) -> GameView {
    match in_time(door.ask(Command::DescribeGame(id))).await {
        Ok(Answer::Game(game)) => GameView::clone(&game),
        other => panic!("{other:?}"),
    }
}

async fn reserve(door: &DirectoryDoor, game: GameId, player: &str) -> Result<SeatId, AskError> {
    let guests = vec![Guest { player: player.to_owned(), ..Guest::default() }];
    let command = Command::Reserve { game, guests, key: String::new(), hold: None };
    match in_time(door.ask(command)).await? {
        Answer::Seats(seats) => Ok(seats[0].id),
        other => panic!("{other:?}"),
    }
}

async fn notice(notices: &mut Notices) -> Option<Notice> {
    in_time(notices.next()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_and_games_are_there_after_a_restart_and_the_host_takes_them_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("ours");
    let (server, door) = serve(open());
    let mut orders = host(&door, Vec::new()).await;
    let id = game(&door, &mut orders, "first").await;
    let seat = reserve(&door, id, "ann").await.expect("it is free");
    let old = (orders.host(), orders.lease());
    server.stop().await;
    assert_eq!(in_time(door.ask(Command::DescribeGame(id))).await, Err(AskError::Stopped));
    assert_eq!(in_time(orders.next()).await, Some(HostOrder::CreateEnd(id)));
    assert_eq!(in_time(orders.next()).await, None);
    drop(server);

    let (server, door) = serve(open());
    let kept = describe(&door, id).await;
    assert_eq!((kept.status, kept.reserved), (Status::Active, 1));
    let away = in_time(door.ask(Command::DescribeHost(old.0))).await;
    assert!(matches!(away, Ok(Answer::Host(view)) if view.presence == Presence::Away));
    let orders = host(&door, vec![id]).await;
    assert!(orders.lease() > old.1);
    // The old process speaks for nobody any more.
    let stale = in_time(door.accept(old, id, seat, None)).await;
    assert_eq!(stale, Err(AskError::Refused(Refusal::StaleLease)));
    let accepted = in_time(door.accept((orders.host(), orders.lease()), id, seat, None)).await;
    assert!(accepted.is_ok(), "{accepted:?}");
    let Ok(Answer::Seats(seats)) = in_time(door.ask(Command::ListSeats(id))).await else {
        panic!("there are seats");
    };
    assert!(matches!(seats[0].state, SeatState::Active { .. }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_hears_all_that_matches_and_every_change_and_a_dropped_line_is_an_absent_host()
{
    let (server, door) = serve(Memory::default());
    let mut orders = host(&door, Vec::new()).await;
    let id = game(&door, &mut orders, "first").await;
    let target = Target::Fleet("arena".to_owned());
    let mut notices = in_time(door.subscribe(target.clone(), None, "has_room = true".to_owned()))
        .await
        .expect("it may");
    assert!(
        matches!(notice(&mut notices).await, Some(Notice::News(News::Added(game))) if game.id == id)
    );
    // More changes than may be on their way at a time.
    for number in 0..100 {
        let seat = reserve(&door, id, &format!("player{number}")).await.expect("it is free");
        let told = notice(&mut notices).await;
        assert!(matches!(told, Some(Notice::News(News::Changed(game))) if game.reserved == 1));
        let released = in_time(door.ask(Command::Release { game: id, seat })).await;
        assert!(released.is_ok(), "{released:?}");
        let told = notice(&mut notices).await;
        assert!(matches!(told, Some(Notice::News(News::Changed(game))) if game.reserved == 0));
    }
    drop(orders);
    assert_eq!(notice(&mut notices).await, Some(Notice::News(News::Removed(id))));
    let broken = in_time(door.subscribe(target, None, "players >".to_owned())).await;
    assert!(matches!(broken, Err(AskError::Refused(Refusal::Filter(_)))));
    server.stop().await;
    assert_eq!(notice(&mut notices).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_takes_a_host_over_and_the_first_hears_no_more() {
    let (server, door) = serve(Memory::default());
    let mut first = host(&door, Vec::new()).await;
    let second = host(&door, Vec::new()).await;
    assert!(second.lease() > first.lease());
    let told = in_time(first.next()).await;
    assert_eq!(told, Some(HostOrder::Refused(Refusal::StaleLease)));
    assert_eq!(in_time(first.next()).await, None);
    // Its end changes nothing for the other.
    drop(first);
    let stale = door.host_left(second.host(), OwnerEpoch(1)).await;
    assert_eq!(stale, Ok(()));
    let there = in_time(door.ask(Command::DescribeHost(second.host()))).await;
    assert!(matches!(there, Ok(Answer::Host(view)) if view.presence == Presence::Present));
    let nobody = in_time(door.ask(Command::DescribeHost(HostId::default()))).await;
    assert_eq!(nobody, Err(AskError::Refused(Refusal::NotFound(What::Host))));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_has_no_room_or_no_answer_for_is_kept_in_the_end() {
    let faults = Faults {
        full: 60,
        unknown_applied: 100,
        unknown_lost: 100,
        reorder: 300,
        ..Faults::default()
    };
    let (server, door) = serve(Faulty::new(Memory::default(), faults, 5));
    // While there is no room, what is new is refused as busy and can be asked again.
    let again = async |command: Command| loop {
        match in_time(door.ask(command.clone())).await {
            Err(AskError::Busy) => tokio::time::sleep(Duration::from_millis(5)).await,
            other => return other,
        }
    };
    for number in 0..60 {
        let fleet = fleet(&format!("fleet{number}"));
        assert_eq!(again(Command::PutFleet(fleet)).await, Ok(Answer::Done));
    }
    let Ok(Answer::Catalogue(fleets, _)) = again(Command::ListCatalogue).await else {
        panic!("it can be read");
    };
    assert_eq!(fleets.len(), 60);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_store_ends_the_directory_and_nobody_is_told_that_something_is_kept() {
    let faults = Faults { poisoned: 1_000, ..Faults::default() };
    let (server, door) = serve(Faulty::new(Memory::default(), faults, 1));
    let fleet = fleet("arena");
    let told = in_time(door.ask(Command::PutFleet(fleet))).await;
    assert_eq!(told, Err(AskError::Stopped));
    in_time(server.failed()).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_being_asked_for_there_is_no_directory_and_its_scopes_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("ours");
    let (server, door) = serve(open());
    put_fleet(&door).await;
    server.stop().await;
    drop((server, door));
    let server = ServerBuilder::new().store(open()).start().expect("it starts");
    assert!(server.directory().is_none());
    server.stop().await;
    drop(server);
    let (server, door) = serve(open());
    let Ok(Answer::Catalogue(fleets, _)) = in_time(door.ask(Command::ListCatalogue)).await else {
        panic!("it can be read");
    };
    assert_eq!(fleets[0].name, "arena");
    server.stop().await;
}
