//! How a file is named, how it opens, and whether anything leads to it.

use std::collections::BTreeSet;

use super::links::resolve;
use super::source::{Source, is_word};
use super::{Finding, Tree};

/// Names that say nothing about what is inside.
const VAGUE: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "misc", "manager", "managers", "types"];

/// Findings on names, headers and dead files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        check_name(source, &mut findings);
        if !source.is_generated() && !source.text.starts_with("//!") {
            let sentence =
                "a file opens with `//!`: what the room is, what it owns, what it never does";
            findings.push(Finding::new(&source.path, 1, sentence));
        }
    }
    check_dead(tree, &mut findings);
    findings
}

fn check_name(source: &Source, findings: &mut Vec<Finding>) {
    if source.path.ends_with("/mod.rs") {
        let sentence = "no `mod.rs`: name the file after its folder and put it beside";
        findings.push(Finding::new(&source.path, 1, sentence));
    }
    for part in source.path.trim_end_matches(".rs").split('/') {
        if VAGUE.contains(&part) {
            let sentence = format!("`{part}` says nothing: name the room after the noun it holds");
            findings.push(Finding::new(&source.path, 1, sentence));
        }
    }
}

/// A file in a `src` folder that no `mod` declaration reaches is compiled by nobody.
fn check_dead(tree: &Tree, findings: &mut Vec<Finding>) {
    let known: BTreeSet<&str> = tree.sources.iter().map(|source| source.path.as_str()).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<&Source> = tree.sources.iter().filter(|s| is_root(&s.path)).collect();
    while let Some(source) = open.pop() {
        if !reached.insert(source.path.clone()) {
            continue;
        }
        for path in children(source).into_iter().filter(|path| known.contains(path.as_str())) {
            open.extend(tree.sources.iter().find(|source| source.path == path));
        }
    }
    for path in known {
        if path.contains("/src/") && !reached.contains(path) {
            let sentence = "dead file: no `mod` declaration leads here";
            findings.push(Finding::new(path, 1, sentence));
        }
    }
}

fn is_root(path: &str) -> bool {
    let Some((_, inside)) = path.split_once("/src/") else {
        return false;
    };
    let is_bin = inside.strip_prefix("bin/").is_some_and(|name| {
        !name.contains('/') || (name.ends_with("/main.rs") && name.matches('/').count() == 1)
    });
    matches!(inside, "lib.rs" | "main.rs") || is_bin
}

/// Paths that the `mod` declarations and `include!`s of a file may name.
fn children(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let inner = match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ if is_root(&source.path) => folder.to_owned(),
        other => format!("{folder}/{}", other.trim_end_matches(".rs")),
    };
    let mut paths = Vec::new();
    let mut inline: Vec<(usize, String)> = Vec::new();
    for offset in source.words("mod") {
        inline.retain(|(end, _)| *end > offset);
        let rest = source.code[offset + 3..].trim_start();
        let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
        match source.body_or_end(offset) {
            Some((open, b'{')) => inline.push((source.close_of(open), name)),
            Some(_) if !name.is_empty() => {
                let nest: String = inline.iter().map(|(_, name)| format!("/{name}")).collect();
                paths.push(format!("{inner}{nest}/{name}.rs"));
                paths.push(format!("{inner}{nest}/{name}/mod.rs"));
            }
            _ => {}
        }
    }
    for (marker, skip) in [("include!(\"", 10), ("#[path = \"", 10)] {
        for (offset, _) in source.code.match_indices(marker) {
            let name = &source.text[offset + skip..];
            let name = &name[..name.find('"').unwrap_or(0)];
            paths.push(resolve(folder, name));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        told(check(&Tree::of(files)))
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert_eq!(findings(&[("crates/core/src/lib.rs", "pub struct A;\n")]).len(), 1);
        assert!(findings(&[("crates/core/src/lib.rs", "//! Rules.\n")]).is_empty());
    }

    #[test]
    fn vague_names_are_found_in_files_and_folders() {
        let root = ("crates/core/src/lib.rs", "//! A.\nmod util;\nmod zone;\n");
        assert_eq!(findings(&[root, ("crates/core/src/util.rs", "//! A.\n")]).len(), 1);
        let deep = ("crates/core/tests/common/a.rs", "//! A.\n");
        assert_eq!(findings(&[deep]).len(), 1);
    }

    #[test]
    fn mod_rs_is_found() {
        let root = ("crates/core/src/lib.rs", "//! A.\nmod zone;\n");
        assert_eq!(findings(&[root, ("crates/core/src/zone/mod.rs", "//! A.\n")]).len(), 1);
    }

    #[test]
    fn a_file_nobody_declares_is_dead() {
        let files = [
            ("crates/core/src/lib.rs", "//! A.\n// mod ghost;\npub mod zone;\n"),
            (
                "crates/core/src/zone.rs",
                "//! A.\n#[cfg(test)]\nmod tests;\nmod ring { mod slot; }\n",
            ),
            ("crates/core/src/zone/tests.rs", "//! A.\n"),
            ("crates/core/src/zone/ring/slot.rs", "//! A.\n"),
            ("crates/core/src/ghost.rs", "//! A.\n"),
        ];
        assert_eq!(
            findings(&files),
            ["crates/core/src/ghost.rs:1: dead file: no `mod` declaration leads here"]
        );
    }

    #[test]
    fn included_and_redirected_files_are_alive() {
        let files = [
            ("crates/wire/src/lib.rs", "//! A.\n#[path = \"odd/place.rs\"]\nmod p;\nmod frame;\n"),
            ("crates/wire/src/odd/place.rs", "//! A.\n"),
            ("crates/wire/src/frame.rs", "//! A.\ninclude!(\"generated/rejoin.v1.rs\");\n"),
            ("crates/wire/src/generated/rejoin.v1.rs", "struct A;\n"),
        ];
        assert!(findings(&files).is_empty(), "{:?}", findings(&files));
    }

    #[test]
    fn binaries_are_roots() {
        assert!(is_root("crates/sim/src/bin/rejoin-sim.rs"));
        assert!(is_root("crates/sim/src/bin/replay/main.rs"));
        assert!(!is_root("crates/sim/src/bin/replay/script.rs"));
    }
}
