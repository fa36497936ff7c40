//! Fuzzes every reader of what others wrote, each for a while. Seeds are in the tree and replay as plain
//! tests; what a run finds new stays in the target folder, and what breaks a promise is told and kept.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::stage::cargo_succeeds;
use crate::tidy::root;

/// The one that this was written with.
const VERSION: &str = "0.13.2";

/// How to run it.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long each target is fuzzed.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    seconds: u32,
    /// Only this target; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// `cargo xtask fuzz`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = root().join("fuzz");
    let all = targets(&folder)?;
    if let Some(unknown) = arguments.only.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown:?}; there are {}", all.join(", "));
    }
    let program = fuzzer()?;
    let mut broken = Vec::new();
    for target in all {
        if !arguments.only.is_empty() && !arguments.only.contains(&target) {
            continue;
        }
        println!("{target}: {} s", arguments.seconds);
        if !fuzz(&program, &folder, &target, arguments.seconds)? {
            broken.push(target);
        }
    }
    if broken.is_empty() {
        println!("no target found anything");
        return Ok(ExitCode::SUCCESS);
    }
    println!("a promise is broken in {}; what breaks it is in fuzz/artifacts", broken.join(", "));
    Ok(ExitCode::FAILURE)
}

/// The names of all targets.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.join("fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Where cargo-fuzz is, from crates.io if need be.
fn fuzzer() -> Result<PathBuf> {
    let tools = beside("tools")?;
    let program = tools.join("bin/cargo-fuzz");
    if !program.exists() {
        println!("asking crates.io for cargo-fuzz {VERSION}");
        let tools = tools.to_str().context("the target folder has no name in Unicode")?;
        let install = ["install", "cargo-fuzz", "--locked", "--version", VERSION, "--root", tools];
        if !cargo_succeeds(&install)? {
            bail!("cargo-fuzz {VERSION} could not be installed");
        }
    }
    Ok(program)
}

/// A folder beside this program, which is in the target folder.
fn beside(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()
        .context("this program does not know where it is")?
        .with_file_name(name))
}

/// False when it found something.
fn fuzz(program: &Path, folder: &Path, target: &str, seconds: u32) -> Result<bool> {
    let finds = beside("fuzz-corpus")?.join(target);
    std::fs::create_dir_all(&finds)?;
    let mut command = Command::new(program);
    // Without a sanitizer: our crates have no unsafe code, and so any compiler will do.
    command.args(["fuzz", "run", "--sanitizer", "none", target]).arg(&finds);
    command.arg(folder.join("corpus").join(target));
    command.args([
        "--",
        &format!("-max_total_time={seconds}"),
        "-timeout=10",
        "-rss_limit_mb=1024",
    ]);
    command.args(["-print_final_stats=1", "-verbosity=1"]);
    Ok(command.current_dir(root()).status().context("cargo-fuzz could not be started")?.success())
}
