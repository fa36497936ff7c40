//! Changing places: what is on its way while a session goes from one zone to another or to none.

use std::time::Duration;

use rejoin_core::exchange::{Departed, Hold, ToHub, ToSession};
use rejoin_core::hub::HubInput;
use rejoin_core::id::{Leg, SessionEpoch, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Place;
use rejoin_core::stream::{Kept, Tail};
use rejoin_core::wire::SharedFrame;
use rejoin_core::wire::v1::{
    CloseCode, Down, Message, PartCause, Rung, ServerFrame, down, server_frame, up,
};

use crate::desk::client::message;
use crate::desk::{Desk, config, join};

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

/// The zone is asked to let the session in while the connection still waits for its Welcome: what the zone says
/// comes after that.
#[test]
fn who_returns_on_its_way_into_a_zone_is_welcomed_before_the_zone_speaks() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.hold_zones = true;
    desk.join("ann", "plaza");
    desk.cut("ann");
    desk.take("ann");
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "it waits for the zone");
    desk.hold_zones = false;
    desk.run();
    let ann = desk.id("ann");
    let expected =
        ["welcome Replayed Complete".to_owned(), "in plaza/p".to_owned(), format!("joined {ann}")];
    assert_eq!(desk.take("ann"), expected);
    desk.assert_plays("ann");
}

/// Frames that wait for the end of a join go to where the session is afterwards.
#[test]
fn frames_behind_a_join_that_is_refused_are_answered_outside_and_once() {
    let denied = ("deny", "refused 1 JoinDenied");
    let panics = ("panic", "refused 1 ZoneFault");
    for (payload, refusal) in [denied, panics] {
        let mut desk = Desk::with_plaza(&["bob"]);
        desk.login("ann");
        desk.take("ann");
        // The zone is asked while more frames come than the session will have taken by then.
        desk.asleep = Some(ZoneId::of("plaza", "p"));
        desk.queue("ann", join("plaza", "p", payload));
        desk.queue("ann", message("say lost"));
        desk.queue("ann", up::Body::Part(Default::default()));
        desk.run();
        assert_eq!(desk.take("ann"), [""; 0], "nothing is decided");
        desk.queue("ann", join("plaza", "p", ""));
        desk.queue("ann", message("say heard"));
        desk.asleep = None;
        desk.run();
        let ann = desk.id("ann");
        let heard = desk.take("ann");
        let joined = format!("joined {ann}");
        let expected =
            [refusal, "refused 2 NotMember", "refused 3 NotMember", "in plaza/p", &joined, "heard"];
        assert_eq!(heard, expected);
        assert_eq!(desk.client("ann").applied, 5);
        assert!(!desk.take("bob").contains(&"lost".to_owned()));
        desk.assert_plays("ann");
        desk.assert_plays("bob");
    }
}

/// The driver finds a zone stuck on a number of a client whose admission is lost with that incarnation: the
/// next one is told with the join that it must not run the number.
#[test]
fn a_number_that_made_a_zone_fail_is_refused_behind_a_join_that_is_asked_for_again() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    let plaza = ZoneId::of("plaza", "p");
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.join("ann", "plaza");
    desk.say("ann", "say stuck");
    assert!(matches!(desk.place("ann"), Some(Place::Joining(_))));
    let owner = desk.zones[&plaza].machine.owner();
    let poisoned = Some((desk.id("ann"), desk.client("ann").number));
    let text = "Stuck".to_owned();
    desk.zones.remove(&plaza);
    let faulted = ToHub::Faulted { poisoned, stuck: true, left: Vec::new(), text };
    desk.input(HubInput::FromZone(plaza, owner, faulted));
    desk.store.release();
    desk.run();
    let ann = desk.id("ann");
    let joined = format!("joined {ann}");
    assert_eq!(desk.take("ann"), ["in plaza/p", &joined, "refused 2 ZoneFault"]);
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

/// What a zone says of a member that has left it, once more. The tail has a frame that nobody may hear.
fn departed_again(stay: u32, applied: u64) -> Departed {
    let payload = "again".into();
    let body = Some(down::Body::Message(Message { payload, ..Message::default() }));
    let frame = Some(server_frame::Frame::Down(Down { seq: 9, body }));
    let frame = SharedFrame::new(&ServerFrame { frame });
    let kept = [Kept { seq: 9, frame }].into();
    Departed {
        stay,
        tail: Tail { leg: Leg::first(stay), from: 8, last: 9, kept },
        sent: 8,
        has_link: true,
        epoch: SessionEpoch(1),
        applied,
        cause: PartCause::Asked,
        next: None,
        data: "earlier".into(),
        heard: 0,
    }
}

fn depart_again(desk: &mut Desk, ann: SessionId, departed: Departed) {
    let plaza = ZoneId::of("plaza", "p");
    let owner = desk.zones[&plaza].machine.owner();
    let said = ToSession::Departed(Box::new(departed));
    desk.input(HubInput::FromZone(plaza, owner, ToHub::Session(ann, said)));
}

/// A zone says that a member has left until the session has taken over, so it can come twice. By then the
/// session is outside, in another zone, refused there, or over.
#[test]
fn a_zone_that_says_twice_who_has_left_changes_nothing_the_second_time() {
    for act in ["part", "transfer plaza q", "deny plaza q", "bye"] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        let ann = desk.id("ann");
        let stay = Leg::from_wire(desk.client("ann").leg).stay;
        match act {
            "part" => desk.part("ann"),
            "bye" => desk.bye("ann"),
            transfer => desk.say("ann", transfer),
        }
        desk.hush();
        let (place, members) = (desk.place("ann"), desk.members("plaza"));
        let leg = desk.client("ann").leg;
        depart_again(&mut desk, ann, departed_again(stay, 1));
        assert_eq!(desk.take("ann"), [""; 0], "{act}");
        assert_eq!((desk.place("ann"), desk.members("plaza")), (place, members), "{act}");
        desk.assert_plays("bob");
        if act == "bye" {
            continue;
        }
        let session = desk.hub.session(ann).expect("it goes on");
        assert_eq!(session.leg(), Leg::from_wire(leg), "{act}");
        assert_eq!(desk.closed("ann"), None, "{act}");
        if desk.is_in_lobby("ann") {
            desk.join("ann", "plaza");
        }
        desk.assert_plays("ann");
        desk.cut("ann");
        assert_eq!(desk.resume("ann").rung(), Rung::Replayed, "{act}");
        desk.assert_plays("ann");
    }
}

/// The session hears that the zone has welcomed its client before it hears that the client has left.
#[test]
fn who_is_parted_while_it_is_given_the_whole_state_is_heard_outside_afterwards() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("bob", "on resync part");
    desk.cut("ann");
    assert_eq!(desk.resume_cold("ann").rung(), Rung::Resynced);
    assert!(desk.is_in_lobby("ann"));
    desk.take("ann");
    desk.say("ann", "x");
    let heard = desk.take("ann");
    assert!(heard.last().is_some_and(|said| said.ends_with("NotMember")), "{heard:?}");
    desk.join("ann", "cells");
    assert_eq!(desk.closed("ann"), None);
}
