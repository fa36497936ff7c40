//! `rejoin-bench seats`: how many seats a second are reserved, claimed, confirmed, ended and given back,
//! each durable before it is answered; over HTTP and through the door within the process, beside what the
//! disk alone can do. Also how soon a host hears of a new Game, and what idle hosts cost. Nothing is
//! pinned: server and generator share the machine.

mod cycle;
mod http;
pub(crate) mod serving;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use self::cycle::Told;
use self::table::Table;
use crate::case::{Figures, SECOND};
use crate::durable::{Folder, disk};
use crate::machine;
use crate::serve::Serving;

/// What it is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tiny loads: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// How often each load is played. [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER")]
    runs: Option<usize>,
    /// On which disk: a folder in which others are made. [default: the current one's `target`]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Where results are written; nowhere if nothing is said.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Clients, and requests that each has in flight. HTTP/1.1 has one for each socket, so a client has as
/// many sockets.
const CLIENTS: usize = 64;
const IN_FLIGHT: usize = 8;

/// How much of everything.
pub(crate) struct Scale {
    clients: usize,
    seconds: u64,
    games: usize,
    hosts: usize,
}

const FULL: Scale = Scale { clients: CLIENTS, seconds: 8, games: 300, hosts: 1_000 };
const QUICK: Scale = Scale { clients: 4, seconds: 1, games: 10, hosts: 20 };

/// True when nothing was oversold, leaked or failed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let scale = if arguments.quick { QUICK } else { FULL };
    let runs = arguments.runs.unwrap_or(if arguments.quick { 1 } else { 3 }).max(1);
    let base = arguments.data.clone().unwrap_or_else(|| PathBuf::from("target"));
    let folder = Folder::make(&base)?;
    println!("load average {:.2}; folders in {}", machine::load(), base.display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = Table::default();
    for number in 1..=runs {
        let data = folder.fresh()?;
        let mut serving = Serving::start_seats(&data)?;
        let games = serving.order::<Vec<String>>(&format!("games {}", scale.clients))?;
        let span = Duration::from_secs(scale.seconds);
        let before = machine::cpu_seconds(serving.id())?;
        let http = runtime.block_on(http::play(serving.at, &games, span))?;
        let server_cpu = machine::cpu_seconds(serving.id())? - before;
        let over_http: Told = serving.order("settled")?;
        table.note(number, "http", &http.and(over_http), span, Some(server_cpu));
        let door: Told = serving.order(&format!("door {}", scale.seconds))?;
        table.note(number, "door", &door, span, None);
        runtime.block_on(http::create(serving.at, scale.games))?;
        table.add(number, serving.order("told")?);
        table.add(number, serving.order(&format!("idle {}", scale.hosts))?);
        let mut alone = Figures::new();
        disk::measure(&mut alone, &data, SECOND)?;
        table.add_disk(number, &alone);
        println!("run {number} of {runs} done");
    }
    println!("\n{}", table.markdown());
    if let Some(out) = &arguments.out {
        table.write(out)?;
        println!("written to {}", out.display());
    }
    Ok(table.is_sound())
}
