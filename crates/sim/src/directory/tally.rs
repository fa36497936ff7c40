//! What came of all seeds together, and how it is told.

use std::collections::BTreeMap;
use std::process::ExitCode;

use rejoin_directory::mark::Mark;

use super::run::{Report, play};

/// The sum of many runs.
#[derive(Default)]
pub struct Tally {
    /// Runs so far.
    pub seeds: u64,
    steps: u64,
    crashes: u64,
    answers: u64,
    games: u64,
    seats: u64,
    placements: u64,
    /// Pages of searches that were compared with brute force.
    pub pages: u64,
    /// Games on those pages.
    pub listed: u64,
    /// Seats that were compared with the books.
    pub seats_compared: u64,
    commits: u64,
    simulated_us: u64,
    marks: BTreeMap<Mark, u64>,
    /// Runs in which a promise was broken.
    pub failed: Vec<Report>,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, report: Report) {
        self.seeds += 1;
        self.steps += report.steps;
        self.crashes += report.crashes;
        self.answers += report.answers;
        self.games += report.games;
        self.seats += report.seats;
        self.placements += report.placements;
        self.pages += report.pages;
        self.listed += report.listed;
        self.seats_compared += report.seats_compared;
        self.commits += report.commits;
        self.simulated_us += report.simulated_us;
        for (mark, hits) in &report.marks {
            *self.marks.entry(*mark).or_default() += hits;
        }
        if !report.violations.is_empty() {
            self.failed.push(report);
        }
    }

    /// A line while it goes on.
    #[must_use]
    pub fn line(&self) -> String {
        let hours = self.simulated_us as f64 / 3.6e9;
        format!("{} seeds  {hours:.1} simulated hours  {} failed", self.seeds, self.failed.len())
    }

    /// Marks that were not hit.
    #[must_use]
    pub fn missed(&self) -> Vec<&'static str> {
        let is_missed = |mark: &&Mark| self.marks.get(mark).copied().unwrap_or_default() == 0;
        Mark::ALL.iter().filter(is_missed).map(|mark| mark.name()).collect()
    }

    /// Tells everything; fails on a violation and, if they are demanded, on a mark not hit.
    #[must_use]
    pub fn tell(&self, demand: bool) -> ExitCode {
        println!(
            "{} seeds, {:.1} simulated hours, {} events, {} crashes, {} games, {} seats, {} placements, \
             {} answers, {} commits",
            self.seeds,
            self.simulated_us as f64 / 3.6e9,
            self.steps,
            self.crashes,
            self.games,
            self.seats,
            self.placements,
            self.answers,
            self.commits,
        );
        println!(
            "{} pages of searches compared, {} games on them, {} seats compared",
            self.pages, self.listed, self.seats_compared,
        );
        if demand {
            println!("marks, and how often each was hit:");
            for chunk in Mark::ALL.chunks(4) {
                let row = chunk.iter().map(|mark| {
                    let hits = self.marks.get(mark).copied().unwrap_or_default();
                    format!("{:<22}{hits:>9}", mark.name())
                });
                println!("  {}", row.collect::<Vec<_>>().join("   "));
            }
        }
        let missed = self.missed();
        if !missed.is_empty() {
            println!("not hit: {}", missed.join(", "));
        }
        for report in self.failed.iter().take(3) {
            println!("\nseed {} broke a promise:", report.seed);
            for violation in &report.violations {
                println!("  {}: {}", violation.checker, violation.text);
            }
            println!("  again: cargo xtask sim --directory --replay {}", report.seed);
        }
        let violations: usize = self.failed.iter().map(|report| report.violations.len()).sum();
        println!("{violations} violations, {} of {} marks not hit", missed.len(), Mark::ALL.len());
        ExitCode::from(u8::from(violations > 0 || (demand && !missed.is_empty())))
    }
}

/// Plays one seed and tells its story.
#[must_use]
pub fn replay(seed: u64) -> ExitCode {
    let report = play(seed, true, None);
    for line in &report.story {
        println!("{line}");
    }
    println!("seed {seed}: {} events, {} violations", report.steps, report.violations.len());
    for violation in &report.violations {
        println!("  {}: {}", violation.checker, violation.text);
    }
    ExitCode::from(u8::from(!report.violations.is_empty()))
}
