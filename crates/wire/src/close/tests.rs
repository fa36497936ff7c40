//! The table is complete, in order, and says what was decided.

use super::*;

/// Every number that the contract could give a close code.
fn codes() -> impl Iterator<Item = CloseCode> {
    (1..=5_000).filter_map(|number| CloseCode::try_from(number).ok())
}

#[test]
fn every_code_has_exactly_one_row() {
    for code in codes() {
        assert_eq!(TABLE.iter().filter(|row| row.code == code).count(), 1, "{code:?}");
    }
    assert_eq!(TABLE.len(), codes().count());
}

#[test]
fn rows_stand_in_the_order_of_their_numbers() {
    assert!(TABLE.is_sorted_by_key(|row| row.code as i32));
}

#[test]
fn names_are_those_of_the_contract() {
    for row in TABLE {
        assert_eq!(format!("CLOSE_CODE_{}", row.name), row.code.as_str_name());
        assert!(row.sentence.ends_with('.'), "{}", row.name);
    }
}

#[test]
fn a_status_is_one_that_applications_may_use_and_leads_back() {
    for row in TABLE {
        assert!((4_000..5_000).contains(&row.status()), "{}", row.name);
        assert_eq!(i32::from(row.status()), row.code as i32);
        assert_eq!(from_status(row.status()), Some(row.code));
    }
    assert_eq!(from_status(0), None);
    assert_eq!(from_status(1000), None);
    assert_eq!(from_status(status(CloseCode::Unspecified)), None);
}

#[test]
fn an_unknown_code_is_tried_again() {
    assert_eq!(row(CloseCode::Unspecified).next, Next::Resume);
    assert!(TABLE.iter().all(|row| row.code != CloseCode::Unspecified));
}

#[test]
fn a_takeover_is_never_retried_by_itself() {
    assert!(!row(CloseCode::TakenOver).is_retried());
    assert!(!row(CloseCode::LoggedInAgain).is_retried());
}

#[test]
fn what_each_code_asks_of_the_client() {
    let of =
        |next| TABLE.iter().filter(|row| row.next == next).map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(of(Next::Stop), ["LEFT", "TAKEN_OVER", "SUPERSEDED"]);
    assert_eq!(of(Next::Moved), ["MOVED", "WRONG_NODE"]);
    assert_eq!(of(Next::Wait), ["FLOODED", "ADMISSION_TIMEOUT", "FULL", "NOT_READY"]);
    assert_eq!(
        of(Next::LogInAgain),
        ["ENDED", "SESSION_UNKNOWN", "TOKEN_RETIRED", "IDLE", "LIFETIME"]
    );
    assert_eq!(
        of(Next::Resume),
        [
            "HANDSHAKE_TIMEOUT",
            "HEARTBEAT_LOST",
            "TOO_SLOW",
            "SHUTTING_DOWN",
            "ZONE_FAULT",
            "STORE_FAILED"
        ]
    );
}
