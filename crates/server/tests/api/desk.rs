//! A server with a directory on a free port, and a host that does what it is told.

use std::time::Duration;

use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_server::directory::rules::catalogue::FleetSpec;
use rejoin_server::directory::rules::host::{HostOrder, HostWord, Registration};
use rejoin_server::directory::rules::{Command, Event};
use rejoin_server::{
    ApiConfig, ApiKey, DirectoryConfig, DirectoryDoor, Role, Server, ServerBuilder, WebConfig,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::asker::{Asker, PATIENCE};

pub(crate) struct Desk {
    pub(crate) server: Server,
    pub(crate) open: Asker,
}

/// The text of a role's key.
pub(crate) fn key_of(role: Role) -> String {
    ApiKey::text_of(role, &[9; 32])
}

pub(crate) fn keys() -> Vec<ApiKey> {
    Role::ALL.map(|role| ApiKey::from_text(role.label(), role, &key_of(role))).to_vec()
}

impl Desk {
    /// Open to everybody.
    pub(crate) async fn open() -> Self {
        Self::with(ApiConfig { open: true, ..ApiConfig::default() }).await
    }

    /// With a key for each role.
    pub(crate) async fn with_keys() -> Self {
        Self::with(ApiConfig { keys: keys(), ..ApiConfig::default() }).await
    }

    pub(crate) async fn with(api: ApiConfig) -> Self {
        Self::start(api, |builder| builder.directory(DirectoryConfig::default())).await
    }

    /// With keys, and without a directory.
    pub(crate) async fn without_directory() -> Self {
        Self::start(ApiConfig { keys: keys(), ..ApiConfig::default() }, |builder| builder).await
    }

    pub(crate) async fn start(
        api: ApiConfig,
        more: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Self {
        let web = WebConfig {
            api: Some(api),
            origins: vec!["https://game.example".to_owned()],
            ..WebConfig::default()
        };
        // One connection for each request, all from one address.
        let hub = HubConfig { guard: GuardConfig::open(), ..HubConfig::default() };
        let builder = more(ServerBuilder::new().config(hub));
        let server = builder.start().expect("the server starts");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let listening = server.clone();
        tokio::spawn(async move { listening.listen(listener, web).await });
        server.ready().await.expect("it runs");
        Self { server, open: Asker { at, key: None } }
    }

    pub(crate) fn asker(&self, role: Role) -> Asker {
        Asker { at: self.open.at, key: Some(key_of(role)) }
    }

    pub(crate) fn door(&self) -> DirectoryDoor {
        self.server.directory().expect("it was asked for")
    }

    /// A host of the fleet `arena`, once it is ready: it begins and ends what it is told. It is away
    /// when the task is aborted.
    pub(crate) async fn host(&self) -> JoinHandle<()> {
        let door = self.door();
        let fleet = FleetSpec {
            name: "arena".to_owned(),
            locations: vec!["here".to_owned()],
            indexed: vec!["map".to_owned()],
        };
        door.ask(Command::PutFleet(fleet)).await.expect("a good fleet");
        let registration = Registration {
            fleet: "arena".to_owned(),
            name: "one".to_owned(),
            location: "here".to_owned(),
            address: "203.0.113.7".to_owned(),
            games_max: 8,
            is_reusable: true,
        };
        let (view, mut orders) = door.register(registration).await.expect("it may");
        let (host, lease) = (view.id, view.lease);
        let mut events = door.events();
        let ready = HostWord::Ready {
            port: 7777,
            log_paths: Vec::new(),
            hooks_set: true,
            games: Vec::new(),
        };
        door.host_said(host, lease, ready).await.expect("it runs");
        let task = tokio::spawn(async move {
            while let Some(order) = orders.next().await {
                let word = match order {
                    HostOrder::Create(game) => HostWord::Began(game.id, Ok(())),
                    HostOrder::Update(game, _) => HostWord::Updated(game, Ok(())),
                    HostOrder::Destroy { game, .. } => HostWord::Destroyed(game),
                    _ => continue,
                };
                let _ = door.host_said(host, lease, word).await;
            }
        });
        loop {
            match timeout(PATIENCE, events.recv()).await.expect("in time") {
                Ok(Event::HostReady { host: id }) if id == host => return task,
                _ => {}
            }
        }
    }
}

/// Asks until it is so.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
