//! Games that the server hosts itself: a Game is a zone, a seat is the way in, and both agree after a
//! stop.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{
    Answer as HubAnswer, Command as HubCommand, SessionCommand, SessionConfig, ZoneCommand,
};
use rejoin_core::id::{GameId, SeatId, SessionId, ZoneId};
use rejoin_core::wire::v1::{PartCause, RefusalCode};
use rejoin_core::zone::{Context, Delivery, Sender, Zone, ZoneConfig};
use rejoin_server::directory::rules::game::{
    EndCause as GameEnd, GameChange, GameSpec, GameView, Guest, SeatEnd, Standing, Status,
};
use rejoin_server::directory::rules::host::{HostWord, Registration};
use rejoin_server::directory::rules::{Answer, Command, Refusal, Target};
use rejoin_server::events::SeatEnded;
use rejoin_server::{
    AskError, DirectoryConfig, DirectoryDoor, GamesConfig, LocalHooks, Server, ServerBuilder,
};
use rejoin_store::{Embedded, Memory, Store};

const PATIENCE: Duration = Duration::from_secs(60);

/// A game that starts and ends a match when it is told to, and ends when it is told anything else.
#[derive(Default)]
struct Hall;

impl Zone for Hall {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, _: Sender, word: Bytes) {
        match &word[..] {
            b"match" => ctx.start_match(),
            b"over" => ctx.end_match(),
            _ => ctx.end(),
        }
    }
}

fn hall(store: impl Store + Send + 'static) -> ServerBuilder {
    let config = ZoneConfig { tick: None, ..ZoneConfig::default() };
    let games = GamesConfig { closes_in_match: true, ..GamesConfig::default() };
    let builder = ServerBuilder::new().zone("hall", config, Hall::default).store(store);
    builder.directory(DirectoryConfig::default()).games("hall", games)
}

fn serve(store: impl Store + Send + 'static) -> (Server, DirectoryDoor) {
    start(hall(store))
}

fn start(builder: ServerBuilder) -> (Server, DirectoryDoor) {
    let server = builder.start().expect("it starts");
    let door = server.directory().expect("it was asked for");
    (server, door)
}

/// Waits for what others do.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: not in time"));
}

async fn view(door: &DirectoryDoor, game: GameId) -> GameView {
    match door.ask(Command::DescribeGame(game)).await {
        Ok(Answer::Game(view)) => (*view).clone(),
        other => panic!("no game: {other:?}"),
    }
}

/// A Game that runs.
async fn game(door: &DirectoryDoor) -> GameId {
    let game = create(door, "one", 2).await;
    until("it runs", async || view(door, game).await.status == Status::Active).await;
    game
}

async fn create(door: &DirectoryDoor, key: &str, capacity: u32) -> GameId {
    let mut made = None;
    until("a host", async || {
        let spec = GameSpec { key: key.to_owned(), capacity, ..GameSpec::default() };
        let target = Target::Fleet("hall".to_owned());
        match door.ask(Command::Create { target, spec }).await {
            Ok(Answer::Game(view)) => made = Some(view.id),
            Ok(other) => panic!("{other:?}"),
            // The server's own host is not there yet.
            Err(AskError::Refused(Refusal::NoHost | Refusal::NotFound(_))) => {}
            Err(why) => panic!("{why}"),
        }
        made.is_some()
    })
    .await;
    made.expect("it was made")
}

async fn say(server: &Server, session: SessionId, word: &'static [u8]) {
    server.say(session, std::sync::Arc::new(Bytes::from_static(word))).await.expect("it runs");
}

/// A session that lives in the server, with a seat.
async fn guest(server: &Server, door: &DirectoryDoor, game: GameId) -> (SessionId, SeatId) {
    let session = server.start_session(SessionConfig::default()).await.expect("there is room");
    let player = server.session(session).await.expect("it runs").expect("it lives").player;
    let guests = vec![Guest { player: player.to_string(), data: Bytes::new() }];
    let reserve = Command::Reserve { game, guests, key: String::new(), hold: None };
    match door.ask(reserve).await {
        Ok(Answer::Seats(seats)) => (session, seats[0].id),
        other => panic!("no seat: {other:?}"),
    }
}

