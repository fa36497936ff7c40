//! What came of it: medians and spreads, `full` beside `memory`, a verdict for each target; as a table,
//! as JSON and as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::case::Run;
use crate::machine;
use crate::report::{Bar, Spread, bars, put, remarks};

/// One line of the first table.
#[derive(Clone, PartialEq, Serialize, Debug)]
struct Line {
    what: &'static str,
    figure: String,
    beside: String,
    /// The value and what it is held against; none: only told.
    value: f64,
    target: Option<f64>,
    /// More is better.
    is_rate: bool,
}

impl Line {
    fn is_met(&self) -> Option<bool> {
        self.target.map(|t| if self.is_rate { self.value >= t } else { self.value <= t })
    }
}

/// All runs and what follows from them.
#[derive(Serialize)]
pub(super) struct Table {
    load_average: f64,
    lines: Vec<Line>,
    /// By case, server and figure.
    figures: BTreeMap<String, Spread>,
    remarks: Vec<String>,
    runs: Vec<Run>,
}

impl Table {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for run in &runs {
            let usage =
                [("server CPU %", run.usage.server), ("generator CPU %", run.usage.generator)];
            let usage = usage.map(|(name, share)| (name, share * 100.0));
            for (name, value) in run.figures.iter().map(|(n, v)| (*n, *v)).chain(usage) {
                values
                    .entry(format!("{}/{}/{name}", run.case, run.server))
                    .or_default()
                    .push(value);
            }
        }
        let figures: BTreeMap<String, Spread> =
            values.into_iter().filter_map(|(key, all)| Some((key, Spread::of(all)?))).collect();
        let lines = lines(&Figures(&figures));
        Self { load_average: machine::load(), lines, remarks: remarks(&runs), figures, runs }
    }

    /// Nothing failed. Whether the targets are met is another matter.
    pub(super) fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| run.faults.is_empty())
    }

    pub(super) fn markdown(&self) -> String {
        let mut page =
            String::from("| Target | Figure | Beside | Verdict |\n|---|---:|---:|---|\n");
        for line in &self.lines {
            let verdict = match line.is_met() {
                Some(true) => "met",
                Some(false) => "**not met**",
                None => "–",
            };
            let Line { what, figure, beside, .. } = line;
            // Writing to a string does not fail, here and below.
            let _ = writeln!(page, "| {what} | {figure} | {beside} | {verdict} |");
        }
        page.push_str("\n| Case | Server | Figure | Median [least..most] |\n|---|---|---|---:|\n");
        for (key, spread) in &self.figures {
            let cells = key.splitn(3, '/').collect::<Vec<_>>().join(" | ");
            let _ = writeln!(page, "| {cells} | {} |", spread.told());
        }
        let _ = writeln!(page, "\n- load average at the end: {:.2}", self.load_average);
        for remark in &self.remarks {
            let _ = writeln!(page, "- {remark}");
        }
        page
    }

    /// Writes all three into a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        let picture = self.picture();
        put(
            folder,
            &[("durable.json", json), ("durable.md", self.markdown()), ("durable.svg", picture)],
        )
    }

    /// Each figure as a share of its target, so that all fit beside each other.
    fn picture(&self) -> String {
        let row = |line: &Line| {
            let target = line.target.filter(|target| *target > 0.0)?;
            let what = line.what.to_owned();
            Some(Bar { what, value: line.value / target, limit: 1.0, is_met: line.is_met()? })
        };
        let rows: Vec<Bar> = self.lines.iter().filter_map(row).collect();
        bars("Figure by target; the mark is the target", &rows)
    }
}

struct Figures<'a>(&'a BTreeMap<String, Spread>);

impl Figures<'_> {
    fn get(&self, case: &str, server: &str, figure: &str) -> Option<Spread> {
        self.0.get(&format!("{case}/{server}/{figure}")).copied()
    }

    fn both(&self, case: &str, figure: &str) -> Option<[Spread; 2]> {
        Some([self.get(case, "full", figure)?, self.get(case, "memory", figure)?])
    }
}

fn lines(figures: &Figures<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    inbound(figures, &mut lines);
    latency(figures, &mut lines);
    recovery(figures, &mut lines);
    storm(figures, &mut lines);
    lines
}

