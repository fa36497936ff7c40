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

/// Plays seeds with a bug until one of these checkers is the first to see it.
fn assert_caught(bug: Bug, checkers: &[&str]) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut reports = (1..=300).map(|seed| play(seed, false, Some(bug)));
    let is_seen = |report: &Report| {
        report.violations.first().is_some_and(|first| checkers.contains(&first.checker))
    };
    let report = reports.find(is_seen);
    let report = report.unwrap_or_else(|| panic!("{bug:?}: not {checkers:?} in 300 seeds"));
    println!("{bug:?} caught: {}", told(&report));
}

#[test]
fn a_seat_too_many_is_caught() {
    assert_caught(Bug::OneSeatTooMany, &["oversold"]);
}

#[test]
fn an_answer_before_its_commit_is_caught() {
    assert_caught(Bug::ToldBeforeDurable, &["seat-kept", "oversold", "ends-once", "answered"]);
}

#[test]
fn a_host_that_is_never_free_again_is_caught() {
    assert_caught(Bug::HostNotReleased, &["leaked"]);
}

#[test]
fn a_ghost_in_a_listing_is_caught() {
    assert_caught(Bug::GhostListed, &["no-ghost"]);
}

#[test]
fn a_game_that_keeps_its_old_place_in_an_order_is_caught() {
    assert_caught(Bug::IndexEntryKept, &["search-true"]);
}

#[test]
fn a_reservation_that_ran_out_and_keeps_its_seat_is_caught() {
    assert_caught(Bug::ReservationNotFreed, &["leaked"]);
}

#[test]
fn a_party_that_is_seated_in_part_is_caught() {
    assert_caught(Bug::PartyInPart, &["seats-true"]);
}

#[test]
fn a_party_that_a_crash_parts_is_caught() {
    assert_caught(Bug::PartySplit, &["seats-true"]);
}

#[test]
fn a_seat_that_a_wrong_secret_gives_back_is_caught() {
    assert_caught(Bug::SecretNotAsked, &["secret-kept"]);
}

#[test]
fn a_payer_that_is_charged_for_what_is_over_is_caught() {
    assert_caught(Bug::PayerNotRelieved, &["leaked"]);
}

#[test]
fn a_seat_on_two_pages_is_caught() {
    assert_caught(Bug::SeatPageRepeats, &["seats-true"]);
}

#[test]
fn a_placement_that_listens_to_a_stale_attempt_is_caught() {
    assert_caught(Bug::StaleAttempt, &["placed-once"]);
}
