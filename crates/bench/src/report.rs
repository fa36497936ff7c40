//! What the runs say together: medians and spreads, a verdict for each target, as a table, as JSON and
//! as a picture.

mod plot;
mod target;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

pub(crate) use self::plot::{Bar, bars, lines};
use self::target::{TARGETS, Verdict};
use crate::case::Run;

/// A generator, or a server, that uses so much of its core has no more to give.
pub(crate) const BUSY: f64 = 0.93;
/// Other programs that use more of a core than this spoil what is measured.
const NOISE: f64 = 0.15;

/// Several runs of one figure.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], least, most })
    }

    pub(crate) fn told(self) -> String {
        let [median, least, most] = [self.median, self.least, self.most].map(number);
        if least == most { median } else { format!("{median} [{least}..{most}]") }
    }
}

/// As many digits as mean something.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// All runs and what follows from them.
#[derive(Serialize)]
pub(crate) struct Report {
    runs: Vec<Run>,
    verdicts: Vec<Verdict>,
    /// By case, server and figure.
    figures: BTreeMap<String, Spread>,
    remarks: Vec<String>,
}

impl Report {
    pub(crate) fn new(runs: Vec<Run>) -> Self {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for run in &runs {
            let usage = [("server CPU", run.usage.server), ("generator CPU", run.usage.generator)];
            let usage = usage.map(|(name, share)| (name, share * 100.0));
            let figures = run.figures.iter().map(|(name, value)| (*name, *value));
            for (name, value) in figures.chain(usage) {
                values.entry(key(run.case, run.server, name)).or_default().push(value);
            }
        }
        let figures: BTreeMap<_, _> = values
            .into_iter()
            .filter_map(|(key, values)| Some((key, Spread::of(values)?)))
            .collect();
        let verdicts = TARGETS.iter().filter_map(|target| target.judge(&figures)).collect();
        let remarks = remarks(&runs);
        Self { runs, verdicts, figures, remarks }
    }

    /// Nothing failed. Whether the targets are met is another matter.
    pub(crate) fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| run.faults.is_empty())
    }

    /// The tables for people.
    pub(crate) fn markdown(&self) -> String {
        let mut page =
            String::from("| Target | Ours | Bare | Ratio | Verdict |\n|---|---:|---:|---:|---|\n");
        for verdict in &self.verdicts {
            let bare = verdict.bare.map_or("–".to_owned(), Spread::told);
            let ratio = verdict.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
            let met = if verdict.is_met { "met" } else { "**not met**" };
            let (what, ours) = (&verdict.what, verdict.ours.told());
            // Writing to a string does not fail, here and below.
            let _ = writeln!(page, "| {what} | {ours} | {bare} | {ratio} | {met} |");
        }
        page.push_str("\n| Case | Figure | Ours | Bare |\n|---|---|---:|---:|\n");
        let mut seen = Vec::new();
        for run in &self.runs {
            let usage = ["server CPU", "generator CPU"];
            for name in run.figures.keys().copied().chain(usage) {
                if seen.contains(&(run.case, name)) {
                    continue;
                }
                seen.push((run.case, name));
                let told = |server| {
                    let figure = self.figures.get(&key(run.case, server, name));
                    figure.map_or("–".to_owned(), |spread| spread.told())
                };
                let (ours, bare) = (told("ours"), told("bare"));
                let percent = if name.ends_with("CPU") { " %" } else { "" };
                let _ = writeln!(page, "| {} | {name}{percent} | {ours} | {bare} |", run.case);
            }
        }
        if !self.remarks.is_empty() {
            page.push('\n');
        }
        for remark in &self.remarks {
            let _ = writeln!(page, "- {remark}");
        }
        page
    }

    /// Writes all three into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        let picture = plot::ratios(&self.verdicts);
        put(
            folder,
            &[("results.json", json), ("results.md", self.markdown()), ("ratios.svg", picture)],
        )
    }
}

/// Writes files into a folder, which is made if need be.
pub(crate) fn put(folder: &Path, files: &[(&str, String)]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn key(case: &str, server: &str, figure: &str) -> String {
    format!("{case}/{server}/{figure}")
}

/// What a reader must know before believing a figure.
pub(crate) fn remarks(runs: &[Run]) -> Vec<String> {
    let mut remarks = Vec::new();
    for run in runs {
        let name = format!("{}, {}, run {}", run.case, run.server, run.number);
        for fault in &run.faults {
            remarks.push(format!("FAULT in {name}: {fault}"));
        }
        if run.usage.generator >= BUSY && run.usage.server < BUSY {
            remarks.push(format!(
                "{name}: the generator was the bottleneck, the server had more to give"
            ));
        }
        if run.usage.others > NOISE {
            let percent = run.usage.others * 100.0;
            remarks.push(format!("{name}: other programs used {percent:.0} % of a core meanwhile"));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Figures, Usage};

    fn run(server: &'static str, figure: &'static str, value: f64) -> Run {
        let figures = Figures::from([(figure, value)]);
        let usage = Usage { server: 0.5, generator: 0.5, others: 0.0 };
        Run { case: "flood", server, number: 1, figures, usage, faults: Vec::new(), seconds: 1.0 }
    }

    #[test]
    fn a_spread_has_the_middle_and_the_ends() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]).expect("there are values");
        assert_eq!((spread.median, spread.least, spread.most), (2.0, 1.0, 3.0));
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn a_target_is_judged_by_the_ratio_to_the_bare_server() {
        for (ours, met) in [(59.0, "not met"), (61.0, "| met")] {
            let runs = vec![run("ours", "per second", ours), run("bare", "per second", 100.0)];
            let report = Report::new(runs);
            assert!(report.markdown().contains(met), "{}", report.markdown());
            assert!(report.is_sound());
        }
    }

    #[test]
    fn faults_noise_and_a_busy_generator_are_told() {
        let mut bad = run("ours", "per second", 99.0);
        bad.faults.push("a fault".to_owned());
        bad.usage = Usage { server: 0.5, generator: 1.0, others: 0.4 };
        let report = Report::new(vec![bad]);
        assert!(!report.is_sound());
        for words in ["a fault", "bottleneck", "40 % of a core"] {
            assert!(report.markdown().contains(words), "{words}");
        }
    }
}
