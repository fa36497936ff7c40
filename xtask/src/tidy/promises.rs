//! What GUARANTEES.md and docs/LINEAGE.md name does exist.
//!
//! In backticks, `test:<fn>` names a test function anywhere in the tree (a path before it, as in
//! `test:ring::tests::wraps`, is for the reader), `checker:<name>` a checker of the simulator,
//! `mark:<name>` a coverage mark of the core. A promise is a heading, a list item or a table row that
//! starts with `G<number>`; each names at least one test or checker.

use std::collections::BTreeMap;

use super::source::words;
use super::{Finding, Tree, code_spans, prose};

const PROMISES: &str = "GUARANTEES.md";
const LINEAGE: &str = "docs/LINEAGE.md";

/// Findings on both pages; a page that is not there is not judged here.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in [PROMISES, LINEAGE] {
        let Some(text) = tree.text(path) else {
            continue;
        };
        for (line, span) in code_spans(text) {
            if let Some(sentence) = missing(tree, span) {
                findings.push(Finding::new(path, line, sentence));
            }
        }
    }
    if let Some(text) = tree.text(PROMISES) {
        check_promises(text, &mut findings);
    }
    findings
}

/// What is wrong with a reference; `None` for a sound one and for text that is no reference.
fn missing(tree: &Tree, span: &str) -> Option<String> {
    let (kind, path) = span.split_once(':')?;
    let name = path.rsplit("::").next().unwrap_or(path).trim();
    match kind {
        "test" => {
            let exists = tree
                .sources
                .iter()
                .any(|source| words(&source.code, &format!("fn {name}")).next().is_some());
            (!exists || name.is_empty()).then(|| format!("no test function is called `{name}`"))
        }
        "checker" => {
            let mut simulator =
                tree.sources.iter().filter(|s| s.path.starts_with("crates/sim/src/"));
            let exists = simulator.any(|source| source.literals.iter().any(|text| text == name));
            (!exists).then(|| format!("crates/sim/src has no checker called \"{name}\""))
        }
        "mark" => {
            let is_room = |path: &str| {
                path == "crates/core/src/mark.rs" || path == "crates/directory/src/mark.rs"
            };
            let mut marks = tree.sources.iter().filter(|source| is_room(&source.path));
            let exists = marks.any(|source| {
                let is_literal = source.literals.iter().any(|text| text == name);
                is_literal || words(&source.code, name).next().is_some()
            });
            (!exists).then(|| format!("no mark.rs has a mark called `{name}`"))
        }
        _ => None,
    }
}

fn check_promises(text: &str, findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    let mut open: Option<(u32, usize, bool)> = None;
    // A heading behind the end closes the last promise.
    for (at, line) in prose(text).chain([(0, "#")]) {
        let number = promise_number(line);
        if number.is_some() || line.starts_with('#') {
            findings.extend(open.take().and_then(unheld));
        }
        if let Some(number) = number {
            open = Some((number, at, false));
            if let Some(first) = seen.insert(number, at) {
                let sentence = format!("G{number} is already promised on line {first}");
                findings.push(Finding::new(PROMISES, at, sentence));
            }
        }
        if let Some((_, _, held)) = &mut open {
            *held |= line.contains("`test:") || line.contains("`checker:");
        }
        if line.starts_with('|') {
            findings.extend(open.take().and_then(unheld));
        }
    }
}

fn unheld((number, line, held): (u32, usize, bool)) -> Option<Finding> {
    let sentence = format!("G{number} names no `test:` and no `checker:` that holds it");
    (!held).then(|| Finding::new(PROMISES, line, sentence))
}

/// The number of the promise that starts on this line.
fn promise_number(line: &str) -> Option<u32> {
    if !line.starts_with(['#', '|', '-', '*']) {
        return None;
    }
    let text = line.trim_start_matches(['#', '|', '-', '*', ' ']).strip_prefix('G')?;
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_word_over = !text[digits..].starts_with(super::source::is_word);
    text[..digits].parse().ok().filter(|_| is_word_over)
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    const CODE: &[(&str, &str)] = &[
        (
            "crates/core/src/ring/tests.rs",
            "#[test]\nfn ring_wraps() {}\n// fn only_a_comment() {}\n",
        ),
        ("crates/core/src/mark.rs", "pub enum Mark { TakenOver }\nconst A: &str = \"rung.new\";\n"),
        ("crates/sim/src/checker.rs", "const NAME: &str = \"exactly-once\";\n"),
    ];

    fn findings(page: &str) -> Vec<String> {
        let mut files = CODE.to_vec();
        files.push((PROMISES, page));
        told(check(&Tree::of(&files)))
    }

    #[test]
    fn promises_that_are_held_pass() {
        let page = "# Promises\n## G1 Once\nHeld by `checker:exactly-once` and `mark:TakenOver`.\n\
                    - **G2** kept (`test:ring::tests::ring_wraps`, `mark:rung.new`)\n\n| G3 | x | `test:ring_wraps` |\n";
        assert!(findings(page).is_empty(), "{:?}", findings(page));
    }

    #[test]
    fn a_missing_test_is_found() {
        assert_eq!(
            findings("## G1 Once\n\n`test:ring_turns`, `test:only_a_comment`\n"),
            [
                "GUARANTEES.md:3: no test function is called `only_a_comment`",
                "GUARANTEES.md:3: no test function is called `ring_turns`",
            ]
        );
    }

    #[test]
    fn a_missing_checker_or_mark_is_found() {
        assert_eq!(findings("`checker:ghost` `mark:Ghost` `test:ring_wraps`\n").len(), 2);
    }

    #[test]
    fn a_promise_nobody_holds_is_found() {
        let page = "## G1 Once\nwords\n## G2 Kept\n`test:ring_wraps`\n| G3 | bare |\n| G4 | `checker:exactly-once` |\n";
        let found = findings(page);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":1: G1 names no") && found[1].contains(":5: G3 names no"));
    }

    #[test]
    fn a_number_promised_twice_is_found() {
        assert_eq!(findings("- G1 `test:ring_wraps`\n- G1 `test:ring_wraps`\n").len(), 1);
    }

    #[test]
    fn the_lineage_is_read_for_references_only() {
        let files = [(LINEAGE, "| G9 | `test:nowhere` |\n")];
        assert_eq!(check(&Tree::of(&files)).len(), 1);
    }
}
