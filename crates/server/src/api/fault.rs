//! Turns the errors of the JSON and query parsers, which name types of Rust, into sentences about a
//! field that a caller in any language can read.

use super::problem::{Problem, ProblemKind};

/// The problem of one field, from what the reader said of it.
pub(super) fn problem(kind: ProblemKind, path: &str, said: &str) -> Problem {
    // The place in the text is of no use where the field is named.
    let said = said.split(" at line ").next().unwrap_or(said);
    let (name, what) = sentence(said);
    let inner = path.trim_matches('.');
    let path = if inner == "?" { "" } else { inner };
    let field = match (path, name) {
        ("", None) => return Problem::new(kind, format!("the whole {what}")),
        ("", Some(name)) => name.to_owned(),
        (path, None) => path.to_owned(),
        // A field that is not known is part of the path already.
        (path, Some(name)) if path == name || path.ends_with(&format!(".{name}")) => {
            path.to_owned()
        }
        (path, Some(name)) => format!("{path}.{name}"),
    };
    Problem::new(kind, format!("{field} {what}")).with("field", field)
}

/// The field that is named in a sentence of the reader, and what is wrong with it.
fn sentence(said: &str) -> (Option<&str>, String) {
    let quoted = |text: &str| text.split('`').nth(1).map(str::len).unwrap_or_default();
    let name = |text: &'static str| {
        let rest = said.strip_prefix(text)?;
        let length = quoted(said);
        rest.strip_prefix('`').map(|rest| &rest[..length])
    };
    if let Some(name) = name("unknown field ") {
        let known = said.split_once("expected ").map_or("none", |(_, known)| known);
        let known = known.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
        return (Some(name), format!("is not known here; known are: {known}"));
    }
    if let Some(name) = name("missing field ") {
        return (Some(name), "is missing".to_owned());
    }
    if let Some(name) = name("duplicate field ") {
        return (Some(name), "is given twice".to_owned());
    }
    if let Some((_, known)) =
        said.strip_prefix("unknown variant ").and_then(|it| it.split_once("expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
        return (None, format!("must be one of: {known}"));
    }
    if let Some((_, wanted)) = said.split_once(", expected ") {
        return (None, format!("must be {}", plain(wanted)));
    }
    if said.contains("digit") || said.contains("integer") || said.contains("number too") {
        return (None, "must be a whole number that is not too large".to_owned());
    }
    // Words of our own.
    (None, said.to_owned())
}

/// A type of Rust in plain words.
fn plain(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not too large",
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::BAD_BODY;
    use super::*;

    #[test]
    fn every_fault_names_its_field_in_plain_words() {
        let cases = [
            (
                "capacity",
                "invalid type: string \"a\", expected u32 at line 1 column 9",
                "capacity",
                "whole number",
            ),
            (
                "players[0].player",
                "invalid type: null, expected a string",
                "players[0].player",
                "a string",
            ),
            (".", "missing field `capacity` at line 1 column 2", "capacity", "missing"),
            ("players[1]", "missing field `player`", "players[1].player", "missing"),
            (
                "colour",
                "unknown field `colour`, expected one of `a`, `b`",
                "colour",
                "known are: a, b",
            ),
            ("data", "data must be base64 at line 1 column 30", "data", "base64"),
            ("limit", "invalid digit found in string", "limit", "whole number"),
            (
                "priority[0]",
                "unknown variant `x`, expected one of `latency`, `location`",
                "priority[0]",
                "latency, location",
            ),
        ];
        for (path, said, field, words) in cases {
            let body = problem(BAD_BODY, path, said).body();
            assert_eq!(body["field"], field, "{said}");
            let detail = body["detail"].as_str().expect("words");
            assert!(detail.contains(words) && !detail.contains("line"), "{detail}");
            assert!(!detail.contains("u32") && !detail.contains('`'), "{detail}");
        }
        let whole =
            problem(BAD_BODY, "?", "invalid type: string \"a\", expected struct NewGameBody")
                .body();
        assert_eq!(
            (whole["field"].as_str(), whole["detail"].as_str()),
            (None, Some("the whole must be an object"))
        );
    }
}