fn inbound(figures: &Figures<'_>, lines: &mut Vec<Line>) {
    let Some([full, memory]) = figures.both("inbound", "per second") else { return };
    lines.push(Line {
        what: "`full` relay at 20 Hz: ordered messages of 100 B a second ≥ 50,000",
        figure: full.told(),
        beside: format!(
            "`memory` {}, ratio {:.2}",
            memory.told(),
            full.median / memory.median.max(1e-9)
        ),
        value: full.median,
        target: Some(50_000.0),
        is_rate: true,
    });
    let (p50, p99) = ("commit p50 ms", "commit p99 ms");
    if let (Some(p50), Some(p99)) =
        (figures.get("inbound", "full", p50), figures.get("inbound", "full", p99))
    {
        lines.push(Line {
            what: "the same: commit p50 and p99, ms",
            figure: p50.told(),
            beside: p99.told(),
            value: p50.median,
            target: None,
            is_rate: false,
        });
    }
    if let Some(bytes) = figures.get("inbound", "full", "disk bytes per message byte") {
        lines.push(Line {
            what: "the same: bytes written to disk per message byte",
            figure: bytes.told(),
            beside: "–".to_owned(),
            value: bytes.median,
            target: None,
            is_rate: false,
        });
    }
}

fn latency(figures: &Figures<'_>, lines: &mut Vec<Line>) {
    let Some([full, memory]) = figures.both("latency", "p50 µs") else { return };
    let Some(sync) = figures.get("latency", "full", "fdatasync p50 µs") else { return };
    let added = full.median - memory.median;
    lines.push(Line {
        what: "latency that `full` adds to an echo, p50 in fdatasyncs ≤ 2",
        figure: format!("{:.2}", added / sync.median.max(1e-9)),
        beside: format!(
            "{added:.0} µs = {} − {} µs; fdatasync {} µs",
            full.told(),
            memory.told(),
            sync.told()
        ),
        value: added / sync.median.max(1e-9),
        target: Some(2.0),
        is_rate: false,
    });
}

fn recovery(figures: &Figures<'_>, lines: &mut Vec<Line>) {
    let sizes = [
        ("recovery of 10,000", "10,000 held sessions of 1 KiB are back, s", None),
        ("recovery of 100,000", "100,000 held sessions of 1 KiB are back, s ≤ 3", Some(3.0)),
        ("recovery of 300,000", "300,000 held sessions of 1 KiB are back, s", None),
        (
            "recovery of 10,000 in 1,000 zones",
            "10,000 held sessions in 1,000 zones are back, s",
            None,
        ),
        (
            "recovery of 100,000 in 10,000 zones",
            "100,000 held sessions in 10,000 zones are back, s ≤ 5",
            Some(5.0),
        ),
    ];
    for (case, what, target) in sizes {
        let Some(killed) = figures.get(case, "after a kill", "seconds") else { continue };
        let each = figures.get(case, "after a kill", "µs a session");
        let stopped = figures.get(case, "after a stop", "seconds");
        lines.push(Line {
            what,
            figure: killed.told(),
            beside: format!(
                "{} µs each; after a clean stop {} s",
                each.map_or("–".to_owned(), Spread::told),
                stopped.map_or("–".to_owned(), Spread::told)
            ),
            value: killed.median,
            target,
            is_rate: false,
        });
    }
}

fn storm(figures: &Figures<'_>, lines: &mut Vec<Line>) {
    let Some([full, memory]) = figures.both("storm", "failures") else { return };
    lines.push(Line {
        what: "resume storm of 5,000 in `full`: failures",
        figure: full.told(),
        beside: format!("`memory` {}", memory.told()),
        value: full.most,
        target: Some(0.0),
        is_rate: false,
    });
    let Some([full, memory]) = figures.both("storm", "per second") else { return };
    lines.push(Line {
        what: "the same: resumes a second",
        figure: full.told(),
        beside: format!(
            "`memory` {}, ratio {:.2}",
            memory.told(),
            full.median / memory.median.max(1e-9)
        ),
        value: full.median,
        target: None,
        is_rate: true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Usage;

    fn run(case: &'static str, server: &'static str, figures: &[(&'static str, f64)]) -> Run {
        let (figures, usage) = (figures.iter().copied().collect(), Usage::default());
        Run { case, server, number: 1, figures, usage, faults: Vec::new(), seconds: 1.0 }
    }

    #[test]
    fn verdicts_follow_the_figures() {
        for (added, rate, verdicts) in
            [(150.0, 60_000.0, [true, true]), (250.0, 40_000.0, [false, false])]
        {
            let table = Table::new(vec![
                run("inbound", "full", &[("per second", rate)]),
                run("inbound", "memory", &[("per second", 100_000.0)]),
                run("latency", "full", &[("p50 µs", 100.0 + added), ("fdatasync p50 µs", 100.0)]),
                run("latency", "memory", &[("p50 µs", 100.0)]),
            ]);
            let met: Vec<bool> = table.lines.iter().filter_map(Line::is_met).collect();
            assert_eq!(met, verdicts, "{}", table.markdown());
            assert!(table.picture().ends_with("</svg>\n"));
        }
    }
}
