//! Runs the tests with cargo-nextest where it is installed, else with `cargo test`, and reads what
//! they print.
//!
//! A test that cannot run here prints `SKIPPED: <name>: <why>` and returns. To see such lines the
//! output of tests that pass is asked for, and everything else in it is swallowed: shown are
//! failures, slow tests and a count now and then.

mod reading;
mod tap;

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::tally::Tally;
use crate::stage::cargo;
use reading::{Libtest, Nextest, Reading, Shown};
use tap::Tap;

const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// The program that runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// A process a test, in parallel.
    Nextest,
    /// What comes with Rust.
    CargoTest,
}

impl Runner {
    /// nextest where it can be called.
    pub fn find(no_nextest: bool) -> Runner {
        let version = cargo().args(["nextest", "--version"]).output();
        let found = version.is_ok_and(|output| output.status.success());
        if found && !no_nextest { Runner::Nextest } else { Runner::CargoTest }
    }

    /// Builds all tests and runs none.
    pub fn build_arguments(self) -> &'static [&'static str] {
        match self {
            Runner::Nextest => &["nextest", "run", "--workspace", "--no-run"],
            Runner::CargoTest => &["test", "--workspace", "--all-targets", "--no-run"],
        }
    }

    /// Runs every test but the doc tests; `outside` says where outside programs are.
    pub fn run_tests(self, outside: &[(&str, OsString)], tally: &mut Tally) -> Result<bool> {
        let mut command = cargo();
        command.envs(outside.iter().map(|(name, place)| (name, place)));
        match self {
            Runner::Nextest => {
                command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--color=never"]);
                command.args([
                    "--no-tests=pass",
                    "--status-level=all",
                    "--final-status-level=none",
                ]);
                command.args(["--success-output=immediate", "--failure-output=immediate"]);
                read(&mut command, Nextest::default(), tally)
            }
            Runner::CargoTest => {
                command.args(["test", "--workspace", "--all-targets", "--no-fail-fast"]);
                command.args(["--color=never", "--", "--show-output"]);
                read(&mut command, Libtest::default(), tally)
            }
        }
    }

    /// Runs the examples in the documentation; nextest does not know them.
    pub fn run_doc_tests(tally: &mut Tally) -> Result<bool> {
        let mut command = cargo();
        command.args(["test", "--workspace", "--doc", "--no-fail-fast", "--color=never"]);
        command.args(["--", "--show-output"]);
        read(&mut command, Libtest::default(), tally)
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runner::Nextest => "cargo nextest",
            Runner::CargoTest => "cargo test (cargo-nextest is not used)",
        })
    }
}

/// Runs tests that speak the Test Anything Protocol.
pub fn run_tap(command: &mut Command, tally: &mut Tally) -> Result<bool> {
    read(command, Tap::default(), tally)
}

/// Runs a command, shows the part of its output worth showing, and adds up what it says.
fn read(command: &mut Command, mut reading: impl Reading, tally: &mut Tally) -> Result<bool> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("the tests could not be started")?;
    let (sender, lines) = mpsc::channel();
    let pipes: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for pipe in pipes.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
    }
    drop(sender);
    let mut told_at = Instant::now();
    for line in lines {
        if reading.line(&line) == Shown::Yes {
            println!("{line}");
        } else if told_at.elapsed() >= PROGRESS_EVERY {
            println!("    {} tests have run", reading.count().ran());
            told_at = Instant::now();
        }
    }
    let good = child.wait()?.success();
    let count = reading.count();
    for (name, why) in &count.skips {
        tally.add_skip(name, why);
    }
    // A runner that fails without a failed test to show for it did not run them all.
    let failed = if !good && count.failed == 0 { 1 } else { count.failed };
    tally.add(count.passed, failed);
    println!("    {} passed, {failed} failed, {} skipped", count.passed, count.skips.len());
    Ok(failed == 0)
}
