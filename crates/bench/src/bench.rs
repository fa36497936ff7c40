//! `rejoin-bench run`: plays the cases, ours and bare in turn, and writes what came of it.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::case::{self, Case, Run, Scale};
use crate::machine;
use crate::report::Report;
use crate::serve::Kind;

/// What the bench is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tiny loads: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Only this case; may be given several times.
    #[arg(long, value_name = "CASE")]
    only: Vec<Case>,
    /// How often each case is played on each server. [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER")]
    runs: Option<usize>,
    /// Where results are written; nowhere if nothing is said.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Handles beside the connections.
const SPARE_HANDLES: u64 = 64;

/// True when nothing failed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let scale = if arguments.quick { Scale::QUICK } else { Scale::FULL };
    let runs = arguments.runs.unwrap_or(if arguments.quick { 1 } else { 3 }).max(1);
    let needed = scale.idle_links as u64 + SPARE_HANDLES;
    if machine::handles_max() < needed {
        bail!("{needed} file handles are needed: raise the limit, as with `ulimit -n {needed}`");
    }
    let (server_core, own_core) = match machine::cores()[..] {
        [first, second, ..] => (Some(first), Some(second)),
        _ => {
            println!("one core only: server and generator share it, and the figures show it");
            (None, None)
        }
    };
    if let Some(core) = own_core {
        machine::pin(core)?;
    }
    println!(
        "load average {:.2}; server on core {server_core:?}, generator on {own_core:?}",
        machine::load()
    );
    let wanted = |case: &Case| arguments.only.is_empty() || arguments.only.contains(case);
    let mut all: Vec<Run> = Vec::new();
    for case in Case::ALL.into_iter().filter(wanted) {
        for number in 1..=case.runs(runs) {
            for kind in [Kind::Ours, Kind::Bare].into_iter().filter(|kind| case.is_for(*kind)) {
                let run = case::play(case, kind, number, &scale, server_core)?;
                tell(&run);
                all.push(run);
            }
        }
    }
    let report = Report::new(all);
    println!("\n{}", report.markdown());
    if let Some(folder) = &arguments.out {
        report.write(folder)?;
        println!("written to {}", folder.display());
    }
    Ok(report.is_sound())
}

pub(crate) fn tell(run: &Run) {
    let figures: Vec<String> =
        run.figures.iter().map(|(name, value)| format!("{name} {value:.1}")).collect();
    println!(
        "{:6} {} #{}: {}; CPU server {:.0} %, generator {:.0} %, others {:.0} %; {:.1} s",
        run.case,
        run.server,
        run.number,
        figures.join(", "),
        run.usage.server * 100.0,
        run.usage.generator * 100.0,
        run.usage.others * 100.0,
        run.seconds,
    );
    for fault in &run.faults {
        println!("       FAULT: {fault}");
    }
}
