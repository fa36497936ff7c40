//! The rules of the house that a machine can hold: reads the tree and tells, by file and line, what
//! breaks one.
//!
//! Each check is a function from a [`Tree`] to findings and knows nothing of disks; it runs on the
//! real tree in `cargo xtask tidy` and in the test at the end of this file, and on made-up trees in
//! its own tests.

mod banned;
mod defaults;
mod edges;
mod links;
mod manifest;
mod programs;
mod promises;
mod protocol;
mod rooms;
mod sizes;
mod source;
mod tree;
mod walks;

use std::fmt;

use anyhow::{Result, bail};

pub use tree::{Tree, root};

/// One rule broken in one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    sentence: String,
}

impl Finding {
    /// A finding on a line (from 1).
    pub fn new(path: &str, line: usize, sentence: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, sentence: sentence.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: &[(&str, Check)] = &[
    ("edges between crates, packages from outside", edges::check),
    ("banned words", banned::check),
    ("outside programs", programs::check),
    ("sizes of files and functions", sizes::check),
    ("names, headers, dead files", rooms::check),
    ("documented defaults", defaults::check),
    ("PROTOCOL.md and the proto", protocol::check),
    ("promises and what holds them", promises::check),
    ("walks and words of ARCHITECTURE.md", walks::check),
    ("release profile", manifest::check_profile),
    ("pages", manifest::check_pages),
    ("links between pages", links::check),
    ("machine paths and registries", manifest::check_machine),
];

/// `cargo xtask tidy`: prints every check and every finding; an error when there is one.
pub fn run() -> Result<()> {
    let tree = Tree::load(&root())?;
    let mut total = 0;
    for (name, check) in CHECKS {
        let findings = check(&tree);
        println!("{:<45} {}", name, if findings.is_empty() { "ok" } else { "BROKEN" });
        total += findings.len();
        tell(findings);
    }
    match manifest::library_tree(&root())? {
        Some(library) => {
            let weight = manifest::count_outside(&library);
            println!("{:<45} {weight}", "dependencies without default features");
            let findings = manifest::check_library(&library);
            total += findings.len();
            tell(findings);
        }
        None => println!("{:<45} no library yet", "dependencies without default features"),
    }
    if total > 0 {
        bail!("tidy: {total} findings");
    }
    println!("tidy: {} files, nothing to tell", tree.files.len());
    Ok(())
}

fn tell(mut findings: Vec<Finding>) {
    findings.sort();
    for finding in findings {
        println!("  {finding}");
    }
}

/// The lines of a page with their numbers (from 1); fenced code is left out, it only shows how.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// Inline code of a page with its line.
fn code_spans(page: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(page)
        .flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |span| (line, span)))
}

/// Findings as a person reads them, sorted.
#[cfg(test)]
fn told(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_is_tidy() {
        let tree = Tree::load(&root()).expect("the tree can be read");
        let mut findings: Vec<Finding> =
            CHECKS.iter().flat_map(|(_, check)| check(&tree)).collect();
        let library = manifest::library_tree(&root()).expect("cargo tree runs");
        findings.extend(library.iter().flat_map(|library| manifest::check_library(library)));
        let told = told(findings);
        assert!(told.is_empty(), "{} findings\n{}", told.len(), told.join("\n"));
    }

    #[test]
    fn the_real_tree_is_read_whole() {
        let tree = Tree::load(&root()).expect("the tree can be read");
        assert!(tree.text("Cargo.toml").is_some());
        assert!(tree.sources.iter().any(|source| source.path == "xtask/src/tidy.rs"));
        assert!(tree.files.keys().all(|path| !path.starts_with("target/")));
    }

    #[test]
    fn code_spans_are_inline_code_only() {
        let page = "a `b` c `d e`\n```\n`not`\n```\n`f`\n";
        let spans: Vec<_> = code_spans(page).collect();
        assert_eq!(spans, [(1, "b"), (1, "d e"), (5, "f")]);
    }
}
