//! What a run found.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// Spans, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spans {
    /// How many.
    pub count: usize,
    /// The middle one.
    pub p50_ms: f64,
    /// One in a hundred is longer.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Spans {
    /// Of these.
    #[must_use]
    pub fn of(mut all: Vec<Duration>) -> Self {
        all.sort();
        let at = |share: usize| {
            let place = all.len().saturating_sub(1) * share / 100;
            all.get(place).map_or(0.0, |span| (span.as_secs_f64() * 1e4).round() / 10.0)
        };
        Self { count: all.len(), p50_ms: at(50), p99_ms: at(99), max_ms: at(100) }
    }
}

/// What a run found.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// Players.
    pub clients: usize,
    /// How many of them played with the JavaScript SDK.
    pub js: usize,
    /// How often the server was killed.
    pub kills: u32,
    /// How many of these before it served again.
    pub kills_while_starting: u32,
    /// How often it was stopped, and went on.
    pub stops: u32,
    /// What decides when.
    pub seed: u64,
    /// Messages that were said.
    pub said: u64,
    /// Messages that others heard.
    pub heard: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Messages that somebody did not hear, and requests without an answer.
    pub lost: u64,
    /// Messages that somebody heard again, and answers that were another's.
    pub doubled: u64,
    /// Messages that came before an earlier one.
    pub reordered: u64,
    /// Returns that were not `Replayed`.
    pub wrong_rungs: u64,
    /// Players that gave up or were ended.
    pub stopped: u64,
    /// From the drop to the return, over all players and kills.
    pub returns: Spans,
    /// From the start of a process until it serves.
    pub starts: Spans,
    /// All of it.
    pub seconds: f64,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let wrong = [self.lost, self.doubled, self.reordered, self.wrong_rungs, self.stopped];
        wrong.into_iter().sum::<u64>() == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clients ({} of them JavaScript), {} kills ({} while starting), {} stops, seed {}, {:.1} s",
            self.clients,
            self.js,
            self.kills,
            self.kills_while_starting,
            self.stops,
            self.seed,
            self.seconds
        )?;
        writeln!(f, "said {}, heard {}, answered {}", self.said, self.heard, self.answered)?;
        writeln!(
            f,
            "lost {}, doubled {}, reordered {}, wrong rung {}, stopped {}",
            self.lost, self.doubled, self.reordered, self.wrong_rungs, self.stopped
        )?;
        let Spans { count, p50_ms, p99_ms, max_ms } = self.returns;
        writeln!(f, "returns {count}: p50 {p50_ms} ms, p99 {p99_ms} ms, longest {max_ms} ms")?;
        let Spans { count, p50_ms, max_ms, .. } = self.starts;
        write!(f, "starts {count}: p50 {p50_ms} ms, longest {max_ms} ms")
    }
}
