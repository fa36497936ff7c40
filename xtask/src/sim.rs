//! Runs the simulator's own binary. Its options belong to the simulator and are handed on unread,
//! so that they are written down in one place.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::stage::cargo;
use crate::tidy::root;

/// What the simulator is told.
#[derive(clap::Args)]
pub struct Arguments {
    /// Options of the simulator, such as --seeds 200, --directory, --from 7, --replay 42.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// `cargo xtask sim`: ends as the simulator ends.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !exists() {
        bail!("there is no simulator in crates/sim yet");
    }
    let status = command(&arguments.options).status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// True when the tree has a simulator to run.
pub fn exists() -> bool {
    root().join("crates/sim/Cargo.toml").exists()
}

/// Builds the simulator where needed and runs it, in the profile all tests use.
pub fn command(options: &[String]) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "rejoin-sim", "--bin", "rejoin-sim", "--"]);
    command.args(options);
    command
}
