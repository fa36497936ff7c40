//! Who is let in, who is not, and that a place is given back.

use super::*;
use crate::budget::Rate;

const ANN: Option<Origin> = Some(Origin::v4(1));
const BOB: Option<Origin> = Some(Origin::v4(2));

fn door(config: GuardConfig) -> Door {
    Door::new(config)
}

fn what(refused: Result<Ticket, DoorRefusal>) -> Offence {
    refused.expect_err("not let in").what
}

#[test]
fn an_address_has_so_many_places_and_gets_them_back() {
    let mut door = door(GuardConfig { address_connections_max: 2, ..GuardConfig::open() });
    let first = door.admit(Time::ZERO, ANN).expect("room");
    let second = door.admit(Time::ZERO, ANN).expect("room");
    assert_eq!(what(door.admit(Time::ZERO, ANN)), Offence::Connections);
    let bob = door.admit(Time::ZERO, BOB).expect("another address");
    door.leave(first);
    let third = door.admit(Time::ZERO, ANN).expect("a place came free");
    for ticket in [second, third, bob] {
        door.leave(ticket);
    }
    assert_eq!(door.open_count(), 0);
}

#[test]
fn all_together_have_so_many_places() {
    let mut door = door(GuardConfig { connections_max: 2, ..GuardConfig::open() });
    let inside = door.admit(Time::ZERO, None).expect("room");
    door.admit(Time::ZERO, ANN).expect("room");
    let refused = door.admit(Time::ZERO, BOB).expect_err("full");
    assert_eq!((refused.what, refused.wait.is_zero()), (Offence::Crowd, false));
    door.leave(inside);
    assert!(door.admit(Time::ZERO, BOB).is_ok());
}

#[test]
fn an_address_that_comes_too_often_waits_and_is_told_once() {
    let address_connects = Rate { per_second: 10, burst: 3 };
    let mut door = door(GuardConfig { address_connects, ..GuardConfig::open() });
    for _ in 0..3 {
        let ticket = door.admit(Time::ZERO, ANN).expect("within the burst");
        door.leave(ticket);
    }
    let first = door.admit(Time::ZERO, ANN).expect_err("too often");
    assert_eq!((first.what, first.step), (Offence::Connects, Some(Step::Sever)));
    assert_eq!(first.wait, Duration::from_millis(100));
    let again = door.admit(Time::ZERO, ANN).expect_err("too often");
    assert_eq!(again.step, None, "it was told");
    assert!(door.admit(Time::ZERO, BOB).is_ok());
    assert!(door.admit(Time::from_millis(100), ANN).is_ok());
}

#[test]
fn a_barred_address_waits_and_its_neighbours_do_not() {
    let mut door = door(GuardConfig::open());
    door.bar(Time::ZERO, Origin::v4(1), Duration::from_secs(3));
    assert_eq!(what(door.admit(Time::from_millis(2_999), ANN)), Offence::Violations);
    assert!(door.admit(Time::from_millis(2_999), BOB).is_ok());
    assert!(door.admit(Time::from_millis(3_000), ANN).is_ok());
}

#[test]
fn a_site_of_ipv6_has_sixteen_times_the_places_of_an_address_and_no_more() {
    let mut door = door(GuardConfig { address_connections_max: 2, ..GuardConfig::open() });
    let host = |network: u128| Some(Origin::v6((0x2001_0db8_0001_0000 | network) << 64));
    let let_in = (0..1_000).filter(|network| door.admit(Time::ZERO, host(*network)).is_ok());
    assert_eq!(let_in.count(), 32);
    // A thousand networks that were refused left nothing behind.
    assert!(door.addresses.len() <= 32 + 16 + 1, "{}", door.addresses.len());
    let elsewhere = Some(Origin::v6(0x2001_0db8_0002_0000 << 64));
    assert!(door.admit(Time::ZERO, elsewhere).is_ok(), "another site");
}

#[test]
fn the_record_that_strangers_share_is_never_barred() {
    let mut door = door(GuardConfig { addresses_max: 1, ..GuardConfig::open() });
    let _ann = door.admit(Time::ZERO, ANN).expect("room");
    // No place is left in the table: bob and everybody new share a record.
    door.bar(Time::ZERO, Origin::v4(2), Duration::from_secs(60));
    assert!(door.admit(Time::ZERO, BOB).is_ok());
    assert!(door.admit(Time::ZERO, Some(Origin::v4(3))).is_ok());
    door.bar(Time::ZERO, Origin::v4(1), Duration::from_secs(60));
    assert_eq!(what(door.admit(Time::ZERO, ANN)), Offence::Violations);
}

#[test]
fn an_address_may_ask_so_much_over_http() {
    let address_requests = Rate { per_second: 10, burst: 3 };
    let mut door = door(GuardConfig { address_requests, ..GuardConfig::open() });
    let (ann, bob) = (Origin::v4(1), Origin::v4(2));
    assert!((0..3).all(|_| door.request(Time::ZERO, ann).is_ok()));
    let refused = door.request(Time::ZERO, ann).expect_err("the fourth at once");
    assert_eq!((refused.what, refused.wait), (Offence::Requests, Duration::from_millis(100)));
    assert!(door.request(Time::ZERO, bob).is_ok());
    assert!(door.request(Time::from_millis(100), ann).is_ok());
}

#[test]
fn a_million_addresses_leave_no_trace_and_push_nobody_out() {
    let mut door = door(GuardConfig { addresses_max: 1_000, ..GuardConfig::default() });
    let ann = door.admit(Time::ZERO, ANN).expect("room");
    for address in 10..1_000_010_u32 {
        let now = Time(u64::from(address));
        if let Ok(ticket) = door.admit(now, Some(Origin::v6(u128::from(address) << 64))) {
            door.leave(ticket);
        }
    }
    assert!(door.addresses.len() <= 1_000);
    assert_eq!(door.open_count(), 1);
    door.leave(ann);
    assert_eq!(door.open_count(), 0);
}
