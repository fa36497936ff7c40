//! `rejoin serve`: the server on its sockets, until it is told to stop.

use std::io::IsTerminal;
use std::net::SocketAddr;

use rejoin::hub::HubConfig;
use rejoin::server::{
    AdminConfig, ApiConfig, Encryption, GamesConfig, Server, ServerBuilder, ServerKey, SightConfig,
    TcpConfig, Tls, TlsError, WebConfig, Webhook, relay,
};
use rejoin::store::Embedded;
use rejoin_arena::Arena;
use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::runtime::Handle;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::banner::greet;
use super::output::say;
use super::settings::{EnetSettings, Settings, TlsSettings};
use super::{Failure, control, server_key};

/// What a browser shows at the players' door.
const PAGE: &str = include_str!("page.html");
/// Pages of this machine's own web servers, whatever their ports.
const LOCAL_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "http://[::1]:*",
    "https://[::1]:*",
];
/// Where frames are logged. Operators switch them on for one session at a time.
const FRAMES: &str = "rejoin_server::frame";

/// Serves until SIGTERM or ctrl-c.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    start_log(settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(format!("no threads to run on: {error}")))?;
    runtime.block_on(serve(settings))
}

/// What is logged.
pub(crate) fn log_filter(settings: &Settings) -> Result<Targets, Failure> {
    settings.log.parse().map_err(|error| {
        Failure::new(format!("the log filter {:?} cannot be read: {error}", settings.log))
    })
}

fn start_log(settings: &Settings) -> Result<(), Failure> {
    let mut filter = log_filter(settings)?;
    if !settings.log.contains(FRAMES) {
        // Whoever switches frames on wants to see them, whatever else is logged.
        filter = filter.with_target(FRAMES, LevelFilter::DEBUG);
    }
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    // Colours are for people; a file or a pipe gets plain text.
    let lines = lines.with_ansi(std::io::stderr().is_terminal());
    let registry = tracing_subscriber::registry().with(filter);
    let started = if settings.log_json {
        registry.with(lines.json()).try_init()
    } else {
        registry.with(lines).try_init()
    };
    started.map_err(|error| Failure::new(format!("no log: {error}")))
}

async fn serve(settings: &Settings) -> Result<(), Failure> {
    let mut stop = StopSignals::listen()?;
    // Before any port is taken: a folder that cannot be used is the first thing to say.
    let store = settings.data.as_ref().map(Embedded::open).transpose();
    let store = store.map_err(|error| Failure::new(error.to_string()))?;
    let players = bind(settings.listen, "players", "--listen")?;
    let admin = bind(settings.admin_listen, "operators", "--admin-listen")?;
    let tcp = settings.tcp.map(|tcp| bind(tcp.listen, "players by TCP", "--tcp-listen"));
    let tcp = tcp.transpose()?;
    require_encryption(settings)?;
    let enet = (bind_enet(&settings.enet).await?, server_key::find(settings)?);
    let at = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
    let (players_at, admin_at) = (at(&players, settings.listen), at(&admin, settings.admin_listen));

    let config = hub_config(settings, players_at);
    let tls = encryption(settings, &config.server_names)?;
    let builder = ServerBuilder::new()
        .config(config)
        .identity(settings.identity.clone())
        .sight(SightConfig { addresses: settings.log_addresses, ..SightConfig::default() });
    let mut builder = with_zones(builder, settings, players_at);
    let snapshots = store.as_ref().map(Embedded::snapshots);
    if let Some(store) = store {
        builder = builder.store(store);
    }
    if let Some(admission) = &settings.admission {
        let hook = Webhook::new(&admission.url, admission.secret.as_deref());
        builder =
            builder.admission(hook.map_err(|error| Failure::new(format!("[admission]: {error}")))?);
    }
    let server = builder.start().map_err(|error| Failure::new(error.to_string()))?;
    let control = settings.data.as_ref().zip(snapshots).and_then(|(data, snapshots)| {
        control::listen(data, snapshots, (server.clone(), Handle::current()))
    });
    let web = web_config(settings, players_at, tls.clone());
    let operators = AdminConfig { hosts: settings.admin_hosts.clone(), ..AdminConfig::default() };
    let (first, second) = (server.clone(), server.clone());
    tokio::spawn(async move { first.listen(players, web).await });
    tokio::spawn(async move { second.listen_admin(admin, operators).await });
    let tcp_at = open_streams(settings, &server, tcp, tls);
    let enet_at = open_datagrams(settings, &server, enet);
    if settings.has_arena(players_at) {
        tokio::spawn(rejoin_arena::keep(server.clone()));
    }

    tokio::select! {
        is_ready = server.ready() => {
            is_ready.map_err(|error| Failure::new(error.to_string()))?;
            greet(settings, (players_at, tcp_at, enet_at), admin_at);
        }
        () = stop.heard() => return end(settings, server, control).await,
    }
    tokio::select! {
        () = stop.heard() => {}
        why = server.failed() => {
            // No farewell: what was not told to be kept is not, and clients come back by themselves.
            return Err(Failure::new(format!(
                "nothing can be kept any more: {why}. The server ends here; what it had confirmed is \
                 kept. Look at the disk, then start it again"
            )));
        }
    }
    end(settings, server, control).await
}

