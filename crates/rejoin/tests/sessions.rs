//! The interface to Games, against a real server: what it does, what it undoes, and how it says no.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rejoin::client::driver::Options;
use rejoin::client::driver::sessions::{
    self, Completed, Configuration, DirectorySessions, Game, NewGame, Operation, Placement, Query,
    SessionError, Sessions, blocking,
};
use rejoin::guard::GuardConfig;
use rejoin::hub::HubConfig;
use rejoin::prelude::*;
use rejoin::server::directory::GamesConfig;
use rejoin::server::directory::rules::Command;
use rejoin::server::directory::rules::queue::{Destination, QueueSpec};
use rejoin::server::{ApiConfig, ApiKey, DirectoryConfig, Role};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const KIND: &str = "plaza";
/// Long enough to be noticed, and below what a callback may take.
const THOUGHT: Duration = Duration::from_millis(400);

/// A zone that does nothing, one that lets nobody in, and one that thinks it over.
struct Plaza {
    lets_in: bool,
    thinks: Duration,
}

impl Zone for Plaza {
    type In = Bytes;
    type Out = Bytes;

    fn on_join(
        &mut self,
        _: &mut Context<'_, Bytes>,
        _: SessionId,
        _: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        std::thread::sleep(self.thinks);
        if self.lets_in { Ok(Bytes::new()) } else { Err(JoinDenied("nobody".to_owned())) }
    }
}

/// A server with keys, whose zones of two kinds are Games.
async fn serve() -> (Server, SocketAddr) {
    let hub = HubConfig { guard: GuardConfig::open(), ..HubConfig::default() };
    let builder = ServerBuilder::new().config(hub).directory(DirectoryConfig::default());
    let builder = builder
        .zone(KIND, ZoneConfig::default(), || Plaza { lets_in: true, thinks: Duration::ZERO })
        .zone("closed", ZoneConfig::default(), || Plaza { lets_in: false, thinks: Duration::ZERO })
        .zone("slow", ZoneConfig::default(), || Plaza { lets_in: false, thinks: THOUGHT })
        .games(KIND, GamesConfig::default())
        .games("closed", GamesConfig::default())
        .games("slow", GamesConfig::default());
    let server = builder.start().expect("it starts");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let keys = vec![ApiKey::from_text("game", Role::Client, "the key")];
    let web =
        WebConfig { api: Some(ApiConfig { keys, ..ApiConfig::default() }), ..WebConfig::default() };
    let door = server.clone();
    tokio::spawn(async move { door.listen(listener, web).await });
    server.ready().await.expect("it runs");
    (server, at)
}

fn configuration(at: SocketAddr) -> Configuration {
    Configuration::new(format!("http://{at}")).credentials("the key").region("local")
}

fn provider(at: SocketAddr) -> DirectorySessions {
    let made = DirectorySessions::new();
    made.configure(configuration(at)).expect("a good one");
    made
}

