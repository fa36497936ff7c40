//! Builds and runs the bench and the soak. Their options belong to them and are handed on unread.
//!
//! A whole bench and a soak write their figures and pictures into docs/bench; a whole bench also
//! writes its table into docs/PERFORMANCE.md.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::stage::{cargo, cargo_succeeds};
use crate::tidy::root;

const FOLDER: &str = "docs/bench";
const START: &str = "<!-- bench: begin -->";
const END: &str = "<!-- bench: end -->";

/// As the page sees it.
const PICTURE: &str = "\n![Ours by bare server, with the targets](bench/ratios.svg)\n";

const DURABLE: &str = "--durable";
/// Writes seats.md and seats.json beside the others.
const SEATS: &str = "--seats";
const FLOOD: &str = "--flood";
const CROWD: &str = "--crowd";
const SHIPPED: &str = "--shipped";
const DURABLE_START: &str = "<!-- durable: begin -->";
const DURABLE_END: &str = "<!-- durable: end -->";
const DURABLE_PICTURE: &str = "\n![Figures by their targets](bench/durable.svg)\n";

/// What bench and soak are told.
#[derive(clap::Args)]
pub struct Arguments {
    /// Options that are handed on, such as --quick, --only echo, --runs 5; of the bench, --durable
    /// measures what a folder costs instead, --seats the directory, --flood what honest players
    /// notice of a flooder, --crowd ten thousand connections, over TLS and in a storm, and
    /// --shipped the program with the settings it ships with: attacks, returns or ladder.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// `cargo xtask bench`: ends as the bench ends.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if has(arguments, SHIPPED) {
        return shipped(arguments);
    }
    let is_whole = !has(arguments, "--quick") && !has(arguments, "--only");
    let folder = root().join(FOLDER);
    let is_durable = has(arguments, DURABLE);
    let mut options = arguments.options.clone();
    options.retain(|option| ![DURABLE, SEATS, FLOOD, CROWD].contains(&option.as_str()));
    if is_whole && !has(arguments, "--out") && !has(arguments, "--help") {
        options.extend(["--out".to_owned(), folder.display().to_string()]);
    }
    if has(arguments, SEATS) {
        return Ok(ExitCode::from(start("seats", has(arguments, "--quick"), &options)?));
    }
    if has(arguments, FLOOD) {
        return Ok(ExitCode::from(start("flood", false, &options)?));
    }
    if has(arguments, CROWD) {
        return Ok(ExitCode::from(start("crowd", false, &options)?));
    }
    let chore = if is_durable { "durable" } else { "run" };
    let code = start(chore, has(arguments, "--quick"), &options)?;
    if is_whole && code == 0 && !has(arguments, "--out") && !has(arguments, "--help") {
        let (name, start, end, picture) = if is_durable {
            ("durable.md", DURABLE_START, DURABLE_END, DURABLE_PICTURE)
        } else {
            ("results.md", START, END, PICTURE)
        };
        let table = std::fs::read_to_string(folder.join(name))
            .with_context(|| format!("{FOLDER}/{name} cannot be read"))?;
        crate::measure::write_page(start, end, &format!("{table}{picture}"))?;
    }
    Ok(ExitCode::from(code))
}

/// Builds the program that people start.
fn build_program() -> Result<bool> {
    cargo_succeeds(&["build", "--release", "--package", "rejoin", "--bin", "rejoin"])
}

/// `cargo xtask bench --shipped CASE`.
fn shipped(arguments: &Arguments) -> Result<ExitCode> {
    if !build_program()? {
        return Ok(ExitCode::FAILURE);
    }
    let mut options = arguments.options.clone();
    options.retain(|option| option != SHIPPED);
    Ok(ExitCode::from(start("shipped", false, &options)?))
}

/// `cargo xtask soak`: ends as the soak ends.
pub fn soak(arguments: &Arguments) -> Result<ExitCode> {
    if !build_program()? {
        return Ok(ExitCode::FAILURE);
    }
    let mut options = arguments.options.clone();
    if !has(arguments, "--out") && !has(arguments, "--help") {
        options.extend(["--out".to_owned(), root().join(FOLDER).display().to_string()]);
    }
    Ok(ExitCode::from(start("soak", false, &options)?))
}

fn has(arguments: &Arguments, name: &str) -> bool {
    arguments.options.iter().any(|option| option == name || option.starts_with(&format!("{name}=")))
}

fn start(chore: &str, is_dev: bool, options: &[String]) -> Result<u8> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "rejoin-bench", "--bin", "rejoin-bench"]);
    if !is_dev {
        command.arg("--release");
    }
    let status = command.args(["--", chore]).args(options).status();
    let status = status.context("cargo could not be started")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
