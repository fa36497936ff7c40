//! A hundred attackers of one address beside one honest player of another, and the same number of
//! frames as echoes in rooms as the control. What the honest player waits may be twice the control's,
//! and the server's memory stays where it was after ten seconds.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use clap::ValueEnum;
use hdrhistogram::Histogram;
use rejoin_wire::v1;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, interval, sleep, sleep_until};

use super::client::{Client, up_message};
use super::process::{ApiKey, Shipped};
use crate::case::histogram;
use crate::machine;

const HONEST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const ATTACKERS: usize = 100;
/// Frames of one attacker in a second: within the rations of a connection and of its address.
const RATE: u64 = 59;
/// Echoes of the honest player in a second.
const ECHOES: u64 = 20;
/// Games that searches look at.
const GAMES: usize = 1_000;
/// Memory is compared from here on.
const SETTLED: Duration = Duration::from_secs(10);
/// How often memory is looked at for one figure, and every how long.
const LOOKS: u32 = 8;
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long attackers may take to log in: one address has ten logins a second.
const ENTRY: Duration = Duration::from_secs(15);

/// What the attackers do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Attack {
    /// The control: echoes in rooms of their own.
    Echoes,
    /// Messages while in no room, and nothing is acknowledged.
    Outside,
    /// Starts and ends a match in a room of its own.
    Matches,
    /// Opens a room, ends it, opens the next.
    Rooms,
    /// Joins that open a room and are refused.
    Denied,
    /// Resumes of sessions that do not exist, each on a new connection.
    Resumes,
    /// WebSocket pings.
    Pings,
    /// HTTP requests for a page that needs no key.
    Requests,
    /// Searches with a client's key that look at all Games and find none.
    Searches,
}

/// What one run showed.
pub(super) struct Shown {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) frames: u64,
    pub(super) early: f64,
    pub(super) late: f64,
    pub(super) steps: f64,
    /// How often the honest player lost its connection.
    pub(super) lost: u64,
}

struct Scene {
    at: SocketAddr,
    /// The key of the role `client`, which every player of a game has.
    key: String,
    frames: AtomicU64,
    is_over: AtomicBool,
}

/// Starts a server and plays one attack against it for so long.
pub(super) async fn play(program: &Path, attack: Attack, length: Duration) -> Result<Shown> {
    let (client, operator) = (ApiKey::new(program, "client")?, ApiKey::new(program, "operator")?);
    let server = Shipped::start(program, &[client.settings, operator.settings].concat())?;
    if attack == Attack::Searches {
        make_games(server.at, &operator.key).await?;
    }
    let (frames, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let scene = Arc::new(Scene { at: server.at, key: client.key, frames, is_over });
    let begin = Instant::now() + ENTRY;
    for number in 0..ATTACKERS {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            // An attacker that is thrown out comes back.
            while !scene.is_over.load(Ordering::Relaxed) {
                let _ = attacker(&scene, attack, number, begin).await;
                sleep(Duration::from_millis(200)).await;
            }
        });
    }
    sleep_until(begin).await;
    let honest = tokio::spawn(honest(Arc::clone(&scene), begin + length));
    let early = resident(server.id(), begin + SETTLED + LOOKS * LOOK_EVERY / 2).await?;
    let late = resident(server.id(), begin + length).await?;
    let frames = scene.frames.load(Ordering::Relaxed);
    scene.is_over.store(true, Ordering::Relaxed);
    let (latency, lost) = honest.await??;
    let steps = server.metric("rejoin_guard_steps_total", "")?;
    let refused = server.metric("rejoin_connections_refused_total", "").unwrap_or_default();
    let at = |quantile| latency.value_at_quantile(quantile) as f64 / 1e6;
    let (p50, p99, steps) = (at(0.5), at(0.99), steps + refused);
    Ok(Shown { p50, p99, frames, early, late, steps, lost })
}

/// The median of what a process takes in the seconds before an instant. One look says little: memory moves by a
/// tenth while the store brings a part of its journal into the tree, in the control as well.
async fn resident(process: u32, until: Instant) -> Result<f64> {
    sleep_until(until - LOOKS * LOOK_EVERY).await;
    let mut looks = Vec::new();
    while Instant::now() < until {
        looks.push(machine::resident_bytes(process)?);
        sleep(LOOK_EVERY).await;
    }
    looks.sort_unstable();
    looks.get(looks.len() / 2).map(|bytes| *bytes as f64).context("the attack is over too soon")
}

/// Echoes in a room of its own; latency counts from when the echo was due.
async fn honest(scene: Arc<Scene>, end: Instant) -> Result<(Histogram<u64>, u64)> {
    let (mut latency, mut lost) = (histogram()?, 0);
    let every = Duration::from_nanos(1_000_000_000 / ECHOES);
    let mut due = Instant::now();
    while Instant::now() < end {
        let stay = async {
            let mut client = Client::enter(scene.at, HONEST).await?;
            client.join("honest", b"").await?;
            while Instant::now() < end {
                sleep_until(due).await;
                client.echo().await?;
                latency.saturating_record(due.elapsed().as_nanos() as u64);
                due += every;
            }
            anyhow::Ok(())
        };
        if stay.await.is_err() {
            lost += 1;
            sleep(Duration::from_millis(100)).await;
        }
    }
    Ok((latency, lost))
}

