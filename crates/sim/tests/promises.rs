//! The simulator as a test: seeds that must hold, the same trace for the same seed, and a few
//! deliberate bugs that must be caught.

use rejoin_core::planted::Bug;
use rejoin_sim::run::{Options, Report, play};

/// Seeds on which a promise was broken once. The draw of a world changes with the simulator, so a
/// seed alone does not keep its story; the stories are kept as tests of the core.
const ONCE_BROKEN: [u64; 41] = [
    1, 2, 4, 6, 7, 8, 11, 19, 32, 35, 111, 134, 138, 233, 287, 296, 332, 379, 506, 557, 566, 675,
    750, 818, 848, 908, 989, 1157, 1238, 2037, 2072, 3128, 4333, 4464, 5587, 5649, 6282, 8644,
    10433, 10445, 20823,
];

fn told(report: &Report) -> String {
    let lines = report.violations.iter().map(|v| format!("{}: {}", v.checker, v.text));
    format!("seed {}: {}", report.seed, lines.collect::<Vec<_>>().join("; "))
}

/// Game code panics on purpose; nobody wants to read that.
fn hush() {
    std::panic::set_hook(Box::new(|_| {}));
}

#[test]
fn seeds_that_once_broke_a_promise_hold() {
    hush();
    for seed in ONCE_BROKEN {
        let report = play(seed, Options::default());
        assert!(report.violations.is_empty(), "{}", told(&report));
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    hush();
    for seed in 1..=20 {
        let (first, second) = (play(seed, Options::default()), play(seed, Options::default()));
        assert_eq!(first.trace, second.trace, "same-trace: seed {seed}");
        assert_eq!(first.steps, second.steps, "same-trace: seed {seed}");
    }
    let (one, other) = (play(1, Options::default()), play(2, Options::default()));
    assert_ne!(one.trace, other.trace, "a trace that is always the same proves nothing");
}

/// Plays seeds with a bug until a checker sees it.
fn caught(bug: Bug) -> Report {
    hush();
    let options = Options { bug: Some(bug), ..Options::default() };
    let caught = (1..=300).map(|seed| play(seed, options)).find(|r| !r.violations.is_empty());
    let report = caught.unwrap_or_else(|| panic!("{bug:?} was not caught in 300 seeds"));
    println!("{bug:?} caught: {}", told(&report));
    report
}

/// One of these checkers sees the bug. Others see its consequences too, and in some seeds sooner.
fn caught_by(bug: Bug, checkers: &[&str]) {
    hush();
    let options = Options { bug: Some(bug), ..Options::default() };
    let sees = |r: &Report| r.violations.iter().any(|seen| checkers.contains(&seen.checker));
    let report = (1..=300).map(|seed| play(seed, options)).find(sees);
    println!("{}", told(&report.unwrap_or_else(|| panic!("no {checkers:?} in 300 seeds"))));
}

#[test]
fn a_resume_that_is_not_fenced_is_caught() {
    caught_by(Bug::ResumeNotFenced, &["single-voice", "upstream-once", "client-sane"]);
}

#[test]
fn an_ack_before_its_commit_is_caught() {
    let report = caught(Bug::AckBeforeApplied);
    let checker = report.violations[0].checker;
    assert!(matches!(checker, "ladder-honest" | "upstream-once" | "client-sane"), "{checker}");
}

#[test]
fn a_lost_token_confirmation_is_caught() {
    caught_by(Bug::TokenConfirmLost, &["no-lockout"]);
}

#[test]
fn a_seat_that_is_not_confirmed_is_caught() {
    let report = caught(Bug::SeatNotConfirmed);
    assert_eq!(report.violations[0].checker, "seat-held");
}

#[test]
fn a_seat_that_a_crash_forgets_is_caught() {
    let report = caught(Bug::SeatNotKept);
    assert_eq!(report.violations[0].checker, "seat-held");
}

#[test]
fn a_seat_that_is_never_freed_is_caught() {
    let report = caught(Bug::SeatNotFreed);
    assert_eq!(report.violations[0].checker, "seat-held");
}
