//! Deliberate bugs of accounts and of compression, each of which a checker of its own must catch.

use rejoin_core::planted::Bug;
use rejoin_sim::run::{Options, Report, play};

/// Plays seeds with a bug until a checker sees it, and says which seed it was.
fn caught(bug: Bug) -> Report {
    // Game code panics on purpose; the report tells what it must.
    std::panic::set_hook(Box::new(|_| {}));
    let options = Options { bug: Some(bug), ..Options::default() };
    let caught = (1..=300).map(|seed| play(seed, options)).find(|r| !r.violations.is_empty());
    let report = caught.unwrap_or_else(|| panic!("{bug:?} was not caught in 300 seeds"));
    for violation in &report.violations {
        println!("{bug:?}, seed {}: {}: {}", report.seed, violation.checker, violation.text);
    }
    report
}

#[test]
fn an_old_password_that_is_accepted_during_its_change_is_caught() {
    let report = caught(Bug::OldPasswordAccepted);
    assert_eq!(report.violations[0].checker, "old-password-out");
}

#[test]
fn a_login_to_a_deleted_account_that_opens_the_next_one_is_caught() {
    let report = caught(Bug::AccountVersionReused);
    assert_eq!(report.violations[0].checker, "old-password-out");
}

#[test]
fn the_ban_of_a_key_that_leaves_the_sessions_it_opened_is_caught() {
    let report = caught(Bug::KeyBanForgotten);
    assert_eq!(report.violations[0].checker, "banned-out");
}

#[test]
fn a_secret_in_a_compressed_frame_is_caught() {
    let report = caught(Bug::SecretCompressed);
    assert_eq!(report.violations[0].checker, "secrets-plain");
}