async fn attacker(scene: &Scene, attack: Attack, number: usize, begin: Instant) -> Result<()> {
    match attack {
        Attack::Resumes => {
            sleep_until(begin).await;
            return garbage(scene, number as u64).await;
        }
        Attack::Requests | Attack::Searches => {
            sleep_until(begin).await;
            return requests(scene, attack).await;
        }
        _ => {}
    }
    let mut client = Client::enter(scene.at, HOSTILE).await?;
    client.acknowledges = attack != Attack::Outside;
    let room = format!("hostile-{number}");
    if matches!(attack, Attack::Echoes | Attack::Matches) {
        client.join(&room, b"").await?;
    }
    client.stay(begin).await?;
    let mut pace = interval(Duration::from_nanos(1_000_000_000 / RATE));
    let mut turn = 0_u64;
    while !scene.is_over.load(Ordering::Relaxed) {
        pace.tick().await;
        turn += 1;
        let mut sent = 1;
        match attack {
            Attack::Echoes => client.say(up_message(b"{\"echo\":{}}\nx", true)).await?,
            Attack::Outside => client.say(up_message(b"x", false)).await?,
            Attack::Matches => {
                let order: &[u8] = if turn % 2 == 1 {
                    b"{\"lead\":{\"do\":\"start_match\"}}"
                } else {
                    b"{\"lead\":{\"do\":\"end_match\"}}"
                };
                client.say(up_message(order, false)).await?;
            }
            Attack::Rooms => {
                client.join(&format!("{room}-{turn}"), b"").await?;
                client.say(up_message(b"{\"lead\":{\"do\":\"end\"}}", false)).await?;
                sent = 2;
            }
            Attack::Denied => {
                client.join(&format!("{room}-{turn}"), b"x").await?;
            }
            Attack::Pings => {
                sent = 100;
                client.ping(100).await?;
            }
            Attack::Resumes | Attack::Requests | Attack::Searches => {}
        }
        scene.frames.fetch_add(sent, Ordering::Relaxed);
        client.catch_up().await?;
    }
    Ok(())
}

/// A resume of a session that was never there, with a token that was never given.
async fn garbage(scene: &Scene, number: u64) -> Result<()> {
    while !scene.is_over.load(Ordering::Relaxed) {
        let mut client = Client::dial(scene.at, HOSTILE).await?;
        let resume = v1::Resume {
            session: 1_000_000 + number,
            token: Bytes::from(vec![number as u8; 32]),
            oldest_unacked: 1,
            ..v1::Resume::default()
        };
        client.hello(v1::hello::Purpose::Resume(resume)).await?;
        scene.frames.fetch_add(1, Ordering::Relaxed);
        while client.frame().await.is_ok() {}
    }
    Ok(())
}

/// Games that a search has to look at, made from several addresses: each may ask for so much.
async fn make_games(at: SocketAddr, key: &str) -> Result<()> {
    let patience = Instant::now() + Duration::from_secs(10);
    for number in 0..GAMES {
        loop {
            let answer = make_game(at, key, number).await?;
            if answer.starts_with(b"HTTP/1.1 201") {
                break;
            }
            // The server's own host registers a moment after the server began to listen.
            let is_early = number == 0 && Instant::now() < patience;
            anyhow::ensure!(is_early, "Game {number} was answered {}", answer.escape_ascii());
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// Asks for one Game; gives the beginning of the answer.
async fn make_game(at: SocketAddr, key: &str, number: usize) -> Result<BytesMut> {
    let from = Ipv4Addr::new(127, 0, 1, (number % 100) as u8 + 1);
    let mut socket = dial(from, at).await?;
    let body = format!("{{\"fleet\":\"relay\",\"key\":\"g{number}\",\"capacity\":4}}");
    let head = format!("POST /v1/games HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {key}");
    let length = body.len();
    let head = format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}");
    socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await?;
    let mut answer = BytesMut::with_capacity(4_096);
    socket.read_buf(&mut answer).await?;
    Ok(answer)
}

async fn dial(from: Ipv4Addr, to: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    Ok(socket.connect(to).await?)
}

/// The description of the HTTP interface or a search, again and again on one connection.
async fn requests(scene: &Scene, attack: Attack) -> Result<()> {
    let mut socket = dial(HOSTILE, scene.at).await?;
    let path = match attack {
        Attack::Searches => "/v1/search?fleet=relay&filter=players%20%3E%203&sort=created%20DESC",
        _ => "/v1/openapi.json",
    };
    let (at, key) = (scene.at, &scene.key);
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {key}\r\n\r\n");
    let mut read = vec![0; 256 << 10];
    while !scene.is_over.load(Ordering::Relaxed) {
        socket.write_all(request.as_bytes()).await?;
        scene.frames.fetch_add(1, Ordering::Relaxed);
        if socket.read(&mut read).await? == 0 {
            return Ok(());
        }
    }
    Ok(())
}
