//! The worlds of the directory as a test: seeds that must hold, the same trace for the same seed,
//! and deliberate bugs that must be caught.

use rejoin_directory::planted::Bug;
use rejoin_sim::directory::run::{Report, play};
use rejoin_sim::directory::tally::Tally;

/// Seeds on which a promise was broken once.
const ONCE_BROKEN: [u64; 3] = [10, 18, 19];

fn told(report: &Report) -> String {
    let lines = report.violations.iter().map(|v| format!("{}: {}", v.checker, v.text));
    format!("seed {}: {}", report.seed, lines.collect::<Vec<_>>().join("; "))
}

#[test]
fn seats_games_and_placements_are_kept_and_ended_through_crashes() {
    let mut tally = Tally::default();
    for seed in ONCE_BROKEN.into_iter().chain(1_000..1_040) {
        let report = play(seed, false, None);
        assert!(report.violations.is_empty(), "{}", told(&report));
        tally.add(report);
    }
    // A short run reaches most of the rules; the long one must reach them all.
    assert!(tally.missed().len() < 8, "{:?}", tally.missed());
    // A checker that compares nothing would hold as well.
    assert!(tally.pages > 10_000 && tally.listed > 10_000, "{} {}", tally.pages, tally.listed);
}

#[test]
fn the_same_seed_of_the_directory_gives_the_same_trace() {
    for seed in 1..=5 {
        let (first, second) = (play(seed, false, None), play(seed, false, None));
        assert_eq!(first.trace, second.trace, "same-trace: seed {seed}");
    }
    assert_ne!(play(1, false, None).trace, play(2, false, None).trace);
}

/// Plays seeds with a bug until a checker sees it.
fn caught(bug: Bug) -> &'static str {
    std::panic::set_hook(Box::new(|_| {}));
    let caught = (1..=300).map(|seed| play(seed, false, Some(bug)));
    let report = caught.into_iter().find(|report| !report.violations.is_empty());
    let report = report.unwrap_or_else(|| panic!("{bug:?} was not caught in 300 seeds"));
    println!("{bug:?} caught: {}", told(&report));
    report.violations[0].checker
}

#[test]
fn a_seat_too_many_is_caught() {
    assert_eq!(caught(Bug::OneSeatTooMany), "oversold");
}

#[test]
fn an_answer_before_its_commit_is_caught() {
    let checker = caught(Bug::ToldBeforeDurable);
    assert!(matches!(checker, "seat-kept" | "oversold" | "ends-once" | "answered"), "{checker}");
}

#[test]
fn a_host_that_is_never_free_again_is_caught() {
    assert_eq!(caught(Bug::HostNotReleased), "leaked");
}

#[test]
fn a_ghost_in_a_listing_is_caught() {
    assert_eq!(caught(Bug::GhostListed), "no-ghost");
}

#[test]
fn a_game_that_keeps_its_old_place_in_an_order_is_caught() {
    assert_eq!(caught(Bug::IndexEntryKept), "search-true");
}
