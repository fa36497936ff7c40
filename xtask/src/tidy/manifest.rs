//! The workspace as a whole: the release profile, the weight of the library, the pages every
//! newcomer looks for, and nothing that names the machine it was written on.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use toml::{Table, Value};

use super::{Finding, Tree};

/// What the library without default features must stay under.
const DEPENDENCIES_LIMIT: usize = 20;
/// All of ours that it may be made of.
const LIBRARY_OURS: [&str; 3] = ["rejoin", "rejoin-core", "rejoin-wire"];
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Written in halves, so that this file passes its own check.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wor", "k/"), concat!("/roo", "t/"), concat!("/tmp/tar", "get")];
const PAGES: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "GUARANTEES.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// A panic in a callback costs its zone a restart; with `abort` it would cost the process its life.
pub fn check_profile(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text("Cargo.toml") else {
        return Vec::new();
    };
    let manifest: Table = text.parse().unwrap_or_default();
    let release = manifest.get("profile").and_then(|profile| profile.get("release"));
    let panic = release.and_then(|release| release.get("panic")).and_then(Value::as_str);
    if panic == Some("unwind") {
        return Vec::new();
    }
    let line = text.lines().position(|line| line.starts_with("[profile.release]"));
    let sentence = "[profile.release] must say panic = \"unwind\": a panicking callback costs a zone, not the process";
    vec![Finding::new("Cargo.toml", line.map_or(1, |index| index + 1), sentence)]
}

/// The pages that must be there.
pub fn check_pages(tree: &Tree) -> Vec<Finding> {
    let absent = PAGES.into_iter().filter(|page| tree.text(page).is_none());
    absent.map(|page| Finding::new(page, 1, "this page is missing")).collect()
}

/// No path of a machine, no registry but the public one.
pub fn check_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        for (index, line) in text.lines().enumerate() {
            if let Some(found) = MACHINE_PATHS.iter().find(|needle| line.contains(**needle)) {
                let sentence = format!("`{found}` is a path of one machine");
                findings.push(Finding::new(path, index + 1, sentence));
            }
            if let Some(sentence) = foreign_registry(path, line.trim()) {
                findings.push(Finding::new(path, index + 1, sentence));
            }
        }
    }
    findings
}

fn foreign_registry(path: &str, line: &str) -> Option<&'static str> {
    let is_lock = path.ends_with("Cargo.lock");
    if is_lock && line.starts_with("source = ") && !line.contains(REGISTRY) {
        return Some("a dependency comes from elsewhere than the public registry");
    }
    let is_config = path.ends_with("Cargo.toml") || path.contains(".cargo/config");
    let names_one = ["[source.", "[registries", "[registry", "replace-with", "registry-index"];
    let sentence = "a registry is the business of a machine, not of this tree";
    (is_config && names_one.iter().any(|start| line.starts_with(start))).then_some(sentence)
}

/// The packages that the library has without default features; `None` before it exists.
pub fn library_tree(root: &Path) -> Result<Option<String>> {
    if !root.join("crates/rejoin/Cargo.toml").exists() {
        return Ok(None);
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut complaint = String::new();
    for extra in [&["--offline"][..], &[]] {
        let mut command = Command::new(&cargo);
        command.current_dir(root).args(["tree", "-p", "rejoin", "--no-default-features"]);
        let output = command.args(["-e", "normal", "--prefix", "none"]).args(extra).output()?;
        if output.status.success() {
            return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    bail!("cargo tree failed: {complaint}")
}

/// The findings for a library that got too heavy, or has more of ours in it than the rules.
pub fn check_library(tree: &str) -> Vec<Finding> {
    let (weight, ours) = (count_outside(tree), ours(tree));
    let sentence = format!(
        "without default features the library is made of {ours:?} and not of {LIBRARY_OURS:?}"
    );
    let other = ours.into_iter().ne(LIBRARY_OURS.map(str::to_owned));
    let other = other.then(|| Finding::new("crates/rejoin/Cargo.toml", 1, sentence));
    check_weight(weight).into_iter().chain(other).collect()
}

fn check_weight(weight: usize) -> Option<Finding> {
    let sentence = format!(
        "without default features the library has {weight} dependencies, fewer than {DEPENDENCIES_LIMIT} are allowed"
    );
    (weight >= DEPENDENCIES_LIMIT).then(|| Finding::new("crates/rejoin/Cargo.toml", 1, sentence))
}

fn ours(tree: &str) -> BTreeSet<String> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| is_ours(name)).map(str::to_owned).collect()
}

fn is_ours(name: &str) -> bool {
    name == "rejoin" || name.starts_with("rejoin-")
}

/// How many outside packages there are.
pub fn count_outside(tree: &str) -> usize {
    let names = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    names.filter(|(name, _)| !is_ours(name)).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    #[test]
    fn release_must_unwind() {
        for text in
            ["[workspace]\n", "[profile.release]\npanic = \"abort\"\n", "[profile.release]\n"]
        {
            assert_eq!(check_profile(&Tree::of(&[("Cargo.toml", text)])).len(), 1, "{text}");
        }
        let good = "[profile.release]\nlto = \"thin\"\npanic = \"unwind\"\n";
        assert!(check_profile(&Tree::of(&[("Cargo.toml", good)])).is_empty());
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(check_pages(&Tree::of(&[("README.md", "# A\n")])).len(), PAGES.len() - 1);
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        let text = format!("see\n{}main\n", MACHINE_PATHS[0]);
        let found = told(check_machine(&Tree::of(&[("docs/A.md", &text)])));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/A.md:2: "));
    }

    #[test]
    fn a_foreign_registry_is_found() {
        let public = format!("source = \"{REGISTRY}\"\n");
        assert!(check_machine(&Tree::of(&[("Cargo.lock", &public)])).is_empty());
        let foreign = "source = \"registry+https://elsewhere.invalid/index\"\n";
        assert_eq!(check_machine(&Tree::of(&[("Cargo.lock", foreign)])).len(), 1);
        let config = "[source.crates-io]\nreplace-with = \"x\"\n";
        assert_eq!(check_machine(&Tree::of(&[(".cargo/config.toml", config)])).len(), 2);
    }

    #[test]
    fn each_outside_package_counts_once() {
        let tree = "rejoin v0.1.0 (path)\nbytes v1.0.0\nrejoin-wire v0.1.0 (path)\nbytes v1.0.0 (*)\nprost v0.14.0\n";
        assert_eq!(count_outside(tree), 2);
        assert!(check_weight(DEPENDENCIES_LIMIT - 1).is_none());
        assert!(check_weight(DEPENDENCIES_LIMIT).is_some());
    }

    #[test]
    fn more_of_ours_than_the_rules_is_found() {
        let rules = "rejoin v0.1.0\nrejoin-core v0.1.0\nrejoin-wire v0.1.0\nbytes v1.0.0\n";
        assert!(check_library(rules).is_empty());
        let more = check_library(&format!("{rules}rejoin-server v0.1.0\n"));
        assert!(told(more)[0].contains("rejoin-server"));
    }
}
