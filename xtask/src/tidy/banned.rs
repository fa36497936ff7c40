//! Words that may not stand in code: what would make the sans-IO crates read a clock, a socket, a
//! disk, chance or a hash order, and what no file of ours may contain.
//!
//! Comments, literals, tests and generated code are not judged, but `#[ignore]` and
//! `#[should_panic]` are looked for in tests, where they would stand.

use super::source::{Source, is_word, words};
use super::{Finding, Tree};

/// A word and the reason it is banned.
type Ban = (&'static str, &'static str);

const CLOCK: &str = "time is an argument here: take `now`";
const OUTSIDE: &str = "this crate does no I/O and starts no thread: return an output instead";
const CHANCE: &str = "chance is an argument here: take a seed or the bytes";
const ORDER: &str = "its order differs from run to run: use BTreeMap or BTreeSet";
const TALK: &str = "a library does not print: return an output or a typed error";

/// For wire, core and the client without its driver.
const SANS_IO: &[Ban] = &[
    ("Instant::now", CLOCK),
    ("SystemTime", CLOCK),
    ("std::time::Instant", CLOCK),
    ("std::net", OUTSIDE),
    ("std::fs", OUTSIDE),
    ("std::thread", OUTSIDE),
    ("std::process", OUTSIDE),
    ("std::env", OUTSIDE),
    ("tokio", OUTSIDE),
    ("async fn", "this crate is synchronous: one input, then drain the outputs"),
    ("async move", "this crate is synchronous: one input, then drain the outputs"),
    ("HashMap", ORDER),
    ("HashSet", ORDER),
    ("RandomState", ORDER),
    ("rand::", CHANCE),
    ("getrandom", CHANCE),
    ("println!", TALK),
    ("eprintln!", TALK),
    ("print!", TALK),
    ("eprint!", TALK),
];

/// For wire and core, where a panic could be reached by what a peer sends.
const UNCHECKED: &[Ban] = &[(
    ".unwrap()",
    "say what must hold with a match or a typed error: a peer may reach this line",
)];

/// For every file of ours.
const EVERYWHERE: &[Ban] = &[
    ("dbg!", "a leftover of a debugging session"),
    ("todo!", "unfinished code does not land"),
    ("unimplemented!", "unfinished code does not land"),
    ("static mut", "shared mutable state has no owner"),
];

/// For every file, tests above all.
const IN_TESTS: &[Ban] = &[
    ("#[ignore", "an ignored test holds nothing: make it run or remove it"),
    ("#[should_panic", "assert on the value or the message instead: any panic would pass"),
];

/// Findings on every Rust file.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_generated()) {
        find(source, IN_TESTS, true, &mut findings);
        find(source, EVERYWHERE, false, &mut findings);
        if is_sans_io(&source.path) {
            find(source, SANS_IO, false, &mut findings);
            find_imports(source, &mut findings);
        }
        if is_inner(&source.path) {
            find(source, UNCHECKED, false, &mut findings);
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

fn is_inner(path: &str) -> bool {
    ["crates/wire/src/", "crates/core/src/", "crates/directory/src/"]
        .iter()
        .any(|room| path.starts_with(room))
}

fn is_sans_io(path: &str) -> bool {
    let is_driver = path.starts_with("crates/client/src/driver");
    is_inner(path) || (path.starts_with("crates/client/src/") && !is_driver)
}

fn find(source: &Source, bans: &[Ban], also_tests: bool, findings: &mut Vec<Finding>) {
    for (word, reason) in bans {
        for offset in source.words(word) {
            let line = source.line(offset);
            if also_tests || !source.is_test_line(line) {
                findings.push(Finding::new(&source.path, line, format!("`{word}`: {reason}")));
            }
        }
    }
}

/// Grouped imports (`use std::{fs, net::TcpStream}`) name a banned path without spelling it.
fn find_imports(source: &Source, findings: &mut Vec<Finding>) {
    for offset in source.words("use") {
        let line = source.line(offset);
        let statement = &source.code[offset + 3..];
        let statement = &statement[..statement.find(';').unwrap_or(statement.len())];
        if source.is_test_line(line) || !statement.contains('{') {
            continue;
        }
        for path in expand(statement) {
            let banned = SANS_IO
                .iter()
                .find(|(word, _)| word.contains("std::") && words(&path, word).next().is_some());
            if let Some((word, reason)) = banned {
                findings.push(Finding::new(&source.path, line, format!("`{word}`: {reason}")));
            }
        }
    }
}

/// `a::{b, c::{d}}` gives `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let compact: String = tree.chars().filter(|c| is_word(*c) || "{},:*".contains(*c)).collect();
    let mut paths = Vec::new();
    let mut prefixes = vec![String::new()];
    let mut part = String::new();
    for c in compact.chars().chain([',']) {
        let prefix = prefixes.last().cloned().unwrap_or_default();
        match c {
            '{' => prefixes.push(prefix + &std::mem::take(&mut part)),
            ',' | '}' => {
                if !part.is_empty() {
                    paths.push(prefix + &std::mem::take(&mut part));
                }
                if c == '}' && prefixes.len() > 1 {
                    prefixes.pop();
                }
            }
            other => part.push(other),
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        told(check(&Tree::of(&[(path, text)])))
    }

    #[test]
    fn a_planted_clock_in_core_is_found() {
        let found =
            findings("crates/core/src/hub.rs", "//! Hub.\nfn a() { let t = Instant::now(); }\n");
        assert_eq!(
            found,
            ["crates/core/src/hub.rs:2: `Instant::now`: time is an argument here: take `now`"]
        );
    }

    #[test]
    fn every_ban_of_the_sans_io_crates_is_found() {
        for (word, _) in SANS_IO.iter().chain(EVERYWHERE).chain(UNCHECKED) {
            for path in ["crates/core/src/a.rs", "crates/wire/src/a.rs"] {
                let text = format!(
                    "fn a() {{ x{} }}\n",
                    if word.starts_with('.') { word.to_string() } else { format!("; {word} ") }
                );
                assert!(!findings(path, &text).is_empty(), "{word} in {path}");
            }
        }
    }

    #[test]
    fn grouped_imports_do_not_hide_a_ban() {
        for import in ["use std::{fmt, net::TcpStream};", "use std::time::{Duration, Instant};"] {
            assert_eq!(findings("crates/core/src/a.rs", import).len(), 1, "{import}");
        }
        assert!(findings("crates/core/src/a.rs", "use std::{fmt, time::Duration};").is_empty());
    }

    #[test]
    fn comments_literals_and_tests_are_free() {
        let text = "// Instant::now\nfn a() { b(\"tokio\"); }\n\
                    #[cfg(test)]\nmod tests {\n    fn c() { Some(1).unwrap(); println!(); }\n}\n";
        assert!(findings("crates/core/src/a.rs", text).is_empty());
        assert!(findings("crates/core/src/a/tests.rs", "fn a() { HashMap::new(); }").is_empty());
        assert!(findings("crates/wire/src/generated/a.rs", "fn a() { b.unwrap(); }").is_empty());
    }

    #[test]
    fn the_driver_of_the_client_may_do_what_the_client_may_not() {
        let text = "async fn a() { Instant::now(); }";
        assert!(findings("crates/client/src/driver.rs", text).is_empty());
        assert_eq!(findings("crates/client/src/backoff.rs", text).len(), 2);
    }

    #[test]
    fn ignored_and_panicking_tests_are_found() {
        let text = "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[should_panic(expected = \"x\")]\nfn b() {}\n";
        assert_eq!(findings("crates/sim/tests/a.rs", text).len(), 2);
    }
}
