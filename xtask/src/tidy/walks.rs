//! The functions that ARCHITECTURE.md names on the way of a frame or a resume exist, and its glossary stays short.

use super::source::{is_word, words};
use super::{Finding, Tree};

const PAGE: &str = "ARCHITECTURE.md";
/// The heading above the table of words.
const GLOSSARY: &str = "## The words";
const WORDS_MAX: usize = 35;

/// Findings on the page; one that is not there is not judged here.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PAGE) else { return Vec::new() };
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (owner, function) in methods(line).filter(|(o, f)| !exists(tree, o, f)) {
            let sentence = format!("no `impl {owner}` has a function `{function}`");
            findings.push(Finding::new(PAGE, index + 1, sentence));
        }
    }
    let glossary = text.split(GLOSSARY).nth(1).unwrap_or_default();
    let glossary = glossary.split("\n## ").next().unwrap_or_default();
    // The head of the table and the line below it are no words.
    let count = glossary.lines().filter(|line| line.starts_with('|')).count().saturating_sub(2);
    if count > WORDS_MAX {
        let line = text.lines().position(|line| line == GLOSSARY).map_or(1, |index| index + 1);
        let sentence = format!("the glossary has {count} words; {WORDS_MAX} may be");
        findings.push(Finding::new(PAGE, line, sentence));
    }
    findings
}

/// `Type::function` wherever it stands in a line.
fn methods(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices("::").filter_map(|(at, _)| {
        let owner = line[..at].rsplit(|c| !is_word(c)).next().unwrap_or_default();
        let function = line[at + 2..].split(|c| !is_word(c)).next().unwrap_or_default();
        let is_method = owner.starts_with(char::is_uppercase)
            && function.starts_with(|c: char| c.is_lowercase() || c == '_');
        is_method.then_some((owner, function))
    })
}

/// Whether a file of ours has both; a type's methods may be spread over files.
fn exists(tree: &Tree, owner: &str, function: &str) -> bool {
    let is_there = |code: &str, text: String| words(code, &text).next().is_some();
    tree.sources.iter().any(|source| {
        is_there(&source.code, format!("fn {function}"))
            && source
                .code
                .lines()
                .any(|line| line.starts_with("impl") && words(line, owner).next().is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    #[test]
    fn a_function_that_is_not_there_is_found_in_prose_and_in_drawings() {
        let page =
            "`Gate::after` and `Gate::later`\n```text\n  -> Gate::sooner\n```\nHistory::Whole\n";
        let code = "impl<E: Gated> Gate<E> {\n    pub fn after(&mut self) {}\n}\nfn later() {}\n";
        let files = [(PAGE, page), ("crates/core/src/gate.rs", code)];
        let other = [("crates/core/src/other.rs", "fn sooner() {}\n")];
        let tree = Tree::of(&[&files[..], &other[..]].concat());
        assert_eq!(
            told(check(&tree)),
            ["ARCHITECTURE.md:3: no `impl Gate` has a function `sooner`"]
        );
    }

    #[test]
    fn a_glossary_of_too_many_words_is_found() {
        let rows = |count| "| a | b |\n".repeat(count + 2);
        let page = |count| format!("# A\n\n{GLOSSARY}\n\n{}\n## B\n| c |\n", rows(count));
        let findings = |count| told(check(&Tree::of(&[(PAGE, &page(count))])));
        assert!(findings(WORDS_MAX).is_empty());
        let sentence = "ARCHITECTURE.md:3: the glossary has 36 words; 35 may be";
        assert_eq!(findings(WORDS_MAX + 1), [sentence]);
    }
}
