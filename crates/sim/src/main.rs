//! `rejoin-sim`: plays seeds and tells what came of them. A failing seed is played again with its
//! story told, and the shortest part of that story that still fails is printed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rejoin_core::mark::Mark;
use rejoin_sim::directory::tally::{self, Tally};
use rejoin_sim::disk::STRIKES;
use rejoin_sim::run::{Options, Report, play};
use rejoin_sim::shrink;

/// Plays whole games of Rejoin in one thread; one seed decides everything in each.
#[derive(Parser, Debug)]
#[command(version, name = "rejoin-sim")]
struct Args {
    /// How many seeds to play; 100 without this and without --seconds.
    #[arg(long, conflicts_with = "seconds")]
    seeds: Option<u64>,
    /// Play as many seeds as go into this many seconds of this machine. What such a run covers depends on
    /// the machine, so tests count seeds.
    #[arg(long)]
    seconds: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Play one seed and tell its story.
    #[arg(long)]
    replay: Option<u64>,
    /// Fail when a mark was not hit. On by default for runs of 2,000 seeds or more.
    #[arg(long)]
    marks: Option<bool>,
    /// Play worlds of the directory instead.
    #[arg(long)]
    directory: bool,
    /// Threads; the seeds are the same whatever their number.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// A run of this many seeds has to reach every mark. In a shorter one a mark that is not hit is told and
/// is no failure: the rarest marks are hit once in hundreds of seeds.
const MARKS_FROM_SEEDS: u64 = 2_000;

impl Args {
    fn demands_marks(&self, seeds: u64) -> bool {
        self.marks.unwrap_or(seeds >= MARKS_FROM_SEEDS)
    }
}

/// What came of all seeds together.
#[derive(Default)]
struct Total {
    seeds: u64,
    steps: u64,
    frames: u64,
    compressed: u64,
    heard: u64,
    reports: u64,
    commits: u64,
    simulated_us: u64,
    marks: BTreeMap<Mark, u64>,
    struck: BTreeMap<&'static str, u64>,
    failed: Vec<Report>,
}

impl Total {
    fn add(&mut self, report: Report) {
        self.seeds += 1;
        self.steps += report.steps;
        self.frames += report.frames;
        self.compressed += report.compressed;
        self.heard += report.heard;
        self.reports += report.reports;
        self.commits += report.commits;
        self.simulated_us += report.simulated_us;
        for (mark, hits) in &report.marks {
            *self.marks.entry(*mark).or_default() += hits;
        }
        for (name, count) in &report.struck {
            *self.struck.entry(name).or_default() += count;
        }
        if !report.violations.is_empty() {
            self.failed.push(report);
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    // Game code panics on purpose; the runs tell what they must.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(seed) = args.replay {
        return if args.directory { tally::replay(seed) } else { replay(seed) };
    }
    if args.directory {
        return play_directory(&args);
    }
    let total = play_all(&args);
    println!(
        "{} seeds, {:.1} simulated hours, {} events, {} frames carried ({} compressed), {} notes heard, {} commits, \
         {} reports right",
        total.seeds,
        total.simulated_us as f64 / 3.6e9,
        total.steps,
        total.frames,
        total.compressed,
        total.heard,
        total.commits,
        total.reports,
    );
    let demand = args.demands_marks(total.seeds);
    let missed = print_marks(&total.marks, demand) + print_strikes(&total.struck, demand);
    for report in total.failed.iter().take(3) {
        print_failure(report);
    }
    let violations: usize = total.failed.iter().map(|report| report.violations.len()).sum();
    println!(
        "{violations} violations, {missed} of {} marks not hit",
        Mark::ALL.len() + STRIKES.len()
    );
    let failed = violations > 0 || (demand && missed > 0);
    ExitCode::from(u8::from(failed))
}

/// A seed takes well under a second. One that takes this long will not end, and a run that hangs tells
/// nobody which seed it was.
const ENDLESS: Duration = Duration::from_secs(120);

/// The seeds that are being played, and since when.
#[derive(Default)]
struct Playing(Mutex<BTreeMap<u64, Instant>>);

impl Playing {
    fn play(&self, seed: u64) -> Report {
        if let Ok(mut playing) = self.0.lock() {
            playing.insert(seed, Instant::now());
        }
        let report = play(seed, Options::default());
        if let Ok(mut playing) = self.0.lock() {
            playing.remove(&seed);
        }
        report
    }

