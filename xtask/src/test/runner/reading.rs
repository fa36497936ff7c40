//! The output of the two test runners, line by line: what it counts and what of it to show.
//!
//! Both print a block of output for each test that passes; a block with a `SKIPPED:` line turns its
//! test from passed into skipped, and no line of such a block is shown.

/// What a run has counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Tests that held, skipped ones not among them.
    pub passed: usize,
    /// Tests that did not.
    pub failed: usize,
    /// Name and reason of each skip.
    pub skips: Vec<(String, String)>,
}

impl Count {
    /// How many tests are over.
    pub fn ran(&self) -> usize {
        self.passed + self.failed + self.skips.len()
    }

    /// Turns the passed test, of which `line` is output, into a skipped one.
    fn skip(&mut self, line: &str, already: bool) -> bool {
        let Some(text) = line.trim().strip_prefix("SKIPPED: ") else {
            return already;
        };
        if !already {
            self.passed = self.passed.saturating_sub(1);
            let (name, why) = text.split_once(": ").unwrap_or((text, "no reason given"));
            self.skips.push((name.to_owned(), why.to_owned()));
        }
        true
    }
}

/// Whether a line is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A person should see it.
    Yes,
    /// It has been read and is of no more use.
    No,
}

/// A reader of one runner's output.
pub trait Reading {
    /// Takes the next line.
    fn line(&mut self, line: &str) -> Shown;
    /// What has been counted so far.
    fn count(&self) -> &Count;
}

/// cargo-nextest: a status line a test, its output below.
#[derive(Default)]
pub struct Nextest {
    count: Count,
    in_passed: bool,
    block_skipped: bool,
}

impl Reading for Nextest {
    fn line(&mut self, line: &str) -> Shown {
        let Some((status, seconds)) = nextest_status(line) else {
            if !self.in_passed {
                return Shown::Yes;
            }
            self.block_skipped = self.count.skip(line, self.block_skipped);
            return Shown::No;
        };
        self.in_passed = matches!(status, "PASS" | "LEAK");
        self.block_skipped = false;
        match status {
            "PASS" | "LEAK" => self.count.passed += 1,
            "SLOW" | "Summary" | "SKIP" => {}
            _ => self.count.failed += 1,
        }
        // Quick tests are many and say nothing by name.
        if self.in_passed && seconds < 1.0 { Shown::No } else { Shown::Yes }
    }

    fn count(&self) -> &Count {
        &self.count
    }
}

/// `    PASS [   0.005s] (1/9) crate module::test`: status and seconds.
fn nextest_status(line: &str) -> Option<(&str, f64)> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let (seconds, _) = rest.split_once(']')?;
    let seconds = seconds.trim().trim_start_matches('>').strip_suffix('s')?.trim().parse().ok()?;
    let is_status =
        !status.is_empty() && status.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    // A status stands right-aligned before column 13; output of tests is indented and could look alike.
    let column = line.len() - line.trim_start().len() + status.len();
    (is_status && column == 12).then_some((status, seconds))
}

/// libtest, under `cargo test` and for doc tests.
#[derive(Default)]
pub struct Libtest {
    count: Count,
    in_successes: bool,
    block_skipped: bool,
}

impl Reading for Libtest {
    fn line(&mut self, line: &str) -> Shown {
        if line.starts_with("test result: ") {
            self.in_successes = false;
            return Shown::Yes;
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ => {}
        }
        if self.in_successes {
            if line.starts_with("---- ") {
                self.block_skipped = false;
            }
            self.block_skipped = self.count.skip(line, self.block_skipped);
            return Shown::No;
        }
        let Some((name, outcome)) = libtest_outcome(line) else {
            return Shown::Yes;
        };
        match outcome {
            "ok" => self.count.passed += 1,
            "FAILED" => self.count.failed += 1,
            _ => self.count.skips.push((name.to_owned(), "ignored".to_owned())),
        }
        if outcome == "FAILED" { Shown::Yes } else { Shown::No }
    }

    fn count(&self) -> &Count {
        &self.count
    }
}

/// `test module::name ... ok`: name and outcome.
fn libtest_outcome(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_outcome = matches!(outcome, "ok" | "FAILED") || outcome.starts_with("ignored");
    is_outcome.then_some((name, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reading: &mut impl Reading, text: &str) -> Vec<String> {
        text.lines().filter(|line| reading.line(line) == Shown::Yes).map(str::to_owned).collect()
    }

    #[test]
    fn nextest_is_counted_and_its_flood_swallowed() {
        let text = "    Starting 4 tests across 2 binaries\n\
            \x20       PASS [   0.010s] (1/4) rejoin-core ring::wraps\n\
            \x20 stdout ───\n    running 1 test\n    noise\n\
            \x20       PASS [   1.500s] (2/4) rejoin-sim slow\n\
            \x20       PASS [   0.010s] (3/4) rejoin-store disk_full\n\
            \x20 stdout ───\n    SKIPPED: disk_full: needs a small disk\n    SKIPPED: disk_full: again\n\
            \x20       FAIL [   0.010s] (4/4) rejoin-core bad\n\
            \x20 stderr ───\n    assertion failed\n\
            ────────────\n\
            \x20    Summary [   1.510s] 4 tests run: 3 passed, 1 failed, 0 skipped\n";
        let mut reading = Nextest::default();
        let seen = shown(&mut reading, text).join("\n");
        assert_eq!((reading.count.passed, reading.count.failed), (2, 1));
        assert_eq!(reading.count.skips, [("disk_full".into(), "needs a small disk".into())]);
        assert_eq!(reading.count.ran(), 4);
        assert!(!seen.contains("noise") && !seen.contains("wraps"), "{seen}");
        assert!(seen.contains("slow") && seen.contains("assertion failed"), "{seen}");
    }

    #[test]
    fn a_test_that_dies_or_hangs_has_failed() {
        let mut reading = Nextest::default();
        shown(
            &mut reading,
            "     SIGABRT [   0.010s] (1/2) a b\n     TIMEOUT [  60.000s] (2/2) a c\n",
        );
        assert_eq!(reading.count.failed, 2);
        shown(&mut reading, "        SLOW [> 60.000s] (─────) a d\n");
        assert_eq!(reading.count.ran(), 2);
    }

    #[test]
    fn libtest_is_counted_over_several_binaries() {
        let text = "running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ok\n\nsuccesses:\n\n\
            ---- c stdout ----\nSKIPPED: c: no disk\nnoise\n\nsuccesses:\n    a\n    c\n\nfailures:\n\n\
            ---- b stdout ----\nwhy\n\nfailures:\n    b\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\
            test src/lib.rs - x (line 3) ... ignored\ntest d ... ok\n";
        let mut reading = Libtest::default();
        let seen = shown(&mut reading, text).join("\n");
        assert_eq!((reading.count.passed, reading.count.failed), (2, 1));
        assert_eq!(reading.count.skips.len(), 2);
        assert!(seen.contains("why") && !seen.contains("noise"), "{seen}");
    }
}