fn zone(game: GameId) -> ZoneName {
    ZoneName::new("hall", game.to_string())
}

/// Shows a seat, and says what came of it.
async fn show(server: &Server, session: SessionId, game: GameId, seat: SeatId) -> Delivery {
    let mut heard = server.deliveries(session);
    let take =
        HubCommand::Session(session, SessionCommand::TakeSeat(zone(game), seat, Bytes::new()));
    let answer = server.command(take).await.expect("it runs");
    assert!(matches!(answer, HubAnswer::Zone(_)), "{answer:?}");
    tokio::time::timeout(PATIENCE, heard.recv()).await.expect("in time").expect("it is told")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_a_zone_and_a_seat_the_way_in() {
    let (server, door) = serve(Memory::default());
    let game = game(&door).await;
    let ((ann, first), (bob, second)) =
        (guest(&server, &door, game).await, guest(&server, &door, game).await);
    let refused = server.join(ann, zone(game), Bytes::new()).await;
    assert!(refused.is_err(), "nobody comes in without a seat");
    let denied = show(&server, bob, game, first).await;
    assert!(matches!(denied, Delivery::Refused(RefusalCode::SeatNotYours, _)), "{denied:?}");
    assert!(matches!(show(&server, ann, game, first).await, Delivery::Joined(..)));
    assert!(matches!(show(&server, bob, game, second).await, Delivery::Joined(..)));
    until("both seats are in use", async || view(&door, game).await.active == 2).await;

    // A match closes the Game for newcomers.
    say(&server, ann, b"match").await;
    until("nobody new", async || !view(&door, game).await.accepts()).await;

    let mut heard = server.deliveries(bob);
    assert_eq!(
        server.command(HubCommand::Session(bob, SessionCommand::Part)).await,
        Ok(HubAnswer::Done)
    );
    let parted = tokio::time::timeout(PATIENCE, heard.recv()).await.expect("in time");
    assert!(matches!(parted, Some(Delivery::Parted(PartCause::Asked))), "{parted:?}");
    until("one seat is free", async || view(&door, game).await.active == 1).await;
    server.end(ann, EndCause::Left).await.expect("it lives");
    until("it is over", async || view(&door, game).await.status == Status::Terminated).await;
    assert_eq!(view(&door, game).await.cause, Some(GameEnd::LastLeft));
    until("the zone is gone", async || server.zones().await.expect("it runs").is_empty()).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_zones_end_is_the_games_and_the_other_way_round() {
    let (server, door) = serve(Memory::default());
    let game = game(&door).await;
    let (ann, seat) = guest(&server, &door, game).await;
    assert!(matches!(show(&server, ann, game, seat).await, Delivery::Joined(..)));
    let mut heard = server.deliveries(ann);
    assert!(matches!(door.ask(Command::Terminate(game)).await, Ok(Answer::Game(_))));
    let parted = tokio::time::timeout(PATIENCE, heard.recv()).await.expect("in time");
    assert!(matches!(parted, Some(Delivery::Parted(PartCause::ZoneEnded))), "{parted:?}");
    until("it is over", async || view(&door, game).await.status == Status::Terminated).await;
    assert_eq!(view(&door, game).await.cause, Some(GameEnd::Asked));

    let spec = GameSpec { key: "two".to_owned(), ..GameSpec::default() };
    let target = Target::Fleet("hall".to_owned());
    let made = door.ask(Command::Create { target, spec }).await;
    let Ok(Answer::Game(made)) = made else { panic!("{made:?}") };
    until("it runs", async || view(&door, made.id).await.status == Status::Active).await;
    let zone = ZoneId::of("hall", &made.id.to_string());
    assert_eq!(server.command(HubCommand::Zone(ZoneCommand::End(zone))).await, Ok(HubAnswer::Done));
    until("it is over", async || view(&door, made.id).await.status == Status::Terminated).await;
    assert_eq!(view(&door, made.id).await.cause, Some(GameEnd::HostEnded));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn games_and_seats_are_there_after_a_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("it opens");
    let (server, door) = serve(open());
    let game = game(&door).await;
    let (ann, seat) = guest(&server, &door, game).await;
    let (bob, other) = guest(&server, &door, game).await;
    assert!(matches!(show(&server, ann, game, seat).await, Delivery::Joined(..)));
    until("the seat is in use", async || view(&door, game).await.active == 1).await;
    server.stop().await;
    drop((server, door));

    let (server, door) = serve(open());
    server.ready().await.expect("it runs");
    until("the host is back", async || view(&door, game).await.standing == Standing::Present).await;
    let now = view(&door, game).await;
    assert_eq!((now.status, now.active, now.reserved), (Status::Active, 1, 1));
    assert!(matches!(show(&server, bob, game, other).await, Delivery::Joined(..)));
    server.end(ann, EndCause::Left).await.expect("it lives");
    server.end(bob, EndCause::Left).await.expect("it lives");
    until("it is over", async || view(&door, game).await.status == Status::Terminated).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_directory_there_is_no_way_in() {
    let config = ZoneConfig { tick: None, ..ZoneConfig::default() };
    let builder = ServerBuilder::new().zone("hall", config, Hall::default);
    let server = builder.games("hall", GamesConfig::default()).start().expect("it starts");
    let game = GameId([1; 16]);
    server.ready().await.expect("it runs");
    let opened = server.command(HubCommand::Zone(ZoneCommand::OpenGame(zone(game)))).await;
    assert!(matches!(opened, Ok(HubAnswer::Zone(_))), "{opened:?}");
    let ann = server.start_session(SessionConfig::default()).await.expect("there is room");
    let refused = show(&server, ann, game, SeatId([2; 16])).await;
    assert!(matches!(refused, Delivery::Refused(RefusalCode::SeatUnknown, _)), "{refused:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_closes_its_game_over_a_stop_and_no_longer_than_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("it opens");
    let (server, door) = serve(open());
    let game = game(&door).await;
    let (ann, seat) = guest(&server, &door, game).await;
    assert!(matches!(show(&server, ann, game, seat).await, Delivery::Joined(..)));
    say(&server, ann, b"match").await;
    until("nobody new", async || !view(&door, game).await.accepts()).await;
    server.stop().await;
    drop((server, door));

    let (server, door) = serve(open());
    server.ready().await.expect("it runs");
    until("the host is back", async || view(&door, game).await.standing == Standing::Present).await;
    let guests = vec![Guest { player: "bob".to_owned(), data: Bytes::new() }];
    let reserve =
        || Command::Reserve { game, guests: guests.clone(), key: String::new(), hold: None };
    let refused = door.ask(reserve()).await;
    assert_eq!(refused, Err(AskError::Refused(Refusal::NotAccepting)));
    say(&server, ann, b"over").await;
    until("open again", async || view(&door, game).await.accepts()).await;
    assert!(door.ask(reserve()).await.is_ok());
    server.stop().await;
}

/// What the hooks were asked, in their order.
type Asked = Arc<Mutex<Vec<String>>>;

/// Refuses large Games, changes of the name to "no", and the end of a Game named "stay"; panics for one
/// seat.
struct Picky(Asked, Option<GameId>);

impl Picky {
    fn note(&self, what: &str) {
        self.0.lock().expect("no panic holds it").push(what.to_owned());
    }
}

impl LocalHooks for Picky {
    fn on_create_begin(&mut self, game: &GameView) -> bool {
        self.note(&format!("create begin {}", game.spec.key));
        assert!(game.spec.capacity > 1, "this hook has a bug");
        game.spec.capacity <= 8
    }

    fn on_create_end(&mut self, game: GameId) {
        self.note("create end");
        self.1 = Some(game);
    }

    fn on_update_begin(&mut self, _: GameId, spec: &GameSpec) -> bool {
        self.note("update begin");
        spec.name != "no"
    }

    fn on_update_end(&mut self, _: GameId) {
        self.note("update end");
    }

    fn on_destroy_begin(&mut self, game: GameId) -> bool {
        self.note("destroy begin");
        self.1.take() != Some(game)
    }

    fn on_destroy_end(&mut self, _: GameId) {
        self.note("destroy end");
    }
}

async fn rename(door: &DirectoryDoor, game: GameId, name: &str) -> Result<Answer, AskError> {
    let change = GameChange { name: Some(name.to_owned()), ..GameChange::default() };
    door.ask(Command::Update { game, change }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_games_own_hooks_may_refuse_and_nothing_is_half_done() {
    let asked = Asked::default();
    let builder = hall(Memory::default()).game_hooks("hall", Picky(asked.clone(), None));
    let (server, door) = start(builder);
    for (key, capacity) in [("large", 9), ("panics", 1)] {
        let game = create(&door, key, capacity).await;
        until("it is over", async || view(&door, game).await.status == Status::Terminated).await;
        assert_eq!(view(&door, game).await.cause, Some(GameEnd::Vetoed));
    }
    assert!(server.zones().await.expect("it runs").is_empty(), "there never was a zone");

    // The hooks go on after a panic.
    let game = game(&door).await;
    let told = || asked.lock().expect("no panic holds it").clone();
    until("it is told", async || told().last().is_some_and(|last| last == "create end")).await;
    let refused = rename(&door, game, "no").await;
    assert!(matches!(refused, Err(AskError::Refused(Refusal::Vetoed(_)))), "{refused:?}");
    assert_eq!(view(&door, game).await.spec.name, "");
    rename(&door, game, "yes").await.expect("the hook agrees");
    assert_eq!(view(&door, game).await.spec.name, "yes");

    // The first end is refused, and the Game goes on; the second is not.
    door.ask(Command::Terminate(game)).await.expect("it is asked");
    until("it stays", async || view(&door, game).await.status == Status::Active).await;
    assert_eq!(server.zones().await.expect("it runs").len(), 1);
    door.ask(Command::Terminate(game)).await.expect("it is asked");
    until("it is over", async || view(&door, game).await.status == Status::Terminated).await;
    until("it is told", async || told().last().is_some_and(|last| last == "destroy end")).await;
    let of_this =
        told().split_off(told().iter().position(|it| it.ends_with("one")).expect("asked"));
    let expected = [
        "create begin one",
        "create end",
        "update begin",
        "update begin",
        "update end",
        "destroy begin",
        "destroy begin",
        "destroy end",
    ];
    assert_eq!(of_this, expected);
    server.stop().await;
}

/// A hook that never returns.
struct Hangs;

impl LocalHooks for Hangs {
    fn on_create_begin(&mut self, _: &GameView) -> bool {
        loop {
            std::thread::park();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_hangs_costs_the_games_of_its_kind_and_nothing_else() {
    let quick = DirectoryConfig {
        health_every: Duration::from_millis(200),
        health_limit: Duration::from_millis(800),
        ..DirectoryConfig::default()
    };
    let config = ZoneConfig { tick: None, ..ZoneConfig::default() };
    let builder = hall(Memory::default()).zone("yard", config, Hall::default).directory(quick);
    let builder = builder.games("yard", GamesConfig::default()).game_hooks("yard", Hangs);
    let (server, door) = start(builder);
    let fine = game(&door).await;
    let mut stuck = None;
    until("a host", async || {
        let spec = GameSpec { key: "stuck".to_owned(), ..GameSpec::default() };
        let target = Target::Fleet("yard".to_owned());
        if let Ok(Answer::Game(view)) = door.ask(Command::Create { target, spec }).await {
            stuck = Some(view.id);
        }
        stuck.is_some()
    })
    .await;
    let stuck = stuck.expect("it was made");
    until("it is over", async || view(&door, stuck).await.status == Status::Error).await;
    assert_eq!(view(&door, stuck).await.cause, Some(GameEnd::HostUnhealthy));
    assert_eq!(view(&door, fine).await.status, Status::Active);
    assert_eq!(view(&door, fine).await.standing, Standing::Present);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_for_a_kind_without_games_are_a_mistake_that_is_told() {
    let wrong = hall(Memory::default()).game_hooks("yard", Hangs).start();
    let sentence = wrong.err().expect("it does not start").to_string();
    assert!(sentence.contains("\"yard\", which runs none"), "{sentence}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_stream_tells_of_games_seats_and_hosts_in_their_order() {
    let builder = hall(Memory::default());
    let (server, door) = start(builder);
    let mut events = server.events();
    let seats = Arc::new(Mutex::new(Vec::new()));
    let heard = seats.clone();
    let listening = server.on(move |ended: &SeatEnded| {
        heard.lock().expect("no panic holds it").push(ended.how);
    });
    let _listening = listening.expect("a thread");
    let game = game(&door).await;
    let (ann, seat) = guest(&server, &door, game).await;
    let (_, unused) = guest(&server, &door, game).await;
    assert!(matches!(show(&server, ann, game, seat).await, Delivery::Joined(..)));
    door.ask(Command::Release { game, seat: unused }).await.expect("it is reserved");
    until("the seat is in use", async || view(&door, game).await.active == 1).await;
    server.end(ann, EndCause::Left).await.expect("it lives");
    let mut told = Vec::new();
    let is_end = |event: &Event| matches!(event, Event::GameEnded { .. });
    while !told.last().is_some_and(is_end) {
        let event = tokio::time::timeout(PATIENCE, events.recv()).await.expect("in time");
        told.push(event.expect("nobody falls behind"));
    }
    let of_this: Vec<&str> = told
        .iter()
        .filter(|event| match event {
            Event::GameCreated { game: it, .. }
            | Event::GameActive { game: it }
            | Event::GameEnded { game: it, .. }
            | Event::SeatReserved { game: it, .. }
            | Event::SeatClaimed { game: it, .. }
            | Event::SeatEnded { game: it, .. } => *it == game,
            _ => false,
        })
        .map(Event::name)
        .collect();
    let expected = [
        "GameCreated",
        "GameActive",
        "SeatReserved",
        "SeatReserved",
        "SeatClaimed",
        "SeatEnded",
        "SeatEnded",
        "GameEnded",
    ];
    assert_eq!(of_this, expected);
    assert_eq!(told.last(), Some(&Event::GameEnded { game, cause: GameEnd::LastLeft }));
    // A host that comes and goes.
    let registration = Registration {
        fleet: "hall".to_owned(),
        name: "other".to_owned(),
        location: "local".to_owned(),
        address: "203.0.113.7".to_owned(),
        games_max: 1,
        is_reusable: true,
    };
    let (other, orders) = door.register(registration).await.expect("it may");
    let (log_paths, games) = (Vec::new(), Vec::new());
    let ready = HostWord::Ready { port: 7777, log_paths, hooks_set: true, games };
    door.host_said(other.id, other.lease, ready).await.expect("it runs");
    let mut until_told = async |expected: Event| {
        let told = async { while events.recv().await.expect("nobody falls behind") != expected {} };
        tokio::time::timeout(PATIENCE, told).await.expect("in time");
    };
    until_told(Event::HostReady { host: other.id }).await;
    drop(orders);
    until_told(Event::HostAway { host: other.id }).await;
    until("the listener is told", async || seats.lock().expect("no panic").len() == 2).await;
    assert_eq!(*seats.lock().expect("no panic"), [SeatEnd::Released, SeatEnd::Left]);
    server.stop().await;
}
