//! What Rejoin costs beside a bare server on the same sockets, and whether it keeps its promises for
//! as long as one likes to watch. `cargo xtask bench` and `cargo xtask soak` start it.

mod bench;
mod case;
mod crowd;
mod durable;
mod flooder;
mod load;
mod machine;
mod report;
mod seats;
mod serve;
mod shipped;
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures and soaks Rejoin.
#[derive(Parser)]
#[command(name = "rejoin-bench")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measures both servers and compares them with the targets.
    Run(bench::Arguments),
    /// Measures what keeping everything costs, beside the same in memory.
    Durable(durable::Arguments),
    /// Measures seats of the directory, each durable before it is answered.
    Seats(seats::Arguments),
    /// Measures what a flooder costs the honest players beside it.
    Flood(flooder::Arguments),
    /// Measures ten thousand connections: in the open, over TLS, and all returning at once.
    Crowd(crowd::Arguments),
    /// Measures the program that people start, with the settings that it ships with.
    Shipped(shipped::Arguments),
    /// Plays many clients over links that are cut, and counts what goes wrong.
    Soak(soak::Arguments),
    /// Serves until the standard input ends; for the other chores.
    #[command(hide = true)]
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Run(arguments) => bench::run(&arguments),
        Chore::Durable(arguments) => durable::run(&arguments),
        Chore::Seats(arguments) => seats::run(&arguments),
        Chore::Flood(arguments) => flooder::run(&arguments),
        Chore::Crowd(arguments) => crowd::run(&arguments),
        Chore::Shipped(arguments) => shipped::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::Serve(arguments) => serve::run(&arguments).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rejoin-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
