//! `docs/PROTOCOL.md` in step with `proto/rejoin.proto`.
//!
//! Every name of the contract stands in backticks on the page, and the page carries the hash of the
//! contract it was last read against: a change of a comment or a number is seen as well.

use std::collections::BTreeSet;

use super::source::is_word;
use super::{Finding, Tree, code_spans};

const PROTO: &str = "proto/rejoin.proto";
const PAGE: &str = "docs/PROTOCOL.md";

/// Findings on the page.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(proto) = tree.text(PROTO) else {
        return Vec::new();
    };
    let Some(page) = tree.text(PAGE) else {
        return vec![Finding::new(
            PROTO,
            1,
            format!("{PAGE} is missing: every frame is told there"),
        )];
    };
    let told: BTreeSet<&str> = code_spans(page)
        .flat_map(|(_, span)| span.split(|c| !is_word(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let mut findings: Vec<Finding> = names(proto)
        .into_iter()
        .filter(|(_, name)| !told.contains(name.as_str()))
        .map(|(line, name)| Finding::new(PROTO, line, format!("{PAGE} does not tell of `{name}`")))
        .collect();
    let wanted = format!("<!-- proto: {:016x} -->", fnv1a(proto.as_bytes()));
    if !page.lines().any(|line| line.trim() == wanted) {
        let old = page.lines().position(|line| line.trim().starts_with("<!-- proto:"));
        let sentence = format!(
            "{PROTO} has changed since this page was read against it: read the diff of the proto, \
             bring the page up to date, then put this line: {wanted}"
        );
        findings.push(Finding::new(PAGE, old.map_or(1, |index| index + 1), sentence));
    }
    findings
}

/// The names of all messages, enums, fields and enum values, with their lines.
fn names(proto: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (index, line) in proto.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("").trim();
        let mut words = code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        let name = match words.next() {
            Some("message" | "enum") => words.next(),
            Some("syntax" | "package" | "import" | "option" | "reserved" | "oneof") | None => None,
            Some(_) => code.split_once('=').and_then(|(left, _)| left.split_whitespace().last()),
        };
        names.extend(name.map(|name| (index + 1, name.to_owned())));
    }
    names
}

/// FNV-1a, 64 bits: no secret is at stake, only a change to be noticed.
fn fnv1a(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    const CONTRACT: &str = "syntax = \"proto3\";\npackage a.v1;\n// message Not {\nmessage Hello {\n  \
                            oneof purpose {\n    Login login = 3; // not = 4;\n  }\n  repeated string caps = 5;\n}\n\
                            enum Rung {\n  RUNG_NEW = 3;\n}\n";

    fn findings(page: &str) -> Vec<String> {
        told(check(&Tree::of(&[(PROTO, CONTRACT), (PAGE, page)])))
    }

    #[test]
    fn names_are_messages_enums_fields_and_values() {
        let found: Vec<String> = names(CONTRACT).into_iter().map(|(_, name)| name).collect();
        assert_eq!(found, ["Hello", "login", "caps", "Rung", "RUNG_NEW"]);
    }

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn a_page_in_step_passes() {
        let hash = fnv1a(CONTRACT.as_bytes());
        let page = format!(
            "`Hello`: `Hello.login`, `caps`. `Rung` `RUNG_NEW`\n<!-- proto: {hash:016x} -->\n"
        );
        assert!(findings(&page).is_empty(), "{:?}", findings(&page));
    }

    #[test]
    fn an_unhashed_or_stale_page_is_found_and_told_the_line() {
        let names = "`Hello` `login` `caps` `Rung` `RUNG_NEW`\n";
        for line in ["", "<!-- proto: 0000000000000000 -->\n"] {
            let found = findings(&format!("{names}{line}"));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(&format!("{:016x}", fnv1a(CONTRACT.as_bytes()))));
        }
    }

    #[test]
    fn a_name_outside_backticks_is_not_told() {
        let hash = fnv1a(CONTRACT.as_bytes());
        let found = findings(&format!(
            "`Hello` `login` caps `Rung` `RUNG_NEW`\n<!-- proto: {hash:016x} -->"
        ));
        assert_eq!(found, ["proto/rejoin.proto:8: docs/PROTOCOL.md does not tell of `caps`"]);
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(check(&Tree::of(&[(PROTO, CONTRACT)])).len(), 1);
        assert!(check(&Tree::of(&[])).is_empty());
    }
}
