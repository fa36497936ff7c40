//! What cannot be. Where a lookup cannot fail, the other branch says so with [`never!`](crate::never!)
//! and returns: tests and the simulator stop there, and a server in production goes on without it.
//!
//! This module counts what a process has reported and keeps the first report until a driver takes it.
//! It writes no log: the driver does, at its own pace. What a peer can bring about is no `never!`.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Reports that something is the case that the code around it excludes; the arguments are those of
/// `format!`. It panics in a build with debug assertions and with the feature `strict`; in any other
/// build it is counted, and the caller goes on, so it must leave the state as it found it.
#[macro_export]
macro_rules! never {
    ($($fact:tt)+) => {
        $crate::never::report(format_args!($($fact)+))
    };
}

/// One report: what was the case, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// The file and line of the `never!`, as `crates/core/src/gate.rs:217`.
    pub site: String,
    /// What it says.
    pub fact: String,
}

/// The reports of one process. Several servers in one process share them: a report has no owner.
#[derive(Debug)]
struct Reports {
    count: AtomicU64,
    /// The first one since a driver last asked. Those that follow are often its consequences, and are
    /// counted without being written down, so that a report in a loop costs an addition.
    first: Mutex<Option<Impossible>>,
}

impl Reports {
    const fn new() -> Self {
        Self { count: AtomicU64::new(0), first: Mutex::new(None) }
    }

    fn add(&self, site: &Location<'_>, fact: fmt::Arguments<'_>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Impossible {
            site: format!("{}:{}", site.file(), site.line()),
            fact: fact.to_string(),
        });
    }

    fn take_first(&self) -> Option<Impossible> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

static REPORTS: Reports = Reports::new();

/// Whether a report stops this build. The simulator does not compile without.
pub const STOPS: bool = cfg!(any(debug_assertions, feature = "strict"));

/// What [`never!`](crate::never!) calls.
#[cold]
#[inline(never)]
#[track_caller]
pub fn report(fact: fmt::Arguments<'_>) {
    if STOPS {
        panic!("never: {fact}, at {}", Location::caller());
    }
    REPORTS.add(Location::caller(), fact);
}

/// How many reports there have been in this process.
#[must_use]
pub fn count() -> u64 {
    REPORTS.count.load(Ordering::Relaxed)
}

/// Takes the first report since the last call of this, for a line in a log.
#[must_use]
pub fn take_first() -> Option<Impossible> {
    REPORTS.take_first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn a_test_stops_at_what_cannot_be() {
        let stopped = catch_unwind(|| crate::never!("seat {} has two players", 7));
        let panic = stopped.expect_err("it panics");
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.and_then(|text| text.strip_prefix("never: seat 7 has two players, at "));
        assert!(text.is_some_and(|site| site.starts_with(file!())), "{text:?}");
        assert_eq!((count(), take_first()), (0, None), "it was counted as in production");
    }

    #[test]
    fn production_counts_every_report_and_keeps_the_first() {
        let reports = Reports::new();
        let site = Location::caller();
        for seat in 0..3 {
            reports.add(site, format_args!("seat {seat} has two players"));
        }
        let first = reports.take_first().expect("a report");
        assert_eq!(first.fact, "seat 0 has two players");
        assert_eq!(first.site, format!("{}:{}", file!(), site.line()));
        assert_eq!((reports.count.load(Ordering::Relaxed), reports.take_first()), (3, None));
    }
}
