//! `chaos`: a run from the command line. `cargo xtask chaos` builds the server and calls it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rejoin_chaos::{NodeCrowd, Plan, run};

/// Kills the server while clients talk, and tells what they lost.
#[derive(Parser)]
struct Arguments {
    /// The binary `rejoin`.
    #[arg(long)]
    server: PathBuf,
    /// Players.
    #[arg(long, default_value_t = 50)]
    clients: usize,
    /// How many of them play with the JavaScript SDK. [default: one in eight, if there is a node]
    #[arg(long)]
    js: Option<usize>,
    /// Kills.
    #[arg(long, default_value_t = 10)]
    kills: u32,
    /// Decides when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long the server stays down after a kill, in milliseconds.
    #[arg(long, default_value_t = 0)]
    outage_ms: u64,
    /// The longest time between two kills, in milliseconds.
    #[arg(long, default_value_t = 1_500)]
    between_ms: u64,
    /// After the kills, stop the server so often (SIGSTOP) and let it go on.
    #[arg(long, default_value_t = 0)]
    stops: u32,
    /// How long each time, in milliseconds.
    #[arg(long, default_value_t = 60_000)]
    stopped_ms: u64,
    /// For programs.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match carry_out(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<bool, rejoin_chaos::crowd::Problem> {
    let data = std::env::temp_dir().join(format!("rejoin-chaos-{}", std::process::id()));
    let (clients, kills, seed) = (arguments.clients, arguments.kills, arguments.seed);
    let mut plan = Plan::new(arguments.server.clone(), data.clone(), clients, kills, seed);
    plan.js = match (arguments.js, NodeCrowd::missing()) {
        (Some(js), _) => js,
        (None, None) => clients.div_ceil(8),
        (None, Some(why)) => {
            eprintln!("SKIPPED players of the JavaScript SDK: {why}");
            0
        }
    };
    plan.outage = Duration::from_millis(arguments.outage_ms);
    plan.stops = arguments.stops;
    plan.stopped = Duration::from_millis(arguments.stopped_ms);
    plan.between = Duration::from_millis(arguments.between_ms);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(run(&plan));
    let report = report?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    if report.is_clean() {
        std::fs::remove_dir_all(&data)?;
    } else {
        eprintln!("the folder is kept: {}", data.display());
    }
    Ok(report.is_clean())
}
