//! `rejoin-bench soak`: many players of the client library behind a relay that cuts their links in
//! every way, with numbered traffic in both directions. At the end nothing may be lost, doubled, out of
//! order or wrongly called lost, and memory must have stayed flat.
//!
//! Half of the zones are on the program that people start, the others on a server that counts aloud.

mod cut;
mod hearing;
mod plaza;
mod relay;
mod speech;
mod tally;
mod visitor;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rejoin_core::chance::Chance;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::relay::{Relay, Weather};
use self::tally::{Tally, Watch};
use self::visitor::{Desk, Phase, Place};
use crate::serve::{Kind, Serving};

pub(crate) use self::plaza::start as serve;

/// What the soak is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Players.
    #[arg(long, default_value_t = 2_000)]
    clients: usize,
    /// How long they play.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Decides who is cut, when and how.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long a link is left alone on average, in seconds.
    #[arg(long, default_value_t = 20.0, value_name = "SECONDS")]
    life: f64,
    /// Between two things that a player says, on average, in seconds.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pace: f64,
    /// The program `rejoin`, for half of the zones. [default: the one beside this program, if any]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Do without the program `rejoin`.
    #[arg(long)]
    no_binary: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Where result and picture are written; nowhere if nothing is said.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

const MEMBERS: usize = 10;
/// Clients that share a door of the relay.
const PER_DOOR: usize = 32;
/// One zone in so many keeps next to nothing.
const TIGHT_EVERY: usize = 8;
/// How long all that was said may take to be heard once nothing is cut any more.
const AFTERMATH: Duration = Duration::from_secs(90);
/// Clients that start at a time.
const STARTS: usize = 50;

/// True when nothing was wrong.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let tally = runtime.block_on(play(arguments))?;
    if arguments.json {
        println!("{}", tally.json()?);
    } else {
        println!("{}", tally.text());
    }
    if let Some(folder) = &arguments.out {
        tally.write(folder)?;
    }
    Ok(tally.is_good())
}

async fn play(arguments: &Arguments) -> Result<Tally> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&arguments.seed.to_be_bytes());
    let mut chance = Chance::from_seed(seed);
    let mut servers = vec![Serving::start(Kind::Soak, None)?];
    if !arguments.no_binary {
        servers.extend(real(arguments)?);
    }
    let life = Duration::from_secs_f64(arguments.life.max(0.1));
    let weather = Weather { life, spell: Duration::from_secs(4).min(life / 2) };
    let doors = arguments.clients.div_ceil(PER_DOOR * servers.len()).max(1);
    let mut relays = Vec::new();
    for (number, server) in servers.iter().enumerate() {
        let branch = chance.branch("relay", number as u64);
        relays.push(Relay::open(server.at, doors, weather, branch).await?);
    }

    let (phase, phases) = watch::channel(Phase::Play);
    let desks: Arc<[Desk]> = (0..arguments.clients).map(|_| Desk::default()).collect();
    let mut visits = JoinSet::new();
    let started = Instant::now();
    for index in 0..arguments.clients {
        let zone = index / MEMBERS;
        let relay = &relays[zone % relays.len()];
        let place = Place {
            url: format!("ws://{}/play", relay.doors[index / relays.len() % doors]),
            kind: kind(zone, relays.len()),
            zone: zone.to_string(),
            members: zone * MEMBERS..((zone + 1) * MEMBERS).min(arguments.clients),
            desks: desks.clone(),
            pace: Duration::from_secs_f64(arguments.pace.max(0.01)),
        };
        let branch = chance.branch("visitor", index as u64);
        visits.spawn(visitor::visit(index, place, branch, phases.clone()));
        if index % STARTS == STARTS - 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    let mut watch = Watch::new(servers.iter().map(Serving::id).collect());
    let end = started + Duration::from_secs_f64(arguments.minutes * 60.0);
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_secs(1).min(end - Instant::now())).await;
        watch.look()?;
    }
    relays.iter().for_each(Relay::calm);
    phase.send_replace(Phase::Listen);
    let end = Instant::now() + AFTERMATH;
    let is_done = |desk: &Desk| desk.done.load(Ordering::Acquire) > 0;
    while !desks.iter().all(is_done) && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let aftermath = AFTERMATH.saturating_sub(end.saturating_duration_since(Instant::now()));
    watch.look()?;
    phase.send_replace(Phase::End);
    let mut accounts = Vec::new();
    while let Some(account) = visits.join_next().await {
        accounts.push(account.context("a client panicked")??);
    }
    let cuts = relays.iter().map(|relay| relay.counts.by_name()).collect();
    Ok(Tally::new(arguments.seed, started.elapsed(), aftermath, accounts, cuts, watch))
}

/// What a zone is: the relay of the real program, or a plaza.
fn kind(zone: usize, servers: usize) -> &'static str {
    match (zone % servers, zone / servers % TIGHT_EVERY) {
        (0, 0) => plaza::TIGHT,
        (0, _) => plaza::ROOMY,
        _ => rejoin_server::relay::KIND,
    }
}

/// The program that people start, if there is one.
fn real(arguments: &Arguments) -> Result<Option<Serving>> {
    let beside = std::env::current_exe()?.with_file_name("rejoin");
    let path = arguments.binary.clone().unwrap_or(beside);
    if !path.exists() {
        println!("there is no {}: only the server that counts aloud is soaked", path.display());
        return Ok(None);
    }
    Serving::start_binary(&path).map(Some)
}
