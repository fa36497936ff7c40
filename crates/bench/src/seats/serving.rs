//! The server that is measured: a directory on a folder, with one host inside that begins what it is told.
//! It reads orders from its standard input and answers each with a line of JSON.

use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use hdrhistogram::Histogram;
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_server::directory::HostOrders;
use rejoin_server::directory::rules::catalogue::FleetSpec;
use rejoin_server::directory::rules::game::{GameSpec, Guest, Holder};
use rejoin_server::directory::rules::host::{HostOrder, HostWord, Registration};
use rejoin_server::directory::rules::{Answer, Command, Refusal, Target};
use rejoin_server::{
    ApiConfig, ApiKey, AskError, DirectoryConfig, DirectoryDoor, Role, ServerBuilder, WebConfig,
};
use rejoin_store::Embedded;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::IN_FLIGHT;
use super::cycle::{Act, CAPACITY, Desk, Tally, Told, work};
use crate::case::SECOND;
use crate::machine;
use crate::serve::timed::{Timed, Times};

/// The fleet of everything.
pub(super) const FLEET: &str = "bench";
/// The key of the generator.
pub(super) const KEY: &str = "bench";
/// How long idle hosts are watched.
const IDLE: Duration = Duration::from_secs(3);

/// How long it took until the host was told of each Game, in nanoseconds.
type Heard = Arc<Mutex<Histogram<u64>>>;

struct Desks {
    door: DirectoryDoor,
    times: Times,
    games: Vec<GameId>,
    heard: Heard,
    idle: Vec<HostOrders>,
}

/// Serves until the standard input ends.
pub(crate) async fn run(listener: TcpListener, data: &Path, says: &str) -> Result<()> {
    let times = Times::new()?;
    let store = Embedded::open(data).map_err(|error| anyhow!("{error}"))?;
    let hub = HubConfig { guard: GuardConfig::open(), ..HubConfig::default() };
    let builder = ServerBuilder::new().config(hub).store(Timed::new(store, times.clone()));
    let server = builder.directory(DirectoryConfig::default()).start();
    let server = server.map_err(|error| anyhow!("{error}"))?;
    let key = ApiKey::from_text("bench", Role::Operator, KEY).at_rate(1_000_000);
    let api = ApiConfig { keys: vec![key], ..ApiConfig::default() };
    let web = WebConfig { api: Some(api), ..WebConfig::default() };
    let address = listener.local_addr()?;
    let listening = server.clone();
    tokio::spawn(async move { listening.listen(listener, web).await });
    let door = server.directory().context("it has one")?;
    let fleet = FleetSpec {
        name: FLEET.to_owned(),
        locations: vec!["here".to_owned()],
        indexed: Vec::new(),
    };
    door.ask(Command::PutFleet(fleet)).await?;
    let heard = Arc::new(Mutex::new(Histogram::new_with_bounds(1, 60 * SECOND, 3)?));
    host(&door, heard.clone()).await?;
    let mut desks = Desks { door, times, games: Vec::new(), heard, idle: Vec::new() };
    println!("{says}{address}");
    loop {
        let input = || std::io::stdin().lines().next().transpose();
        let Some(line) = tokio::task::spawn_blocking(input).await?? else { return Ok(()) };
        let (order, number) = line.split_once(' ').unwrap_or((&line, "0"));
        println!("{}", desks.order(order, number.parse()?).await?);
    }
}

fn registration(name: String, games_max: u32) -> Registration {
    Registration {
        fleet: FLEET.to_owned(),
        name,
        location: "here".to_owned(),
        address: "127.0.0.1".to_owned(),
        games_max,
        is_reusable: true,
    }
}

async fn ready(door: &DirectoryDoor, orders: &HostOrders) -> Result<()> {
    let (log_paths, games) = (Vec::new(), Vec::new());
    let word = HostWord::Ready { port: 7777, log_paths, hooks_set: true, games };
    Ok(door.host_said(orders.host(), orders.lease(), word).await?)
}

/// A host that begins everything and notes how long it took to hear of it.
async fn host(door: &DirectoryDoor, heard: Heard) -> Result<()> {
    let (view, mut orders) = door.register(registration("one".to_owned(), 1_000)).await?;
    ready(door, &orders).await?;
    let door = door.clone();
    tokio::spawn(async move {
        while let Some(order) = orders.next().await {
            if let HostOrder::Create(game) = order {
                if let Ok(asked) = game.spec.name.parse::<u64>() {
                    let took = machine::now().saturating_sub(asked);
                    heard.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(took);
                }
                let began = HostWord::Began(game.id, Ok(()));
                let _ = door.host_said(view.id, view.lease, began).await;
            }
        }
    });
    Ok(())
}

