//! The binary `rejoin`: reads the command line and does what it says. A failure is one clear
//! sentence and exit code 1.

mod command;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use self::command::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody may listen any more; the exit code says it, too.
            let _ = writeln!(std::io::stderr(), "rejoin: {failure}");
            ExitCode::FAILURE
        }
    }
}
