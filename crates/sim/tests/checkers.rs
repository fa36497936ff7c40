//! Each checker can fail: a deliberate bug of its kind is armed, and the checker that is meant for it
//! must see it within so many seeds.

use rejoin_core::planted::Bug;
use rejoin_sim::run::{Options, play};

/// Plays seeds with a bug until a checker sees it; asserts which one.
#[track_caller]
fn caught(bug: Bug, checker: &str) -> String {
    std::panic::set_hook(Box::new(|_| {}));
    let options = Options { bug: Some(bug), ..Options::default() };
    let seen = (1..=300).map(|seed| play(seed, options)).find_map(|report| {
        let violation = report.violations.into_iter().find(|it| it.checker == checker)?;
        Some(format!("seed {}: {}: {}", report.seed, violation.checker, violation.text))
    });
    let seen = seen.unwrap_or_else(|| panic!("{checker} saw no {bug:?}"));
    println!("{bug:?} caught: {seen}");
    seen
}

#[test]
fn a_window_that_is_never_opened_again_is_caught() {
    caught(Bug::AckSendsNothing, "heard-all");
}

#[test]
fn a_cleared_key_that_is_forgotten_too_early_is_caught() {
    caught(Bug::ClearedTooEarly, "latest-final");
}

#[test]
fn a_resync_without_a_reason_is_caught() {
    caught(Bug::ResyncedForNothing, "ladder-honest");
}

#[test]
fn objects_that_a_transfer_leaves_behind_are_caught() {
    caught(Bug::ObjectsNotParted, "owners-true");
}

#[test]
fn a_timer_that_rings_again_after_a_crash_is_caught() {
    caught(Bug::TimerKept, "timers-once");
}

#[test]
fn a_job_that_is_done_again_after_a_crash_is_caught() {
    caught(Bug::JobKept, "jobs-once");
}

#[test]
fn match_data_that_a_crash_loses_is_caught() {
    caught(Bug::MatchDataNotRead, "match-data");
}

#[test]
fn a_hold_that_is_cut_short_is_caught() {
    caught(Bug::HoldHalved, "hold-kept");
}

#[test]
fn a_hold_that_never_ends_is_caught() {
    caught(Bug::HoldForgotten, "hold-ends");
}

#[test]
fn an_ending_with_a_wrong_cause_is_caught() {
    caught(Bug::WrongCause, "cause-true");
}

#[test]
fn an_honest_client_that_is_blamed_is_caught() {
    caught(Bug::AckBlamed, "not-blamed");
}

#[test]
fn a_connection_that_goes_by_an_older_place_is_caught() {
    caught(Bug::OlderRouteTaken, "heard-all");
}

#[test]
fn frames_that_are_not_handed_on_where_their_session_goes_are_caught() {
    caught(Bug::NotHandedOnAgain, "heard-all");
}

#[test]
fn frames_of_an_earlier_stay_that_are_taken_are_caught() {
    caught(Bug::OldStayTaken, "upstream-once");
}

#[test]
fn what_cannot_be_is_a_violation() {
    let seen = caught(Bug::DeadlineKept, "no-panic");
    assert!(seen.contains("never: session "), "{seen}");
    assert!(seen.contains(" has a deadline and is no member"), "{seen}");
}
