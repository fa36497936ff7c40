//! How long a file and a function may get.
//!
//! Every codebase that let one file eat the others regrets it. The aim is 400 lines a file; the
//! ceiling here is where a split is due, no matter how good the reason.

use super::source::Source;
use super::{Finding, Tree};

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 900;
const FUNCTION_LINES_MAX: usize = 70;

/// Findings on every Rust file that a person wrote.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_generated()) {
        check_file(source, &mut findings);
        check_functions(source, &mut findings);
    }
    findings
}

fn check_file(source: &Source, findings: &mut Vec<Finding>) {
    let limit = if source.is_test_file() { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let lines = source.text.lines().count();
    if lines > limit {
        let sentence = format!("{lines} lines, {limit} are allowed: split it by nouns");
        findings.push(Finding::new(&source.path, lines, sentence));
    }
}

fn check_functions(source: &Source, findings: &mut Vec<Finding>) {
    for offset in source.words("fn") {
        let name = source.code[offset + 2..].trim_start();
        let name: String = name.chars().take_while(|c| super::source::is_word(*c)).collect();
        let line = source.line(offset);
        if name.is_empty() || source.is_test_line(line) {
            continue;
        }
        let Some((open, b'{')) = source.body_or_end(offset) else {
            continue;
        };
        let lines = source.line(source.close_of(open) - 1) - line + 1;
        if lines > FUNCTION_LINES_MAX {
            let sentence = format!("`{name}` has {lines} lines, {FUNCTION_LINES_MAX} are allowed");
            findings.push(Finding::new(&source.path, line, sentence));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        told(check(&Tree::of(&[(path, text)])))
    }

    fn function(lines: usize) -> String {
        format!("fn long(a: [u8; 2]) {{\n{}}}\n", "    a(\"{\");\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_may_have_seventy_lines_and_no_more() {
        assert!(findings("xtask/src/a.rs", &function(70)).is_empty());
        assert_eq!(
            findings("xtask/src/a.rs", &format!("\n{}", function(71))),
            ["xtask/src/a.rs:2: `long` has 71 lines, 70 are allowed"]
        );
    }

    #[test]
    fn a_test_function_may_be_longer() {
        assert!(findings("xtask/src/a.rs", &format!("#[test]\n{}", function(90))).is_empty());
        assert!(findings("xtask/src/a/tests.rs", &function(90)).is_empty());
    }

    #[test]
    fn declarations_without_a_body_have_no_size() {
        let text = format!("trait A {{ fn a(&self); }}\ntype F = fn(u8);\n{}", "\n".repeat(100));
        assert!(findings("xtask/src/a.rs", &text).is_empty());
    }

    #[test]
    fn files_have_a_ceiling_by_kind() {
        assert_eq!(findings("xtask/src/a.rs", &"\n".repeat(601)).len(), 1);
        assert!(findings("xtask/src/a.rs", &"\n".repeat(600)).is_empty());
        assert!(findings("xtask/src/a/tests.rs", &"\n".repeat(900)).is_empty());
        assert_eq!(findings("xtask/src/a/tests.rs", &"\n".repeat(901)).len(), 1);
        assert!(findings("crates/wire/src/generated/a.rs", &"\n".repeat(5000)).is_empty());
    }
}