/// Ends the server and waits until everything is stored and closed.
async fn end(settings: &Settings, server: Server, control: impl Sized) -> Result<(), Failure> {
    say!("stopping: everybody is told to come back");
    drop(control);
    if tokio::time::timeout(settings.stop_within, server.stop()).await.is_err() {
        return Err(Failure::new(format!(
            "not everything ended within {} s; what was confirmed is kept",
            settings.stop_within.as_secs()
        )));
    }
    say!("stopped");
    Ok(())
}

/// The kinds of zone, and those that run Games of the directory.
fn with_zones(builder: ServerBuilder, settings: &Settings, players: SocketAddr) -> ServerBuilder {
    let (relay, has_arena) = (settings.relay.clone(), settings.has_arena(players));
    let mut builder =
        builder.zone(relay::KIND, relay.zone(), move || relay::Relay::new(relay.clone()));
    if has_arena {
        builder = builder.zone(rejoin_arena::KIND, rejoin_arena::config(), Arena::default);
    }
    if !settings.directory.enabled {
        return builder;
    }
    builder = builder.directory(settings.directory.config.clone());
    let (address, port) = (players.ip().to_string(), players.port());
    let games = GamesConfig { address, port, ..GamesConfig::default() };
    if settings.relay_games.run {
        let closes_in_match = settings.relay_games.closes_in_match;
        builder = builder.games(relay::KIND, GamesConfig { closes_in_match, ..games.clone() });
    }
    if has_arena {
        builder = builder.games(rejoin_arena::KIND, games);
    }
    builder
}

/// Starts to listen for byte streams, if a socket for them is bound, and returns its address. Reloads the
/// certificate of all listeners when its files change or a signal asks for it.
fn open_streams(
    settings: &Settings,
    server: &Server,
    tcp: Option<TcpListener>,
    tls: Option<Tls>,
) -> Option<SocketAddr> {
    let at = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
    if let (Some(tcp), Some(asked)) = (tcp, settings.tcp) {
        let proxies = settings.trusted_proxies.clone().into_iter();
        let trusted_proxies = proxies.filter(|_| asked.proxy_header).collect();
        let config = TcpConfig { trusted_proxies, tls: tls.clone(), ..TcpConfig::default() };
        let server = server.clone();
        tokio::spawn(async move { server.listen_tcp(tcp, config).await });
    }
    if let Some(tls) = tls {
        tokio::spawn(tls.clone().follow());
        tokio::spawn(reload_when_told(tls));
    }
    at
}

async fn bind_enet(settings: &EnetSettings) -> Result<Vec<UdpSocket>, Failure> {
    let mut sockets = Vec::new();
    for address in &settings.listen {
        let socket = UdpSocket::bind(address).await;
        sockets.push(socket.map_err(|error| {
            cannot_listen(&error, *address, "players by ENet", "--enet-listen")
        })?);
    }
    Ok(sockets)
}

/// Opens the doors for datagrams and says where they are.
fn open_datagrams(
    settings: &Settings,
    server: &Server,
    (sockets, key): (Vec<UdpSocket>, Option<ServerKey>),
) -> Vec<SocketAddr> {
    let at = sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect();
    if let Some(key) = &key {
        say!("by ENet the server is known by the key {}", server_key::hex(key));
    }
    for socket in sockets {
        let (server, mut config) = (server.clone(), settings.enet.config.clone());
        config.key.clone_from(&key);
        tokio::spawn(async move { server.listen_enet(socket, config).await });
    }
    at
}