impl Desks {
    async fn order(&mut self, order: &str, number: usize) -> Result<Value> {
        match order {
            "games" => self.make_games(number).await,
            "settled" => Ok(serde_json::to_value(self.settled(Told::default()).await?)?),
            "door" => self.play(Duration::from_secs(number as u64)).await,
            "told" => {
                let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
                let at = |quantile| heard.value_at_quantile(quantile) as f64 / 1_000.0;
                Ok(json!({"host told p50 µs": at(0.5), "host told p99 µs": at(0.99)}))
            }
            "idle" => self.idle(number).await,
            other => bail!("there is no order {other:?}"),
        }
    }

    /// Games that run, as ids.
    async fn make_games(&mut self, count: usize) -> Result<Value> {
        for _ in 0..count {
            let spec = GameSpec {
                capacity: u32::try_from(CAPACITY)?,
                ends_when_empty: false,
                ..GameSpec::default()
            };
            let target = Target::Fleet(FLEET.to_owned());
            let made = loop {
                match self
                    .door
                    .ask(Command::Create { target: target.clone(), spec: spec.clone() })
                    .await
                {
                    // It is not ready yet.
                    Err(AskError::Refused(Refusal::NoHost)) => tokio::task::yield_now().await,
                    made => break made?,
                }
            };
            let Answer::Game(game) = made else { bail!("no game: {made:?}") };
            while self.view(game.id).await?.0 != "active" {
                tokio::task::yield_now().await;
            }
            self.games.push(game.id);
        }
        let _ = self.times.take();
        Ok(self.games.iter().map(ToString::to_string).collect())
    }

    /// Its status, and how many seats somebody has.
    async fn view(&self, game: GameId) -> Result<(&'static str, u64)> {
        match self.door.ask(Command::DescribeGame(game)).await? {
            Answer::Game(game) => {
                Ok((game.status.name(), u64::from(game.reserved) + u64::from(game.active)))
            }
            other => bail!("no game: {other:?}"),
        }
    }

    /// Adds what the server knows when a load is over.
    async fn settled(&self, told: Told) -> Result<Told> {
        let commits = self.times.take();
        let mut leaked = 0;
        for game in &self.games {
            leaked += self.view(*game).await?.1;
        }
        Ok(Told { leaked, groups: commits.groups, batches: commits.batches, ..told })
    }

    /// The same load without sockets.
    async fn play(&self, span: Duration) -> Result<Value> {
        let mut workers = Vec::new();
        for game in &self.games {
            let held = Arc::new(AtomicI64::new(0));
            for number in 0..IN_FLIGHT {
                let inside = Inside { door: self.door.clone(), game: *game, stay: 0 };
                let held = held.clone();
                workers.push(tokio::spawn(async move {
                    work(inside, &format!("player{number}"), &held, span).await
                }));
            }
        }
        let mut all = Vec::new();
        for worker in workers {
            all.push(worker.await??);
        }
        Ok(serde_json::to_value(self.settled(Tally::sum(all)?).await?)?)
    }

    /// Hosts that do nothing: what they hold and what they cost.
    async fn idle(&mut self, count: usize) -> Result<Value> {
        let process = std::process::id();
        let before = machine::resident_bytes(process)?;
        for number in 0..count {
            let (_, orders) = self.door.register(registration(format!("idle-{number}"), 1)).await?;
            ready(&self.door, &orders).await?;
            self.idle.push(orders);
        }
        let bytes = machine::resident_bytes(process)?.saturating_sub(before);
        let used = machine::cpu_seconds(process)?;
        tokio::time::sleep(IDLE).await;
        let used = machine::cpu_seconds(process)? - used;
        let each = bytes as f64 / count.max(1) as f64;
        Ok(
            json!({"bytes an idle host": each, "CPU % with idle hosts": used / IDLE.as_secs_f64() * 100.0}),
        )
    }
}

/// A worker's way within the process.
struct Inside {
    door: DirectoryDoor,
    game: GameId,
    stay: u32,
}

impl Desk for Inside {
    async fn reserve(&mut self, player: &str) -> Result<Option<String>> {
        let guests = vec![Guest { player: player.to_owned(), ..Guest::default() }];
        let (game, key) = (self.game, String::new());
        match self.door.ask(Command::Reserve { game, guests, key, hold: None }).await {
            Ok(Answer::Seats(seats)) => Ok(seats.first().map(|seat| seat.id.to_string())),
            Err(AskError::Refused(Refusal::GameFull { .. })) => Ok(None),
            other => bail!("no seat: {other:?}"),
        }
    }

    async fn act(&mut self, seat: &str, player: &str, act: Act) -> Result<()> {
        let game = self.game;
        let seat = SeatId::from_hex(seat).context("a seat's id")?;
        if act == Act::Claim {
            self.stay += 1;
        }
        let holder = Holder { session: SessionId(1), stay: self.stay };
        let player = player.to_owned();
        self.door
            .ask(match act {
                Act::Claim => Command::Claim { game, seat, player, holder },
                Act::Confirm => Command::Confirm { game, seat, holder },
                Act::Complete => Command::Complete { game, seat, holder },
                Act::Release => Command::Release { game, seat },
            })
            .await?;
        Ok(())
    }
}