/// Makes a Game, once the server's own host is there.
async fn create(made: &dyn Sessions, fleet: &str, name: &str, capacity: u32) -> Game {
    let found = async {
        loop {
            let game = NewGame { name: name.to_owned(), ..NewGame::new(fleet, capacity) };
            match made.create(game).await {
                Ok(game) => return game,
                Err(SessionError::Refused { code, .. })
                    if ["no_host", "fleet_not_found", "invalid"].contains(&code.as_str()) =>
                {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(other) => panic!("{other}"),
            }
        }
    };
    timeout(PATIENCE, found).await.expect("in time")
}

async fn free(made: &dyn Sessions, game: &Game) -> u32 {
    let query = Query {
        fleet: game.fleet.clone(),
        filter: format!("id = '{}'", game.id),
        ..Query::default()
    };
    made.search(query).await.expect("a search").games.first().map_or(0, |game| game.free)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_provider_at_a_time_and_none_before_it_is_configured() {
    assert_eq!(sessions::sessions().err(), Some(SessionError::NotRegistered));
    let registered = sessions::register(Arc::new(DirectorySessions::new())).expect("the first");
    let second = sessions::register(Arc::new(DirectorySessions::new()));
    assert_eq!(second.err(), Some(SessionError::AlreadyRegistered));
    let made = sessions::sessions().expect("the first");
    let mut told = made.completions();
    let refused = made.search(Query::default()).await;
    assert_eq!(refused.err(), Some(SessionError::NotConfigured));
    let error = Some(SessionError::NotConfigured);
    assert_eq!(told.try_recv(), Ok(Completed { operation: Operation::Search, error }));
    for region in ["a region", "r\u{e9}gion", &"x".repeat(65)] {
        let configuration = Configuration::new("http://localhost").region(region);
        assert_eq!(made.configure(configuration), Err(SessionError::BadRegion), "{region}");
    }
    for endpoint in ["nowhere", "ws://a", "http://a/b"] {
        let wrong = made.configure(Configuration::new(endpoint));
        assert!(matches!(wrong, Err(SessionError::BadEndpoint(_))), "{endpoint}");
    }
    // Still not.
    assert!(made.join(serde_game()).await.is_err_and(|error| error == SessionError::NotConfigured));
    drop(registered);
    assert!(sessions::sessions().is_err());
    drop(sessions::register(Arc::new(DirectorySessions::new())).expect("free again"));
}

fn serde_game() -> Game {
    let text = r#"{"id": "0", "fleet": "plaza", "name": "", "status": "active", "cause": null,
        "capacity": 1, "free": 1, "properties": {}}"#;
    serde_json::from_str(text).expect("a game")
}

#[tokio::test(flavor = "multi_thread")]
async fn create_search_join_and_leave() {
    let (server, at) = serve().await;
    let made = provider(at);
    let game = create(&made, KIND, "whole", 1).await;
    let mut told = made.completions();
    assert_eq!(game.status, "active");
    assert_eq!(free(&made, &game).await, 1);
    let stay = made.join(game.clone()).await.expect("a seat");
    assert_eq!((stay.game.id.as_str(), stay.seat.len()), (game.id.as_str(), 32));
    let full = provider(at).join(game.clone()).await.expect_err("there is one seat");
    assert_eq!(full.code(), Some("game_full"));
    made.leave(stay).await.expect("it is over");
    // Really over: of who was in, and soon of who was not let in, there is no session.
    let gone = async {
        while !server.sessions().await.expect("it runs").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(4), gone).await.expect("sooner than a hold would end");
    let query = Query { fleet: KIND.to_owned(), filter: "name =".to_owned(), ..Query::default() };
    let bad = made.search(query).await.expect_err("no filter");
    assert_eq!(bad.code(), Some("bad_filter"));
    let operations: Vec<_> =
        std::iter::from_fn(|| told.try_recv().ok()).map(|it| (it.operation, it.error)).collect();
    let expected = [
        (Operation::Search, None),
        (Operation::Join, None),
        (Operation::Leave, None),
        (Operation::Search, Some(bad)),
    ];
    assert_eq!(operations, expected);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_does_not_come_about_gives_its_seat_back() {
    let (server, at) = serve().await;
    let made = provider(at);
    // The zone says no, after the seat was reserved.
    let game = create(&made, "closed", "undone", 1).await;
    let refused = made.join(game.clone()).await.expect_err("nobody is let in");
    assert!(matches!(refused, SessionError::Refused { .. }), "{refused}");
    let back = async {
        while free(&made, &game).await != 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, back).await.expect("it is free again");

    // The connection is never welcomed: no seat was taken at all.
    let game = create(&made, KIND, "nobody", 1).await;
    let mut options = Options::new();
    options.config.server_name = "another.example".to_owned();
    let wrong = DirectorySessions::new();
    let patience = Duration::from_secs(2);
    wrong.configure(configuration(at).player(options).patience(patience)).expect("a good one");
    let refused = wrong.join(game.clone()).await.expect_err("it is no server of that name");
    assert!(matches!(refused, SessionError::Unreachable(_) | SessionError::Late(_)), "{refused}");
    assert_eq!(free(&made, &game).await, 1);

    // Nobody listens there.
    let nowhere = DirectorySessions::new();
    nowhere.configure(Configuration::new("http://127.0.0.1:1")).expect("an address");
    let gone = nowhere.search(Query { fleet: KIND.to_owned(), ..Query::default() }).await;
    assert!(matches!(gone, Err(SessionError::Unreachable(_))), "{gone:?}");
    // And without a key nobody is answered.
    let stranger = DirectorySessions::new();
    stranger.configure(Configuration::new(format!("http://{at}"))).expect("an address");
    let refused = stranger.search(Query { fleet: KIND.to_owned(), ..Query::default() }).await;
    assert_eq!(refused.expect_err("no key").code(), Some("no_key"));
    server.stop().await;
}

/// A way to the server that lets requests through, and cuts every player when a seat is asked for.
async fn cutting(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let is_cut = Arc::new(tokio::sync::watch::Sender::new(false));
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let is_cut = is_cut.clone();
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(server).await?;
                let mut head = vec![0; 8_192];
                let read = near.read(&mut head).await?;
                let head = &head[..read];
                far.write_all(head).await?;
                let text = String::from_utf8_lossy(head);
                if text.starts_with("GET /play") {
                    let mut cut = is_cut.subscribe();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                    }
                    return Ok::<(), std::io::Error>(());
                }
                if text.starts_with("POST") && text.contains("/seats ") {
                    is_cut.send_replace(true);
                    // Before the answer is heard nobody is connected any more.
                    is_cut.closed().await;
                }
                tokio::io::copy_bidirectional(&mut near, &mut far).await.map(drop)
            });
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_behind_the_reservation_costs_the_seat_at_once() {
    let (server, at) = serve().await;
    let made = provider(at);
    let game = create(&made, KIND, "cut", 1).await;
    let cut = provider(cutting(at).await);
    let mut told = cut.completions();
    let refused = cut.join(game.clone()).await.expect_err("nobody is connected");
    assert!(matches!(refused, SessionError::Unreachable(_)), "{refused}");
    assert_eq!(free(&made, &game).await, 1);
    assert_eq!(told.try_recv().ok().and_then(|it| it.error), Some(refused));
    // Others find the seat.
    made.join(game).await.expect("a seat");
    server.stop().await;
}