/// Where encryption is required no door without it may be reached from other machines.
pub(crate) fn require_encryption(settings: &Settings) -> Result<(), Failure> {
    let streams = settings.tcp.map(|tcp| tcp.listen);
    let mut doors = std::iter::once(settings.listen).chain(streams);
    let is_plain = settings.tls == TlsSettings::Off && doors.any(|at| !at.ip().is_loopback());
    if settings.encryption == Encryption::Required && is_plain {
        return Err(Failure::new(
            "[encryption] policy is \"required\", and players would connect without: give [tls] a \
             certificate, or listen on the loopback for a proxy that encrypts"
                .to_owned(),
        ));
    }
    Ok(())
}

fn web_config(settings: &Settings, players: SocketAddr, tls: Option<Tls>) -> WebConfig {
    WebConfig {
        origins: origins(settings),
        trusted_proxies: settings.trusted_proxies.clone(),
        forwarded_header: settings.forwarded_header,
        tls,
        page: Some(PAGE.replace("{address}", &players.to_string())),
        pages: if settings.has_arena(players) {
            rejoin_arena::pages()
        } else {
            vec![rejoin_arena::closed_page()]
        },
        api: Some(ApiConfig {
            keys: settings.directory.keys.clone(),
            open: settings.is_directory_open(players),
            ..ApiConfig::default()
        }),
        ..WebConfig::default()
    }
}

/// Whose pages may connect; in development, those of every local web server.
fn origins(settings: &Settings) -> Vec<String> {
    let local = LOCAL_ORIGINS.iter().filter(|_| settings.dev).map(|origin| (*origin).to_owned());
    settings.origins.iter().cloned().chain(local).collect()
}

fn hub_config(settings: &Settings, players: SocketAddr) -> HubConfig {
    let mut config = HubConfig {
        anonymous: settings.dev,
        accounts: settings.accounts,
        compression: settings.compression.enabled,
        compression_bytes_min: settings.compression.bytes_min,
        ..HubConfig::default()
    };
    settings.guard.apply(&mut config);
    if let Some(names) = &settings.server_names {
        config.server_names.clone_from(names);
    } else if settings.demo && !players.ip().is_unspecified() {
        // A phone that looks at the demonstration dials the address itself.
        config.server_names.push(players.ip().to_string());
    }
    config
}

/// What encrypts the doors of players, if anything does.
fn encryption(settings: &Settings, names: &[String]) -> Result<Option<Tls>, Failure> {
    match &settings.tls {
        TlsSettings::Off => Ok(None),
        TlsSettings::Files(certificate, key) => {
            Tls::from_files(certificate, key).map(Some).map_err(no_tls)
        }
        TlsSettings::Development => {
            let (tls, pem) = Tls::development(names).map_err(no_tls)?;
            say!("a certificate for development; give it to clients as a root:\n{pem}");
            Ok(Some(tls))
        }
    }
}

pub(crate) fn no_tls(error: TlsError) -> Failure {
    Failure::new(format!("no TLS: {error}"))
}

/// Reads the certificate again at every SIGHUP.
async fn reload_when_told(tls: Tls) {
    #[cfg(unix)]
    {
        let kind = tokio::signal::unix::SignalKind::hangup();
        let Ok(mut told) = tokio::signal::unix::signal(kind) else { return };
        while told.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => tracing::error!(%error, "the certificate stays as it was"),
            }
        }
    }
    #[cfg(not(unix))]
    drop(tls);
}

fn bind(address: SocketAddr, whom: &str, flag: &str) -> Result<TcpListener, Failure> {
    open(address).map_err(|error| cannot_listen(&error, address, whom, flag))
}

fn cannot_listen(error: &std::io::Error, address: SocketAddr, whom: &str, flag: &str) -> Failure {
    let why = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(format!(
        "cannot listen for {whom} on {address}: {why}; choose another with {flag}"
    ))
}

/// Connections that the system keeps for us until they are accepted. A crowd that returns at once
/// must not lose its first packets: each loss costs its client a second.
const BACKLOG: u32 = 4_096;

fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() }?;
    // A port that a killed server had is free at once, as `TcpListener::bind` would have it.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Ctrl-c and, where there is such a thing, SIGTERM, from when this was made: without it either would end
/// the process at once, with the store open.
struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    #[cfg(unix)]
    fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::new(format!("no signals can be heard: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    async fn heard(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn listen() -> Result<Self, Failure> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn heard(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "ctrl-c cannot be heard");
            std::future::pending().await
        }
    }
}
