//! A server with a directory on a free port, keys for its roles, and a host whose hooks write down what
//! they were told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::guard::GuardConfig;
use rejoin::host::{Builder, Game, GameId, Hooks, Host};
use rejoin::hub::HubConfig;
use rejoin::server::directory::rules::catalogue::FleetSpec;
use rejoin::server::directory::rules::game::{GameSpec, GameView, Guest, SeatView, Status};
use rejoin::server::directory::rules::search::SearchRequest;
use rejoin::server::directory::rules::{Answer, Command, Refusal, Target};
use rejoin::server::{
    ApiConfig, ApiKey, AskError, DirectoryConfig, DirectoryDoor, Role, Server, ServerBuilder,
    WebConfig,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const FLEET: &str = "duels";
/// A host's key that is good for that fleet only.
pub(crate) const TIED: &str = "rejoin_host_tied";

pub(crate) fn key_of(role: Role) -> String {
    ApiKey::text_of(role, &[5; 32])
}

/// A server.
pub(crate) struct Bureau {
    pub(crate) server: Server,
    pub(crate) at: SocketAddr,
    listening: JoinHandle<()>,
}

impl Bureau {
    pub(crate) async fn open() -> Self {
        Self::with(DirectoryConfig::default()).await
    }

    pub(crate) async fn with(directory: DirectoryConfig) -> Self {
        let hub = HubConfig { guard: GuardConfig::open(), ..HubConfig::default() };
        let builder = ServerBuilder::new().config(hub).directory(directory);
        let server = builder.start().expect("the server starts");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let keys = Role::ALL.map(|role| ApiKey::from_text(role.label(), role, &key_of(role)));
        let tied = ApiKey::from_text("tied", Role::Host, TIED);
        let tied = tied.for_fleets(vec![FLEET.to_owned()]).expect("a host's key");
        let keys = [&keys[..], &[tied]].concat();
        let api = ApiConfig { keys, ..ApiConfig::default() };
        let web = WebConfig { api: Some(api), ..WebConfig::default() };
        let door = server.clone();
        let listening = tokio::spawn(async move { door.listen(listener, web).await });
        server.ready().await.expect("it runs");
        let bureau = Self { server, at, listening };
        let fleet = FleetSpec {
            name: FLEET.to_owned(),
            locations: vec!["here".to_owned()],
            indexed: Vec::new(),
        };
        bureau.ask(Command::PutFleet(fleet)).await.expect("a good fleet");
        bureau
    }

    pub(crate) async fn close(self) {
        self.server.stop().await;
        self.listening.abort();
    }

    pub(crate) fn door(&self) -> DirectoryDoor {
        self.server.directory().expect("it was asked for")
    }

    pub(crate) async fn ask(&self, command: Command) -> Result<Answer, AskError> {
        timeout(PATIENCE, self.door().ask(command)).await.expect("in time")
    }

    /// A host that is yet to be started.
    pub(crate) fn builder(&self, name: &str) -> Builder {
        let endpoint = format!("http://{}", self.at);
        let builder = Host::builder(endpoint, key_of(Role::Host)).fleet(FLEET).name(name);
        builder.location("here").address("203.0.113.7").games_max(4)
    }

    /// A host that is ready, and its diary.
    pub(crate) async fn host(&self, name: &str) -> (Host, Diary) {
        let (hooks, diary) = Scribe::new();
        let host = self.builder(name).hooks(hooks).start().expect("it starts");
        timeout(PATIENCE, host.ready(7777, &["a.log"])).await.expect("in time").expect("ready");
        (host, diary)
    }

    pub(crate) async fn create(&self, key: &str) -> GameId {
        let spec = GameSpec { key: key.to_owned(), capacity: 4, ..GameSpec::default() };
        let target = Target::Fleet(FLEET.to_owned());
        match self.ask(Command::Create { target, spec }).await {
            Ok(Answer::Game(game)) => game.id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn view(&self, game: GameId) -> Arc<GameView> {
        match self.ask(Command::DescribeGame(game)).await {
            Ok(Answer::Game(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a Game is in this state.
    pub(crate) async fn until(&self, game: GameId, status: Status) -> Arc<GameView> {
        let found = async {
            loop {
                let view = self.view(game).await;
                if view.status == status {
                    return view;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("never {status:?}"))
    }

    pub(crate) async fn game(&self, key: &str) -> GameId {
        let game = self.create(key).await;
        self.until(game, Status::Active).await;
        game
    }

    pub(crate) async fn reserve(
        &self,
        game: GameId,
        players: &[&str],
    ) -> Result<Vec<SeatView>, Refusal> {
        self.reserve_for(game, players, None).await
    }

    pub(crate) async fn reserve_for(
        &self,
        game: GameId,
        players: &[&str],
        hold: Option<Duration>,
    ) -> Result<Vec<SeatView>, Refusal> {
        let guest = |player: &&str| Guest { player: (*player).to_owned(), ..Guest::default() };
        let guests = players.iter().map(guest).collect();
        match self.ask(Command::Reserve { game, guests, key: String::new(), hold }).await {
            Ok(Answer::Seats(seats)) => Ok(seats),
            Err(AskError::Refused(refusal)) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    /// The ticket of a seat for this player.
    pub(crate) async fn ticket(&self, game: GameId, player: &str) -> String {
        self.reserve(game, &[player]).await.expect("a seat")[0].id.to_string()
    }

    /// How many Games a search shows.
    pub(crate) async fn listed(&self) -> usize {
        let request = SearchRequest {
            target: Target::Fleet(FLEET.to_owned()),
            location: None,
            filter: String::new(),
            sort: String::new(),
            limit: 10,
            cursor: String::new(),
        };
        match self.ask(Command::Search(request)).await {
            Ok(Answer::Page(page)) => page.games.len(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn until_listed(&self, count: usize) {
        let found = async {
            while self.listed().await != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("never {count} listed"));
    }
}

/// What hooks were told, in order.
pub(crate) struct Diary(UnboundedReceiver<String>);

impl Diary {
    pub(crate) async fn next(&mut self) -> String {
        timeout(PATIENCE, self.0.recv()).await.expect("in time").expect("the host is there")
    }

    /// Reads up to this line.
    pub(crate) async fn until(&mut self, line: &str) -> Vec<String> {
        let mut read = Vec::new();
        loop {
            let next = self.next().await;
            read.push(next);
            if read.last().is_some_and(|last| last == line) {
                return read;
            }
        }
    }

    pub(crate) fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// Hooks that write down what they are told, and refuse what they are told to refuse.
#[derive(Clone)]
pub(crate) struct Scribe {
    diary: UnboundedSender<String>,
    pub(crate) refuses: Arc<Mutex<Vec<&'static str>>>,
}

impl Scribe {
    pub(crate) fn new() -> (Self, Diary) {
        let (diary, read) = unbounded_channel();
        (Self { diary, refuses: Arc::default() }, Diary(read))
    }

    fn note(&self, what: &'static str, about: impl std::fmt::Display) -> bool {
        let _ = self.diary.send(format!("{what} {about}"));
        let refuses = self.refuses.lock().expect("no panic inside");
        assert!(!refuses.contains(&"panic"), "as it was told");
        !refuses.contains(&what)
    }
}

impl Hooks for Scribe {
    fn on_create_begin(&self, game: &Game) -> bool {
        self.note("create", game.id)
    }

    fn on_create_end(&self, game: GameId) {
        self.note("created", game);
    }

    fn on_update_begin(&self, game: &Game) -> bool {
        self.note("update", game.capacity)
    }

    fn on_update_end(&self, game: &Game) {
        self.note("updated", game.capacity);
    }

    fn on_health_check(&self) -> bool {
        !self.refuses.lock().expect("no panic inside").contains(&"health")
    }

    fn on_destroy_begin(&self, game: GameId, limit: Duration, may_refuse: bool) -> bool {
        assert!(limit > Duration::ZERO);
        self.note("destroy", format!("{game} {may_refuse}"))
    }

    fn on_destroy_end(&self, game: GameId) {
        self.note("destroyed", game);
    }

    fn on_line(&self, is_there: bool) {
        self.note("line", is_there);
    }

    fn on_warning(&self, _: Duration) {
        self.note("warning", "");
    }
}
