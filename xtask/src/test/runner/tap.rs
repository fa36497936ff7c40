//! The Test Anything Protocol, in which Node tells of its tests: a line a test, and what went wrong
//! indented below it.

use super::reading::{Count, Reading, Shown};

/// Only tests of the first level count; those inside them are told again by the one around them.
#[derive(Default)]
pub struct Tap {
    count: Count,
    in_failed: bool,
}

impl Reading for Tap {
    fn line(&mut self, line: &str) -> Shown {
        let (rest, is_good) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => {
                let is_detail = self.in_failed && line.starts_with("  ");
                return if is_detail { Shown::Yes } else { Shown::No };
            }
        };
        let name = rest.split_once(" - ").map_or(rest, |(_, name)| name);
        self.in_failed = false;
        match name.split_once(" # SKIP") {
            Some((name, why)) => {
                let why = if why.trim().is_empty() { "no reason given" } else { why.trim() };
                self.count.skips.push((name.to_owned(), why.to_owned()));
                Shown::No
            }
            None if is_good => {
                self.count.passed += 1;
                Shown::No
            }
            None => {
                self.count.failed += 1;
                self.in_failed = true;
                Shown::Yes
            }
        }
    }

    fn count(&self) -> &Count {
        &self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_the_first_level_are_counted_and_failures_shown() {
        let text = "TAP version 13\n# Subtest: a\nok 1 - a\n  ---\n  duration_ms: 1\n  ...\n\
            # Subtest: b\n    ok 1 - inside\nnot ok 2 - b\n  ---\n  error: 'why'\n  ...\n\
            ok 3 - c # SKIP there is no browser\nok 4 - d - e # SKIP\n1..4\n# pass 1\n";
        let mut tap = Tap::default();
        let shown: Vec<&str> = text.lines().filter(|line| tap.line(line) == Shown::Yes).collect();
        assert_eq!((tap.count.passed, tap.count.failed), (1, 1));
        let skips = [("c", "there is no browser"), ("d - e", "no reason given")];
        assert_eq!(tap.count.skips, skips.map(|(name, why)| (name.to_owned(), why.to_owned())));
        assert_eq!(shown, ["not ok 2 - b", "  ---", "  error: 'why'", "  ..."]);
    }
}
