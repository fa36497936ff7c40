//! Builds the server and the program that kills it, and runs that. Its options are its own and handed
//! on unread, so that they are written down in one place.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::stage::cargo;

/// What `chaos` is told.
#[derive(clap::Args)]
pub struct Arguments {
    /// Options of `chaos`, such as --clients 200, --kills 50, --seed 1, --json.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// `cargo xtask chaos`: ends as `chaos` ends.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let build = ["build", "--quiet", "--package", "rejoin", "--package", "rejoin-chaos", "--bins"];
    if !cargo().args(build).status().context("cargo could not be started")?.success() {
        bail!("the server or chaos could not be built");
    }
    // Where this program was built, the others were.
    let here = std::env::current_exe().context("this program has no place")?;
    let here = here.parent().context("this program has no folder")?;
    let mut chaos = Command::new(here.join("chaos"));
    chaos.arg("--server").arg(here.join("rejoin")).args(&arguments.options);
    let status = chaos.status().context("chaos could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
