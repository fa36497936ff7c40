//! A start that finds many held sessions: from the start of the process until it is ready for players.
//! Each but the first comes after a kill, which is the slower one: the engine reads its whole file.

use std::path::Path;

use anyhow::Result;

use super::fill;
use crate::case::{Figures, Meter, Run, SECOND};
use crate::machine::{self, now};
use crate::serve::Serving;

/// The first start comes after a clean end and is told apart.
pub(super) fn play(count: u64, runs: usize, data: &Path) -> Result<Vec<Run>> {
    fill::fill(data, count)?;
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
        let case =
            CASES.iter().find(|(size, _)| *size == count).map_or("recovery", |(_, name)| name);
        all.push(Run { case, server, number: number.max(1), figures, usage, faults, seconds });
    }
    Ok(all)
}

/// The sizes, as they are called in tables.
const CASES: [(u64, &str); 5] = [
    (100, "recovery of 100"),
    (1_000, "recovery of 1,000"),
    (10_000, "recovery of 10,000"),
    (100_000, "recovery of 100,000"),
    (300_000, "recovery of 300,000"),
];
