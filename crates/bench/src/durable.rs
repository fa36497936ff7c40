//! `rejoin-bench durable`: what keeping everything costs. The same loads on a server whose sessions and
//! zones are in a folder, synced before anybody is told, and on one that has all in memory; and how long
//! a start takes that finds many held sessions. Neither server nor generator is pinned: both share the
//! machine, as a game and its players' traffic do.

pub(crate) mod disk;
mod fill;
mod recovery;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::case::{Run, SECOND, Scale, Scene, echo, inbound, storm};
use crate::machine;
use crate::serve::{Kind, Serving};
use table::Table;

/// What it is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tiny loads: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Only this part; may be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// How often each part is played. [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER")]
    runs: Option<usize>,
    /// On which disk: a folder in which others are made. [default: the current one's `target`]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Where results are written; nowhere if nothing is said.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Part {
    /// The most ordered messages a second.
    Inbound,
    /// Latency of an echo, beside the disk's own sync.
    Latency,
    /// Starts with many held sessions.
    Recovery,
    /// All connections are cut and return at once.
    Storm,
}

/// How much load for each part.
struct Loads {
    inbound: Scale,
    latency: Scale,
    storm: Scale,
    recovery: &'static [recovery::Size],
    /// How long the disk alone is measured.
    disk: u64,
}

const FULL: Loads = Loads {
    inbound: Scale { flood_links: 200, warm: 2 * SECOND, window: 8 * SECOND, ..Scale::FULL },
    latency: Scale { echo_links: 50, warm: SECOND, window: 5 * SECOND, ..Scale::FULL },
    storm: Scale::FULL,
    recovery: recovery::FULL,
    disk: SECOND,
};
const QUICK: Loads = Loads {
    inbound: Scale::QUICK,
    latency: Scale { echo_links: 5, ..Scale::QUICK },
    storm: Scale::QUICK,
    recovery: recovery::QUICK,
    disk: SECOND / 10,
};

/// True when nothing failed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let loads = if arguments.quick { QUICK } else { FULL };
    let runs = arguments.runs.unwrap_or(if arguments.quick { 1 } else { 3 }).max(1);
    let base = arguments.data.clone().unwrap_or_else(|| PathBuf::from("target"));
    let folder = Folder::make(&base)?;
    println!("load average {:.2}; folders in {}", machine::load(), base.display());
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut all = Vec::new();
    for number in 1..=runs {
        for part in [Part::Inbound, Part::Latency, Part::Storm].into_iter().filter(|p| wanted(*p)) {
            for is_kept in [true, false] {
                note(&mut all, play(part, is_kept, number, &loads, &folder)?);
            }
        }
    }
    for size in loads.recovery.iter().filter(|_| wanted(Part::Recovery)) {
        for run in recovery::play(*size, runs, &folder.fresh()?)? {
            note(&mut all, run);
        }
    }
    let table = Table::new(all);
    println!("\n{}", table.markdown());
    if let Some(out) = &arguments.out {
        table.write(out)?;
        println!("written to {}", out.display());
    }
    Ok(table.is_sound())
}

fn note(all: &mut Vec<Run>, run: Run) {
    crate::bench::tell(&run);
    all.push(run);
}

/// One part, with a folder under the server or without.
fn play(part: Part, is_kept: bool, number: usize, loads: &Loads, folder: &Folder) -> Result<Run> {
    let started = machine::now();
    let data = folder.fresh()?;
    let serving = Serving::start_ours(is_kept.then_some(data.as_path()))?;
    let scale = match part {
        Part::Inbound => &loads.inbound,
        Part::Latency => &loads.latency,
        Part::Storm | Part::Recovery => &loads.storm,
    };
    let mut scene = Scene::new(Kind::Ours, serving, scale);
    let case = match part {
        Part::Inbound => {
            inbound::play(&mut scene)?;
            "inbound"
        }
        Part::Latency => {
            echo::play(&mut scene)?;
            if is_kept {
                disk::measure(&mut scene.figures, &data, loads.disk)?;
            }
            "latency"
        }
        Part::Storm | Part::Recovery => {
            storm::play(&mut scene)?;
            "storm"
        }
    };
    let server = if is_kept { "full" } else { "memory" };
    let seconds = (machine::now() - started) as f64 / SECOND as f64;
    let Scene { figures, usage, faults, .. } = scene;
    Ok(Run { case, server, number, figures, usage, faults, seconds })
}

/// A folder for folders; it goes with this value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make(base: &Path) -> Result<Self> {
        let path = base.join(format!("rejoin-durable-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(Self(path))
    }

    /// The path of a folder that is not there; what was there before is gone.
    pub(crate) fn fresh(&self) -> Result<PathBuf> {
        let path = self.0.join("data");
        if path.exists() {
            std::fs::remove_dir_all(&path)
                .with_context(|| format!("{} cannot be removed", path.display()))?;
        }
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is seen by whoever looks into the folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
