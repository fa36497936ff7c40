//! What we want to reach, and whether we do.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Spread, key};

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
enum Rule {
    AtMost(f64),
    AtLeast(f64),
    /// Times the bare server's.
    RatioAtMost(f64),
    RatioAtLeast(f64),
}

/// A target.
pub(super) struct Target {
    case: &'static str,
    figure: &'static str,
    rule: Rule,
    what: &'static str,
}

/// All targets, in the order of the table.
pub(super) const TARGETS: &[Target] = &[
    Target {
        case: "idle",
        figure: "KiB each",
        rule: Rule::AtMost(12.0),
        what: "idle connected session ≤ 12 KiB resident at 10,000, KiB",
    },
    Target {
        case: "held",
        figure: "bytes each",
        rule: Rule::AtMost(1024.0),
        what: "held session ≤ 1 KiB at 100,000, bytes",
    },
    Target {
        case: "echo",
        figure: "p50 µs",
        rule: Rule::RatioAtMost(1.3),
        what: "echo at 1,000 × 20/s: p50 ≤ 1.3× bare, µs",
    },
    Target {
        case: "echo",
        figure: "p99 µs",
        rule: Rule::RatioAtMost(1.3),
        what: "echo at 1,000 × 20/s: p99 ≤ 1.3× bare, µs",
    },
    Target {
        case: "flood",
        figure: "per second",
        rule: Rule::RatioAtLeast(0.6),
        what: "most echoes a second ≥ 0.6× bare",
    },
    Target {
        case: "fanout",
        figure: "delivered %",
        rule: Rule::AtLeast(100.0),
        what: "broadcast 100 zones × 50 at 20 Hz of 200 B: all delivered, %",
    },
    Target {
        case: "fanout",
        figure: "p99 µs",
        rule: Rule::RatioAtMost(2.0),
        what: "the same: p99 ≤ 2× bare fan-out, µs",
    },
    Target {
        case: "storm",
        figure: "failures",
        rule: Rule::AtMost(0.0),
        what: "resume storm of 5,000: failures",
    },
    Target {
        case: "storm",
        figure: "per second",
        rule: Rule::RatioAtLeast(0.5),
        what: "the same: resumes a second ≥ 0.5× bare accepts",
    },
];

/// Whether a target is met.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub(super) struct Verdict {
    pub(super) what: String,
    pub(super) ours: Spread,
    pub(super) bare: Option<Spread>,
    /// Ours by bare.
    pub(super) ratio: Option<f64>,
    /// The ratio that is asked for, where one is.
    pub(super) limit: Option<f64>,
    pub(super) is_met: bool,
}

impl Target {
    /// None: it was not measured.
    pub(super) fn judge(&self, figures: &BTreeMap<String, Spread>) -> Option<Verdict> {
        let ours = *figures.get(&key(self.case, "ours", self.figure))?;
        let bare = figures.get(&key(self.case, "bare", self.figure)).copied();
        let ratio = bare.filter(|bare| bare.median > 0.0).map(|bare| ours.median / bare.median);
        let (is_met, limit) = match self.rule {
            Rule::AtMost(limit) => (ours.median <= limit, None),
            Rule::AtLeast(limit) => (ours.median >= limit, None),
            Rule::RatioAtMost(limit) => (ratio? <= limit, Some(limit)),
            Rule::RatioAtLeast(limit) => (ratio? >= limit, Some(limit)),
        };
        Some(Verdict { what: self.what.to_owned(), ours, bare, ratio, limit, is_met })
    }
}
