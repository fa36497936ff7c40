//! A documented default equals the code's.
//!
//! A crate writes its defaults down in `crates/<crate>/defaults.txt`, one `NAME.key = value` a line,
//! and has a test that compares the file with the code. A page shows them in a table between
//! `<!-- defaults:NAME -->` and `<!-- /defaults -->`, key in backticks first, value second. Here the
//! two are compared; a NAME that is documented at all must be documented whole.

use std::collections::BTreeMap;

use super::{Finding, Tree, prose};

struct Row {
    path: String,
    line: usize,
    value: String,
}

/// Rows by `NAME` and `key`.
type Rows = BTreeMap<String, BTreeMap<String, Row>>;

/// Findings on the tables of every page.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code = code_rows(tree, &mut findings);
    let tables = doc_tables(tree, &mut findings);
    let mut documented: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, opened, rows) in &tables {
        let Some(known) = code.get(name) else {
            let sentence = format!("no crates/*/defaults.txt has defaults named `{name}`");
            findings.push(Finding::new(&opened.path, opened.line, sentence));
            continue;
        };
        for (key, row) in rows {
            documented.entry(name).or_default().push(key);
            findings.extend(compare(name, key, row, known.get(key)));
        }
        documented.entry(name).or_default();
    }
    for (name, keys) in documented {
        for (key, row) in &code[name] {
            if !keys.contains(&key.as_str()) {
                let sentence = format!("`{name}.{key}` is in no documented table of `{name}`");
                findings.push(Finding::new(&row.path, row.line, sentence));
            }
        }
    }
    findings
}

fn compare(name: &str, key: &str, row: &Row, code: Option<&Row>) -> Option<Finding> {
    let sentence = match code {
        Some(code) if code.value == row.value => return None,
        Some(code) => format!(
            "`{name}.{key}` is documented as {} and is {} ({}:{})",
            row.value, code.value, code.path, code.line
        ),
        None => format!("`{name}.{key}` is documented and does not exist"),
    };
    Some(Finding::new(&row.path, row.line, sentence))
}

fn code_rows(tree: &Tree, findings: &mut Vec<Finding>) -> Rows {
    let mut rows = Rows::new();
    for (path, text) in tree.matching("crates/", "/defaults.txt") {
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let row = |value: &str| Row {
                path: path.into(),
                line: index + 1,
                value: value.trim().into(),
            };
            let parsed = line.split_once('=').and_then(|(left, value)| {
                left.trim().split_once('.').map(|(name, key)| (name, key, row(value)))
            });
            let taken = match parsed {
                Some((name, key, row)) => {
                    rows.entry(name.into()).or_default().insert(key.into(), row).is_none()
                }
                None => false,
            };
            if !taken {
                let sentence = "a line is `NAME.key = value`, each key once";
                findings.push(Finding::new(path, index + 1, sentence));
            }
        }
    }
    rows
}

/// Every table: its NAME, where it opens, its rows.
fn doc_tables(
    tree: &Tree,
    findings: &mut Vec<Finding>,
) -> Vec<(String, Row, BTreeMap<String, Row>)> {
    let mut tables = Vec::new();
    for (path, text) in tree.matching("", ".md") {
        let mut open: Option<(String, Row, BTreeMap<String, Row>)> = None;
        for (number, line) in prose(text) {
            let line = line.trim();
            let row = |value: &str| Row { path: path.into(), line: number, value: value.into() };
            if let Some(name) = line.strip_prefix("<!-- defaults:") {
                let name = name.trim_end_matches("-->").trim();
                tables.extend(open.replace((name.to_owned(), row(""), BTreeMap::new())));
            } else if line == "<!-- /defaults -->" {
                tables.extend(open.take());
            } else if let Some((_, _, rows)) = &mut open
                && let Some((key, value)) = table_row(line)
            {
                rows.insert(key.to_owned(), row(value));
            }
        }
        if let Some((name, opened, _)) = open {
            let sentence = format!("the table of `{name}` is not closed by `<!-- /defaults -->`");
            findings.push(Finding::new(path, opened.line, sentence));
        }
    }
    tables
}

/// Key and value of a row such as "| `hold_ms` | 5000 | why |"; headings and rules are none.
fn table_row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let key = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
    Some((key, cells.next()?.trim_matches('`').trim()))
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    const CODE: &str =
        "# session\nsession.hold_ms = 5000\nsession.idle_ms = 1800000\nzone.tick = 50\n";

    fn findings(table: &str) -> Vec<String> {
        let page = format!(
            "# A\n<!-- defaults:session -->\n| key | value |\n|---|---|\n{table}<!-- /defaults -->\n"
        );
        told(check(&Tree::of(&[("crates/core/defaults.txt", CODE), ("docs/A.md", &page)])))
    }

    #[test]
    fn equal_tables_pass() {
        let found = findings("| `hold_ms` | 5000 | x |\n| `idle_ms` | `1800000` |\n");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_default_that_differs_is_found() {
        assert_eq!(
            findings("| `hold_ms` | 4000 | x |\n| `idle_ms` | 1800000 |\n"),
            [
                "docs/A.md:5: `session.hold_ms` is documented as 4000 and is 5000 (crates/core/defaults.txt:2)"
            ]
        );
    }

    #[test]
    fn a_key_missing_on_either_side_is_found() {
        let found = findings("| `hold_ms` | 5000 |\n| `gone_ms` | 1 |\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`session.idle_ms` is in no documented table"));
        assert!(found[1].contains("`session.gone_ms` is documented and does not exist"));
    }

    #[test]
    fn a_fenced_table_only_shows_how() {
        let page = "```text\n<!-- defaults:ghost -->\n<!-- /defaults -->\n```\n";
        assert!(check(&Tree::of(&[("README.md", page)])).is_empty());
    }

    #[test]
    fn a_name_nobody_has_and_an_open_table_are_found() {
        let page = "<!-- defaults:ghost -->\n<!-- /defaults -->\n<!-- defaults:zone -->\n| `tick` | 50 |\n";
        let found =
            told(check(&Tree::of(&[("crates/core/defaults.txt", CODE), ("README.md", page)])));
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_malformed_or_repeated_line_is_found() {
        let text = "session.hold_ms = 1\nsession.hold_ms = 2\nnonsense\n";
        assert_eq!(check(&Tree::of(&[("crates/core/defaults.txt", text)])).len(), 2);
    }
}
