//! The store's part of the simulator as a test: bugs of the store, of its driver and of the order of two
//! commits, each planted and each caught by the checker that is meant to see it.

use rejoin_core::planted::Bug;
use rejoin_sim::run::{Options, Report, play};
use rejoin_sim::world::World;

/// Game code panics on purpose; nobody wants to read that.
fn hush() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// One of these checkers sees the bug, in 300 seeds. Others see its consequences too, and in some seeds sooner.
fn caught_by(bug: Bug, checkers: &[&str]) {
    hush();
    let options = Options { bug: Some(bug), ..Options::default() };
    let sees = |r: &Report| r.violations.iter().any(|seen| checkers.contains(&seen.checker));
    let report = (1..=300).map(|seed| play(seed, options)).find(sees);
    let report = report.unwrap_or_else(|| panic!("{bug:?}: no {checkers:?} in 300 seeds"));
    println!("{bug:?}, seed {}: {:?}", report.seed, report.violations);
}

#[test]
fn a_zone_that_forgets_before_the_session_has_committed_is_caught() {
    caught_by(Bug::ForgottenBeforeKept, &["ladder-honest"]);
}

#[test]
fn two_batches_of_one_scope_at_the_store_are_caught() {
    caught_by(Bug::TwoBatches, &["one-batch"]);
}

#[test]
fn an_effect_that_leaves_one_commit_too_early_is_caught() {
    caught_by(Bug::NextReleased, &["ladder-honest", "upstream-once", "heard-all"]);
}

#[test]
fn a_late_word_that_is_taken_for_the_commit_under_way_is_caught() {
    caught_by(Bug::LateCommitTaken, &["one-batch"]);
}

#[test]
fn a_late_batch_of_a_former_owner_that_is_taken_is_caught() {
    caught_by(Bug::LateBatchTaken, &["store-kept"]);
}

#[test]
fn an_unknown_commit_that_is_not_submitted_again_is_caught() {
    caught_by(Bug::UnknownTakenForCommitted, &["store-kept"]);
}

#[test]
fn layers_in_the_wrong_order_after_a_failed_apply_are_caught() {
    caught_by(Bug::LayersSwapped, &["store-kept"]);
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
