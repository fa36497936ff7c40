//! Changing places: what is on its way while a session goes from one zone to another or to none.

use std::time::Duration;

use rejoin_core::exchange::Hold;
use rejoin_core::id::ZoneId;
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Place;
use rejoin_core::wire::v1::{CloseCode, Rung};

use crate::desk::client::message;
use crate::desk::{Desk, config};

#[test]
fn frames_that_the_zone_just_left_still_has_come_before_those_after_a_refused_transfer() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let plaza = ZoneId::of("plaza", "p");
    desk.asleep = Some(plaza);
    desk.up("ann", message("deny plaza q"));
    desk.up("ann", message("first"));
    // The zone transfers ann, the target refuses, and the zone has not read what came behind.
    desk.feed_zone(plaza);
    desk.run();
    assert!(desk.is_in_lobby("ann"));
    desk.up("ann", message("second"));
    assert_eq!(desk.closed("ann"), None);
    desk.asleep = None;
    desk.run();
    assert_eq!(desk.closed("ann"), None);
    let number = desk.client("ann").number;
    assert_eq!(desk.client("ann").applied, number);
    let refused = |number: u64| format!("refused {number} NotMember");
    let expected = [
        "out Transferred".to_owned(),
        "refused 0 JoinDenied".to_owned(),
        refused(number - 1),
        refused(number),
    ];
    assert_eq!(desk.take("ann"), expected);
    desk.assert_plays("bob");
}

#[test]
fn a_session_that_drops_while_it_joins_is_held_as_long_as_its_zone_says() {
    let mut config = config();
    let kind = config.kinds.get_mut("plaza").expect("the stories have it");
    kind.config.hold = Hold::Timed(Duration::from_secs(20));
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.hold_zones = true;
    desk.join("ann", "plaza");
    assert!(matches!(desk.place("ann"), Some(Place::Joining(_))));
    desk.cut("ann");
    desk.wait(15_000);
    assert!(desk.place("ann").is_some(), "the zone's hold is 20 s, the session's own is 5 s");
    desk.wait(6_000);
    desk.hold_zones = false;
    desk.run();
    assert!(desk.place("ann").is_none());
}

#[test]
fn a_session_that_dropped_while_it_joined_is_held_until_the_match_ends() {
    let mut desk = Desk::plain();
    desk.login("bob");
    desk.join("bob", "match");
    desk.say("bob", "start");
    desk.login("ann");
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.join("ann", "match");
    assert!(matches!(desk.place("ann"), Some(Place::Joining(_))));
    desk.cut("ann");
    desk.wait(1_000);
    desk.store.release();
    desk.run();
    assert!(desk.is_in("ann", "match"));
    desk.wait(60_000);
    assert!(desk.is_in("ann", "match"), "the match still runs");
    desk.say("bob", "stop");
    desk.wait(6_000);
    assert!(desk.place("ann").is_none());
}

/// A client with its session on the way into a zone that holds nobody.
fn on_the_way_into_none() -> Desk {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.hold_zones = true;
    desk.say("ann", "transfer none p");
    assert!(matches!(desk.place("ann"), Some(Place::Joining(_))));
    desk
}

#[test]
fn a_drop_on_the_way_into_a_place_without_a_hold_ends_nobody() {
    let mut desk = on_the_way_into_none();
    desk.cut("ann");
    desk.wait(4_000);
    desk.hold_zones = false;
    desk.run();
    assert!(desk.view("ann").is_some(), "its client has not heard that it is there");
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    assert!(desk.is_in("ann", "none"));
    desk.cut("ann");
    assert!(desk.view("ann").is_none(), "inside, a drop ends the session at once");
}

#[test]
fn a_hold_on_the_way_into_a_place_without_one_ends() {
    let mut desk = on_the_way_into_none();
    desk.cut("ann");
    desk.wait(5_001);
    desk.hold_zones = false;
    desk.run();
    assert!(desk.view("ann").is_none());
}

#[test]
fn a_crash_on_the_way_into_a_place_without_a_hold_ends_nobody() {
    let mut desk = on_the_way_into_none();
    desk.crash();
    desk.hold_zones = false;
    desk.restart();
    assert!(desk.view("ann").is_some(), "it was not let in before the crash");
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    assert!(desk.is_in("ann", "none"));
}

#[test]
fn a_member_that_is_severed_as_it_is_transferred_is_held() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.mute("ann");
    desk.say("bob", "many 6");
    desk.hold_zones = true;
    let ann = desk.id("ann").0;
    desk.say("bob", &format!("kick {ann} none"));
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow), "what it had not heard is gone");
    assert!(desk.view("ann").is_some(), "it can come back, as that code says");
}

/// The zone parts a returning member before it has welcomed it: the session does that where it is then.
#[test]
fn who_is_sent_away_on_its_return_is_welcomed_where_it_goes() {
    for (order, zone) in
        [("on return part", None), ("on return next", Some(ZoneId::of("plaza", "next")))]
    {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.say("ann", order);
        desk.hush();
        desk.cut("ann");
        let welcome = desk.resume("ann");
        assert_eq!(welcome.rung(), Rung::Replayed, "{order}");
        let place = desk.place("ann").expect("it is held");
        assert_eq!(place.zone(), zone, "{order}");
        assert!(zone.is_none_or(|zone| place.is_in(zone)), "{order}");
        let heard = desk.take("ann");
        assert!(heard.iter().any(|said| said.starts_with("out")), "{order}: {heard:?}");
        assert_eq!(desk.closed("ann"), None, "{order}");
    }
}