    /// Ends the program when a seed does not end.
    fn watch(&self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            let Ok(playing) = self.0.lock() else { return };
            let endless = playing.iter().find(|(_, since)| since.elapsed() > ENDLESS);
            if let Some((seed, _)) = endless {
                println!("seed {seed} has not ended after {} s", ENDLESS.as_secs());
                println!("  again: cargo xtask sim --replay {seed}");
                std::process::exit(1);
            }
        }
    }
}

/// Plays seeds on a few threads; each seed is played by one.
fn play_all(args: &Args) -> Total {
    let begun = Instant::now();
    let until = args.seconds.map(Duration::from_secs);
    let seeds = args.seeds.unwrap_or(if until.is_some() { u64::MAX } else { 100 });
    let next = AtomicU64::new(0);
    let total = Mutex::new((Total::default(), Instant::now()));
    let (playing, over) = (Playing::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| playing.watch(&over));
        let players: Vec<_> = (0..args.threads.max(1))
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= seeds || until.is_some_and(|until| begun.elapsed() >= until) {
                            return;
                        }
                        let report = playing.play(args.from.saturating_add(index));
                        let Ok(mut guard) = total.lock() else { return };
                        let (total, told) = &mut *guard;
                        total.add(report);
                        if total.failed.len() >= 3 {
                            next.store(u64::MAX / 2, Ordering::Relaxed);
                            return;
                        }
                        if told.elapsed() >= Duration::from_secs(5) {
                            *told = Instant::now();
                            eprintln!(
                                "{:>5} s  {} seeds  {:.1} simulated hours  {} failed",
                                begun.elapsed().as_secs(),
                                total.seeds,
                                total.simulated_us as f64 / 3.6e9,
                                total.failed.len()
                            );
                        }
                    }
                })
            })
            .collect();
        for player in players {
            let _ = player.join();
        }
        over.store(true, Ordering::Relaxed);
    });
    total.into_inner().map_or_else(|_| Total::default(), |(total, _)| total)
}

/// Plays seeds of the directory's worlds, on as many threads.
fn play_directory(args: &Args) -> ExitCode {
    let begun = Instant::now();
    let until = args.seconds.map(Duration::from_secs);
    let seeds = args.seeds.unwrap_or(if until.is_some() { u64::MAX } else { 100 });
    let next = AtomicU64::new(0);
    let total = Mutex::new((Tally::default(), Instant::now()));
    std::thread::scope(|scope| {
        for _ in 0..args.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= seeds || until.is_some_and(|until| begun.elapsed() >= until) {
                        return;
                    }
                    let seed = args.from.saturating_add(index);
                    let report = rejoin_sim::directory::run::play(seed, false, None);
                    let Ok(mut guard) = total.lock() else { return };
                    let (tally, told) = &mut *guard;
                    tally.add(report);
                    if tally.failed.len() >= 3 {
                        next.store(u64::MAX / 2, Ordering::Relaxed);
                        return;
                    }
                    if told.elapsed() >= Duration::from_secs(5) {
                        *told = Instant::now();
                        eprintln!("{:>5} s  {}", begun.elapsed().as_secs(), tally.line());
                    }
                }
            });
        }
    });
    match total.into_inner() {
        Ok((tally, _)) => tally.tell(args.demands_marks(tally.seeds)),
        Err(_) => ExitCode::FAILURE,
    }
}

fn print_marks(hits: &BTreeMap<Mark, u64>, all: bool) -> usize {
    let missed: Vec<&str> = Mark::ALL
        .iter()
        .filter(|mark| hits.get(mark).copied().unwrap_or_default() == 0)
        .map(|mark| mark.name())
        .collect();
    if all {
        println!("marks, and how often each was hit:");
        for chunk in Mark::ALL.chunks(4) {
            let row = chunk.iter().map(|mark| {
                format!("{:<24}{:>9}", mark.name(), hits.get(mark).copied().unwrap_or_default())
            });
            println!("  {}", row.collect::<Vec<_>>().join("   "));
        }
    }
    if !missed.is_empty() {
        println!("not hit: {}", missed.join(", "));
    }
    missed.len()
}

/// What went wrong on disks and in crashes; how many kinds of it were not seen.
fn print_strikes(struck: &BTreeMap<&'static str, u64>, all: bool) -> usize {
    let count = |name: &str| struck.get(name).copied().unwrap_or_default();
    if all {
        println!("disks and crashes:");
        for name in STRIKES {
            println!("  {name:<36}{:>9}", count(name));
        }
    }
    let missed: Vec<&str> = STRIKES.iter().copied().filter(|name| count(name) == 0).collect();
    if !missed.is_empty() {
        println!("not struck: {}", missed.join(", "));
    }
    missed.len()
}

fn print_failure(report: &Report) {
    println!("\nseed {} broke a promise:", report.seed);
    for violation in &report.violations {
        println!("  {}: {}", violation.checker, violation.text);
    }
    let script = shrink::shrink(report.seed);
    println!("  shrunk to {}", script.summary);
    for line in script.last_lines(40) {
        println!("    {line}");
    }
    println!("  again: cargo xtask sim --replay {}", report.seed);
}

fn replay(seed: u64) -> ExitCode {
    let report = play(seed, Options { story: true, ..Options::default() });
    for line in &report.story {
        println!("{line}");
    }
    println!("seed {seed}: {} events, {} violations", report.steps, report.violations.len());
    for violation in &report.violations {
        println!("  {}: {}", violation.checker, violation.text);
    }
    ExitCode::from(u8::from(!report.violations.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_demanded_of_long_runs_by_their_seeds() {
        let of = |line: &[&str]| Args::parse_from(["rejoin-sim"].iter().chain(line));
        assert!(!of(&["--seconds", "60"]).demands_marks(117));
        assert!(!of(&["--seeds", "1999"]).demands_marks(1_999));
        assert!(of(&["--seeds", "2000"]).demands_marks(2_000));
        assert!(of(&["--marks", "true"]).demands_marks(10));
    }
}
