//! What came of it: a line for each figure with its median and spread, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::cycle::Told;
use crate::case::Figures;
use crate::machine;
use crate::report::{Spread, put};

/// Operations a second that are aimed at.
const TARGET: f64 = 50_000.0;

/// Figures by their names, one value for each run.
#[derive(Serialize, Default)]
pub(super) struct Table {
    figures: BTreeMap<String, Vec<f64>>,
}

impl Table {
    fn push(&mut self, name: String, value: f64) {
        self.figures.entry(name).or_default().push(value);
    }

    /// What a load did.
    pub(super) fn note(
        &mut self,
        run: usize,
        way: &str,
        told: &Told,
        span: Duration,
        server_cpu: Option<f64>,
    ) {
        let seconds = span.as_secs_f64();
        let per_second = told.operations as f64 / seconds;
        println!("run {run}, {way}: {per_second:.0} operations/s, p99 {:.0} µs", told.p99_us);
        let batch = told.batches as f64 / told.groups.max(1) as f64;
        for (name, value) in [
            ("operations a second", per_second),
            ("p50 µs", told.p50_us),
            ("p99 µs", told.p99_us),
            ("commits a second", told.groups as f64 / seconds),
            ("operations in a commit", batch),
            ("found full", told.full as f64),
            ("oversold", told.oversold as f64),
            ("leaked", told.leaked as f64),
        ] {
            self.push(format!("{way}: {name}"), value);
        }
        if let Some(cpu) = server_cpu {
            self.push(format!("{way}: server CPU %"), cpu / seconds * 100.0);
            let each = cpu * 1e6 / told.operations.max(1) as f64;
            self.push(format!("{way}: server µs of CPU each"), each);
        }
    }

    /// Figures of another kind.
    pub(super) fn add(&mut self, _run: usize, figures: BTreeMap<String, f64>) {
        for (name, value) in figures {
            self.push(name, value);
        }
    }

    /// The disk alone, and what it would allow with the commits that were seen.
    pub(super) fn add_disk(&mut self, _run: usize, alone: &Figures) {
        let sync_us = alone.get("fdatasync p50 µs").copied().unwrap_or(f64::MAX);
        self.push("disk: fdatasync p50 µs".to_owned(), sync_us);
        for way in ["http", "door"] {
            let batch = self.last(&format!("{way}: operations in a commit"));
            self.push(
                format!("{way}: the disk's limit, operations a second"),
                batch * 1e6 / sync_us,
            );
        }
    }

    fn last(&self, name: &str) -> f64 {
        self.figures.get(name).and_then(|all| all.last()).copied().unwrap_or(0.0)
    }

    fn spread(&self, name: &str) -> Option<Spread> {
        Spread::of(self.figures.get(name)?.clone())
    }

    fn most(&self, name: &str) -> f64 {
        self.spread(name).map_or(0.0, |spread| spread.most)
    }

    /// Nothing was sold twice, and nothing was lost.
    pub(super) fn is_sound(&self) -> bool {
        ["http", "door"].iter().all(|way| {
            self.most(&format!("{way}: oversold")) == 0.0
                && self.most(&format!("{way}: leaked")) == 0.0
        })
    }

    pub(super) fn markdown(&self) -> String {
        let mut text =
            String::from("| Target | Figure | Beside | Verdict |\n|---|---:|---:|---|\n");
        for way in ["http", "door"] {
            let told = |name: &str| {
                self.spread(&format!("{way}: {name}")).map_or("–".to_owned(), Spread::told)
            };
            let rate = self.spread(&format!("{way}: operations a second"));
            let is_met = rate.is_some_and(|rate| rate.median >= TARGET);
            let _ = writeln!(
                text,
                "| {way}: durable seat operations a second ≥ 50,000 | {} | the disk's limit {} | {} |",
                told("operations a second"),
                told("the disk's limit, operations a second"),
                if is_met { "met" } else { "**not met**" },
            );
            for name in ["oversold", "leaked"] {
                let verdict =
                    if self.most(&format!("{way}: {name}")) == 0.0 { "met" } else { "**not met**" };
                let _ = writeln!(text, "| {way}: {name} = 0 | {} | – | {verdict} |", told(name));
            }
        }
        text += "\n| Figure | Median [least..most] |\n|---|---:|\n";
        for name in self.figures.keys() {
            let told = self.spread(name).map_or("–".to_owned(), Spread::told);
            let _ = writeln!(text, "| {name} | {told} |");
        }
        let _ = writeln!(text, "\n- load average at the end: {:.2}", machine::load());
        text
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        put(folder, &[("seats.md", self.markdown()), ("seats.json", json + "\n")])
    }
}
