//! A start that finds many held sessions: from the start of the process until it is ready for players.
//! Each but the first comes after a kill, which is the slower one: the engine reads its whole file.

use std::path::Path;

use anyhow::Result;

use super::fill;
use crate::case::{Figures, Meter, Run, SECOND};
use crate::machine::{self, now};
use crate::serve::Serving;

/// The first start comes after a clean end and is told apart.
pub(super) fn play(size: Size, runs: usize, data: &Path) -> Result<Vec<Run>> {
    let Size { sessions: count, zones, case } = size;
    fill::fill(data, count, zones)?;
    let mut all = Vec::new();
    for number in 0..=runs {
        let started = now();
        let mut serving = Serving::start_ours(Some(data))?;
        let seconds = (now() - started) as f64 / SECOND as f64;
        let cpu = machine::cpu_seconds(serving.id())?;
        let meter = Meter::start(serving.id())?;
        let told = serving.ask()?;
        let mut usage = meter.stop()?;
        (usage.server, usage.generator, usage.others) = (cpu / seconds, 0.0, 0.0);
        let mut faults = Vec::new();
        if told.sessions as u64 != count {
            faults.push(format!("{} of {count} sessions are there", told.sessions));
        }
        let resident = machine::resident_bytes(serving.id())? as f64;
        let figures = Figures::from([
            ("seconds", seconds),
            ("µs a session", seconds * 1e6 / count as f64),
            ("MiB resident", resident / f64::from(1 << 20)),
        ]);
        let server = if number == 0 { "after a stop" } else { "after a kill" };
        all.push(Run { case, server, number: number.max(1), figures, usage, faults, seconds });
    }
    Ok(all)
}

/// What a start finds, and how that is called in tables.
#[derive(Clone, Copy)]
pub(super) struct Size {
    sessions: u64,
    /// Zones they are members of; none: they are outside zones.
    zones: u64,
    case: &'static str,
}

const fn size(sessions: u64, zones: u64, case: &'static str) -> Size {
    Size { sessions, zones, case }
}

/// Sizes that show that everything works.
pub(super) const QUICK: &[Size] = &[
    size(100, 0, "recovery of 100"),
    size(1_000, 0, "recovery of 1,000"),
    size(100, 10, "recovery of 100 in 10 zones"),
];
/// Sizes that are measured.
pub(super) const FULL: &[Size] = &[
    size(10_000, 0, "recovery of 10,000"),
    size(100_000, 0, "recovery of 100,000"),
    size(300_000, 0, "recovery of 300,000"),
    size(10_000, 1_000, "recovery of 10,000 in 1,000 zones"),
    size(100_000, 10_000, "recovery of 100,000 in 10,000 zones"),
];
