//! The JavaScript SDK: its types are checked, and its tests, those of the arena's page and those of the
//! examples run against the binary that stands beside this one. Where there is no Node, nothing of it can
//! run, and that is said.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::packages;
use super::runner::run_tap;
use super::tally::Tally;
use crate::tidy;

/// The oldest Node that the SDK runs on.
const NODE_MIN: u32 = 20;
const NAME: &str = "javascript";
/// Files of tests at a time: most of them wait for a browser or a hold. Early releases of Node 20 have
/// no such flag, and take one for each core but one.
const AT_A_TIME: &str = "--test-concurrency=3";
/// What runs the examples in other languages: some 30 MB. The first names show that they are there.
const ENGINES: [(&str, &[&str]); 2] = [
    ("godot3-server", &["godot3-server"]),
    (
        "mcs",
        &[
            "mono-runtime",
            "mono-mcs",
            "libmono-system-runtime-serialization4.0-cil",
            "libmono-system-xml-linq4.0-cil",
        ],
    ),
];

/// Counts every test of the SDK; the check of its types counts when it fails.
pub fn run(tally: &mut Tally) -> Result<bool> {
    let folder = tidy::root().join("sdk/js");
    if let Err(why) = require_node().and_then(|()| install(&folder)) {
        tally.add_skip(NAME, why);
        return Ok(true);
    }
    for (program, packages) in ENGINES {
        if !is_there(program) {
            // Where they cannot be had, the tests that need them say so, by name.
            println!("    {program} is missing; asking apt-get for it");
            packages::install(packages);
        }
    }
    let is_typed = succeeds(Command::new("npm").args(["run", "--silent", "check"]), &folder);
    tally.add_stage(is_typed);
    let mut tests = Command::new("node");
    tests.args(["--test", "--test-reporter=tap"]).current_dir(&folder);
    if succeeds(Command::new("node").args([AT_A_TIME, "--version"]).stdout(Stdio::null()), &folder)
    {
        tests.arg(AT_A_TIME);
    }
    tests.args(test_files(&folder.join("test"))?);
    tests.args(test_files(&tidy::root().join("tests/browser"))?);
    for example in std::fs::read_dir(tidy::root().join("examples"))? {
        let path = example?.path();
        if path.is_dir() {
            tests.args(test_files(&path)?);
        }
    }
    if let Some(binary) = beside("rejoin") {
        tests.env("REJOIN_BIN", binary);
    }
    Ok(run_tap(&mut tests, tally)? && is_typed)
}

/// Node and npm, from Debian's packages if need be and if we may.
fn require_node() -> Result<(), &'static str> {
    if has_node() {
        return Ok(());
    }
    println!("    node {NODE_MIN} or npm is missing; asking apt-get for them");
    if packages::install(&["nodejs", "npm"]) && has_node() {
        return Ok(());
    }
    Err("node 20 or newer and npm are not installed, and apt-get does not give them")
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn has_node() -> bool {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.trim().trim_start_matches('v').split('.').next()?.parse::<u32>().ok()
    };
    version("node").is_some_and(|major| major >= NODE_MIN) && version("npm").is_some()
}

/// The development packages of the lock file, unless they are there.
fn install(folder: &Path) -> Result<(), &'static str> {
    let changed = |name: &str| folder.join(name).metadata().and_then(|file| file.modified()).ok();
    let (locked, installed) =
        (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= locked {
        return Ok(());
    }
    match succeeds(Command::new("npm").args(["ci", "--silent"]), folder) {
        true => Ok(()),
        false => Err("npm could not install the development packages of sdk/js"),
    }
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        files.extend(path.to_string_lossy().ends_with(".test.js").then(|| path.clone()));
    }
    files.sort();
    Ok(files)
}

/// A program that cargo built into the same folder as this one.
fn beside(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(name);
    program.exists().then_some(program)
}

fn succeeds(command: &mut Command, folder: &Path) -> bool {
    command.current_dir(folder).status().is_ok_and(|status| status.success())
}
