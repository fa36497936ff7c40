//! What was counted over all stages: passed, failed, and every skip by name and reason.

use std::fmt;

/// The count behind the last line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that ran and held.
    pub passed: usize,
    /// Tests that did not hold, and stages that failed.
    pub failed: usize,
    skips: Vec<String>,
}

impl Tally {
    /// Adds one test.
    pub fn add_test(&mut self, good: bool) {
        self.add(usize::from(good), usize::from(!good));
    }

    /// Adds many tests.
    pub fn add(&mut self, passed: usize, failed: usize) {
        self.passed += passed;
        self.failed += failed;
    }

    /// A stage that is no test counts when it fails.
    pub fn add_stage(&mut self, good: bool) {
        self.failed += usize::from(!good);
    }

    /// Adds a test that did not run.
    pub fn add_skip(&mut self, name: &str, why: &str) {
        self.skips.push(format!("{name}: {why}"));
    }

    /// Lists the skips by name.
    pub fn print_skips(&self) {
        if !self.skips.is_empty() {
            println!("\nskipped:");
        }
        for skip in &self.skips {
            println!("  {skip}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skips.len() {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_skips_only_when_there_are_some() {
        let mut tally = Tally::default();
        tally.add(3, 0);
        tally.add_test(true);
        tally.add_stage(true);
        assert_eq!(tally.to_string(), "4 passed, 0 failed");
        tally.add_test(false);
        tally.add_stage(false);
        tally.add_skip("disk_full", "needs a small file system");
        assert_eq!(tally.to_string(), "4 passed, 2 failed, 1 skipped");
    }
}
