//! The store's part of the simulator as a test: bugs of the store, of its driver and of the order of two
//! commits, each planted and each caught by the checker that is meant to see it.

use rejoin_core::planted::Bug;
use rejoin_sim::run::{Options, Report, play};
use rejoin_sim::world::World;

/// Game code panics on purpose; nobody wants to read that.
fn hush() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// The checker that sees a bug first, in so many seeds.
fn caught(bug: Bug, seeds: u64) -> &'static str {
    hush();
    let options = Options { bug: Some(bug), ..Options::default() };
    let mut reports = (1..=seeds).map(|seed| play(seed, options));
    let report: Report = reports
        .find(|report| !report.violations.is_empty())
        .unwrap_or_else(|| panic!("{bug:?} was not caught in {seeds} seeds"));
    let violation = &report.violations[0];
    println!("{bug:?}, seed {}: {}: {}", report.seed, violation.checker, violation.text);
    violation.checker
}

#[test]
fn a_zone_that_forgets_before_the_session_has_committed_is_caught() {
    assert_eq!(caught(Bug::ForgottenBeforeKept, 300), "ladder-honest");
}

#[test]
fn two_batches_of_one_scope_at_the_store_are_caught() {
    assert_eq!(caught(Bug::TwoBatches, 300), "one-batch");
}

#[test]
fn an_effect_that_leaves_one_commit_too_early_is_caught() {
    let checker = caught(Bug::NextReleased, 300);
    assert!(matches!(checker, "ladder-honest" | "upstream-once" | "heard-all"), "{checker}");
}

#[test]
fn a_late_batch_of_a_former_owner_that_is_taken_is_caught() {
    assert_eq!(caught(Bug::LateBatchTaken, 300), "store-kept");
}

#[test]
fn an_unknown_commit_that_is_not_submitted_again_is_caught() {
    assert_eq!(caught(Bug::UnknownTakenForCommitted, 300), "store-kept");
}

#[test]
fn layers_in_the_wrong_order_after_a_failed_apply_are_caught() {
    assert_eq!(caught(Bug::LayersSwapped, 300), "store-kept");
}

#[test]
fn the_engine_is_in_at_least_half_of_the_worlds() {
    let worlds = 400;
    let with_engine = (1..=worlds).filter(|seed| World::new(*seed).knobs.engine).count();
    assert!(with_engine * 2 >= worlds as usize, "{with_engine} of {worlds}");
}

/// What a long run must see of the store is seen in a short one, too.
#[test]
fn outcomes_owners_and_layers_are_played() {
    hush();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 1..=40 {
        let report = play(seed, Options::default());
        assert!(report.violations.is_empty(), "seed {seed}: {:?}", report.violations);
        seen.extend(report.struck.into_keys());
    }
    for name in [
        "a batch was fenced",
        "a commit was unknown and had landed",
        "a commit was unknown and had not landed",
        "a half was applied beside commits",
        "a late batch was refused",
        "a sync failed in an apply",
        "an apply found no room",
        "an owner was overtaken",
        "crash after a session's commit of a move",
        "crash after the entered zone's commit of a move",
        "crash after the left zone's commit of a move",
        "crash with two layers",
        "crash within an apply",
    ] {
        assert!(seen.contains(name), "{name}");
    }
}
