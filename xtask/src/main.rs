//! The chores of the workspace as one program: `cargo xtask <chore>`.
//!
//! Here is only the command line; each chore lives in a file of its own name. Nothing in the
//! product depends on this package.

mod bench;
mod chaos;
mod doc;
mod fuzz;
mod measure;
mod package;
mod packages;
mod proto;
mod schemathesis;
mod sim;
mod stage;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The chores of the Rejoin workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must hold before a commit: format, lints, tests, simulator, tidy.
    ///
    /// Prints the time of each stage and ends with one line, `N passed, N failed[, N skipped]`.
    Test(test::Arguments),
    /// What the gate runs; the same as `test`.
    Ci(test::Arguments),
    /// Reads the tree and tells what breaks a rule of the house, by file and line.
    Tidy,
    /// Builds the simulator and plays games against faults.
    ///
    /// All that follows is handed on: --seeds N, --directory, --from SEED, --replay SEED.
    /// `cargo xtask sim -- --help` prints the simulator's own help.
    Sim(sim::Arguments),
    /// Kills the real server while real clients talk, and compares what each of them heard.
    ///
    /// All that follows is handed on: --clients N, --kills K, --seed S, --json.
    Chaos(chaos::Arguments),
    /// Measures memory and instructions of the core and writes the table of docs/PERFORMANCE.md.
    ///
    /// Instructions and exact bytes are counted by valgrind; without it those rows are left as
    /// they are. Takes a few minutes and is no test: nothing fails for a number.
    Measure,
    /// Measures the server against a bare one on the same sockets, and writes docs/bench.
    ///
    /// All that follows is handed on: --quick, --only CASE, --runs N. A whole one takes ten minutes
    /// and wants a quiet machine with two cores.
    Bench(bench::Arguments),
    /// Plays many clients behind a relay that cuts their links in every way, and counts what is
    /// lost, doubled or out of order.
    ///
    /// All that follows is handed on: --clients 2000, --minutes 10, --seed S, --json.
    Soak(bench::Arguments),
    /// Asks the real server what its description of `/v1` allows, and much that it does not.
    ///
    /// Fetches schemathesis from PyPI into the target folder.
    Schemathesis(schemathesis::Arguments),
    /// Packs every published crate, builds each from its package, and runs the embedding example in an
    /// empty project that has only those. Takes some minutes.
    Package,
    /// Fuzzes every reader of what others wrote, for a minute each, with cargo-fuzz.
    Fuzz(fuzz::Arguments),
    /// Writes the documentation of all crates; a warning is a failure.
    Doc,
    /// Writes the Rust that crates/wire generates from proto/rejoin.proto.
    Proto {
        /// Write nothing; fail when the committed files are not what the contract gives.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Test(arguments) | Chore::Ci(arguments) => test::run(&arguments),
        Chore::Tidy => told(tidy::run()),
        Chore::Sim(arguments) => sim::run(&arguments),
        Chore::Chaos(arguments) => chaos::run(&arguments),
        Chore::Measure => told(measure::run()),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Soak(arguments) => bench::soak(&arguments),
        Chore::Schemathesis(arguments) => schemathesis::run(&arguments),
        Chore::Package => told(package::run()),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Doc => told(doc::run()),
        Chore::Proto { check } => told(proto::generate(check)),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn told(result: Result<()>) -> Result<ExitCode> {
    result.map(|()| ExitCode::SUCCESS)
}
