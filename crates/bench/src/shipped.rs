//! What players notice of the program that people start, with the settings that it ships with:
//! attackers beside an honest player, a crowd that returns at once, and senders above their budget.
//! `cargo xtask bench --shipped` builds the program and starts this.

mod attack;
mod client;
mod ladder;
mod process;
mod returns;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;

use self::attack::Attack;

/// Which case is played, how often and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    case: Case,
    /// The program; without it the one beside this one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// How long an attack or a steady sender lasts.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only these attacks.
    #[arg(long, value_enum, value_delimiter = ',')]
    attacks: Vec<Attack>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Case {
    /// A hundred attackers of one address beside one honest player.
    Attacks,
    /// 5,000 players from 500 addresses, then 100 from one, are cut off and return.
    Returns,
    /// Senders at 1.1 and at 10 times their budget of 120 messages a second.
    Ladder,
}

/// The budget of a connection as it ships.
const BUDGET: f64 = 120.0;
/// An honest player may wait this many times longer than in the control.
const RATIO_MAX: f64 = 2.0;
/// Memory after the attack beside memory after ten seconds of it.
const GROWTH_MAX: f64 = 1.10;

/// `rejoin-bench shipped`: whether every bound was kept.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("rejoin"),
    };
    anyhow::ensure!(program.exists(), "{} is not there", program.display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.case {
        Case::Attacks => runtime.block_on(attacks(&program, arguments)),
        Case::Returns => returns(&program, arguments.runs),
        Case::Ladder => runtime.block_on(ladder(&program, arguments)),
    }
}

async fn attacks(program: &Path, arguments: &Arguments) -> Result<bool> {
    let length = Duration::from_secs(arguments.seconds);
    let mut good = true;
    println!(
        "| run | attack | frames/s | honest p50 ms | p99 ms | control's p99 | ratio | MiB after 10 s | at the end | guard steps | honest drops | held |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    for number in 1..=arguments.runs {
        let control = attack::play(program, Attack::Echoes, length).await.context("the control")?;
        let all = Attack::value_variants().iter().copied();
        for one in all.filter(|one| *one != Attack::Echoes) {
            if !arguments.attacks.is_empty() && !arguments.attacks.contains(&one) {
                continue;
            }
            let shown = attack::play(program, one, length).await?;
            let ratio = shown.p99 / control.p99;
            let held =
                ratio <= RATIO_MAX && shown.late <= GROWTH_MAX * shown.early && shown.lost == 0;
            good &= held;
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            println!(
                "| {number} | {one:?} | {} | {:.1} | {:.1} | {:.1} | {ratio:.2} | {:.1} | {:.1} | {} | {} | {} |",
                shown.frames / arguments.seconds.max(1),
                shown.p50,
                shown.p99,
                control.p99,
                mib(shown.early),
                mib(shown.late),
                shown.steps,
                shown.lost,
                if held { "yes" } else { "no" },
            );
        }
    }
    Ok(good)
}

fn returns(program: &Path, runs: usize) -> Result<bool> {
    let mut good = true;
    println!(
        "| run | players | addresses | back | last after s | p50 ms | p99 ms | tried again | refused | asked to wait | held |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    for number in 1..=runs {
        for (players, addresses, longest) in [(5_000, 500, 2.0), (100, 1, 3.0)] {
            let shown = returns::play(program, players, addresses)?;
            let held = shown.back == players && shown.seconds <= longest;
            good &= held;
            println!(
                "| {number} | {players} | {addresses} | {} | {:.2} | {:.0} | {:.0} | {} | {} | {} | {} |",
                shown.back,
                shown.seconds,
                shown.p50_ms,
                shown.p99_ms,
                shown.retries,
                shown.refused,
                shown.deferred,
                if held { "yes" } else { "no" },
            );
            shown.words.iter().for_each(|word| println!("  {word}"));
        }
    }
    Ok(good)
}

async fn ladder(program: &Path, arguments: &Arguments) -> Result<bool> {
    let length = Duration::from_secs(arguments.seconds);
    let (lasted, why) = ladder::play(program, 1.1 * BUDGET, length).await?;
    println!("1.1 times the budget: {:.1} s, {}", lasted.as_secs_f64(), end(why.as_deref()));
    let (flooded, severed) = ladder::play(program, 10.0 * BUDGET, length).await?;
    println!("10 times the budget: {:.1} s, {}", flooded.as_secs_f64(), end(severed.as_deref()));
    Ok(why.is_none() && severed.is_some() && flooded <= Duration::from_secs(5))
}

fn end(why: Option<&str>) -> String {
    why.map_or_else(|| "still connected".to_owned(), |why| format!("ended: {why}"))
}
