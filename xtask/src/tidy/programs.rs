//! Outside programs that the tree starts by name: each is listed here with where it comes from, so that
//! a test cannot need one that a fresh machine lacks and `cargo xtask test` does not install.
//!
//! Only names written as a literal are seen; a program by its path is one that we built or fetched.

use super::source::is_word;
use super::{Finding, Tree};

/// A program and where it comes from.
const PROGRAMS: &[(&str, &str)] = &[
    ("apt-get", "Debian itself; elsewhere nothing is installed"),
    ("cc", "Rust needs a linker"),
    ("curl", "installed by `cargo xtask test`"),
    ("date", "coreutils"),
    ("git", "the clone was made with it"),
    ("mount", "Debian's minimal system; the test that mounts is skipped without it"),
    ("node", "fetched by `cargo xtask test`"),
    ("prlimit", "util-linux"),
    ("python2.7", "not among Debian's packages any more; its test is skipped without it"),
    ("python3", "installed by `cargo xtask test`"),
    ("sh", "every system"),
    ("umount", "beside mount"),
    ("valgrind", "only `cargo xtask measure`, which says so"),
];

/// Findings on every Rust file, tests among them.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_generated()) {
        for offset in source.words("Command::new") {
            let Some(program) = literal_argument(&source.text[offset..]) else { continue };
            if PROGRAMS.iter().all(|(known, _)| *known != program) {
                let sentence = format!(
                    "`{program}` may be missing on a fresh machine: do without it, or install it \
                     in `cargo xtask test` and list it in xtask/src/tidy/programs.rs"
                );
                findings.push(Finding::new(&source.path, source.line(offset), sentence));
            }
        }
    }
    findings
}

/// `Command::new("name")`: the name.
fn literal_argument(call: &str) -> Option<&str> {
    let call = call.trim_start_matches(|c: char| is_word(c) || c == ':');
    call.strip_prefix('(')?.trim_start().strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        told(check(&Tree::of(&[("crates/a/tests/b.rs", text)])))
    }

    #[test]
    fn a_program_that_nothing_installs_is_found_in_tests() {
        let found = findings("fn a() {\n    std::process::Command::new(\"kill\").status();\n}\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/tests/b.rs:2: `kill` may be missing"), "{found:?}");
    }

    #[test]
    fn known_programs_and_our_own_are_free() {
        let text = "fn a() { Command::new(\"sh\"); Command::new(\n    \"cc\"); Command::new(path); \
                    Command::new(env!(\"CARGO_BIN_EXE_rejoin\")); }\n// Command::new(\"kill\")\n";
        assert_eq!(findings(text), Vec::<String>::new());
    }
}
