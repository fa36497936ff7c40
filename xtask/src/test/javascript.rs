//! The JavaScript SDK: its types are checked, and its tests, those of the arena's page and those of the
//! examples run against the binary that stands beside this one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::node::Node;
use super::runner::run_tap;
use super::tally::Tally;
use crate::{packages, tidy};

const NAME: &str = "javascript";
/// A browser for the pages, where it is looked for, and Debian's package: some 200 MB.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const BROWSER: &str = "chromium";
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
pub fn run(node: &Result<Node, String>, tally: &mut Tally) -> Result<bool> {
    let folder = tidy::root().join("sdk/js");
    let node = match node.as_ref().map_err(String::as_str) {
        Ok(node) => node,
        Err(why) => {
            tally.add_skip(NAME, why);
            return Ok(true);
        }
    };
    if !install(node, &folder) {
        tally.add_skip(NAME, "npm does not give the development packages of sdk/js");
        return Ok(true);
    }
    install_engines();
    let is_typed = succeeds(node.command("npm").args(["run", "--silent", "check"]), &folder);
    tally.add_stage(is_typed);
    let mut tests = node.command("node");
    tests.args(["--test", "--test-reporter=tap"]).current_dir(&folder);
    let mut knows = node.command("node");
    if succeeds(knows.args([AT_A_TIME, "--version"]).stdout(Stdio::null()), &folder) {
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

/// The programs that tests drive. Where one cannot be had, the tests that need it say so, by name.
fn install_engines() {
    let has_browser = std::env::var_os("CHROMIUM_BIN").is_some()
        || BROWSERS.iter().any(|place| Path::new(place).exists());
    let browser = (!has_browser).then_some((BROWSER, &[BROWSER][..]));
    let missing = ENGINES.into_iter().filter(|(program, _)| !packages::is_installed(program));
    for (program, packages) in missing.chain(browser) {
        println!("    {program} is missing; asking apt-get for it");
        packages::install(packages);
    }
}

/// The development packages of the lock file, unless they are there.
fn install(node: &Node, folder: &Path) -> bool {
    let changed = |name: &str| folder.join(name).metadata().and_then(|file| file.modified()).ok();
    let (locked, installed) =
        (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
    let is_current = installed.is_some() && installed >= locked;
    is_current || succeeds(node.command("npm").args(["ci", "--silent"]), folder)
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