/// Whoever does not wait for a join has no seat.
#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_is_dropped_gives_its_seat_back() {
    let (server, at) = serve().await;
    let made = provider(at);
    let game = create(&made, "slow", "dropped", 1).await;
    let join = made.join(game.clone());
    let taken = async {
        while free(&made, &game).await != 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        joined = join => panic!("{joined:?}"),
        taken = timeout(PATIENCE, taken) => taken.expect("the seat is reserved"),
    }
    let back = async {
        while free(&made, &game).await != 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, back).await.expect("it is free again");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_gives_a_game_with_seats() {
    let (server, at) = serve().await;
    let made = provider(at);
    create(&made, KIND, "before", 1).await;
    let destinations = vec![Destination { fleet: KIND.to_owned(), location: None }];
    let queue = QueueSpec { name: "ranked".to_owned(), destinations, ..QueueSpec::default() };
    let door = server.directory().expect("it was asked for");
    door.ask(Command::PutQueue(queue)).await.expect("a good queue");
    let placement = Placement {
        id: "m1".to_owned(),
        game: NewGame { capacity: 2, ..NewGame::default() },
        players: vec!["ann".to_owned()],
    };
    let placed = made.create_on_queue("ranked".to_owned(), placement.clone()).await;
    let placed = placed.expect("a game");
    assert_eq!((placed.id.as_str(), placed.seats[0].player.as_str()), ("m1", "ann"));
    let none = made.create_on_queue("no/such".to_owned(), placement).await;
    assert_eq!(none.expect_err("no queue").code(), Some("queue_not_found"));
    server.stop().await;
}

#[test]
fn the_same_without_async() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (server, at) = runtime.block_on(serve());
    let made = Arc::new(provider(at));
    let game = runtime.block_on(create(&*made, KIND, "still", 1));
    let sessions = blocking::Sessions::new(made).expect("a thread");
    let stay = sessions.join(game).expect("a seat");
    sessions.wait(stay.player.send("hello")).expect("room");
    sessions.leave(stay).expect("it is over");
    drop(sessions);
    runtime.block_on(server.stop());
}
