//! Zones that clients open: one that nobody got into does not stay, and no address opens them all.

use std::time::Duration;

use rejoin_core::budget::Quota;
use rejoin_core::guard::Origin;
use rejoin_core::hub::{Command, SessionCommand, ZoneCommand};
use rejoin_core::id::ZoneId;
use rejoin_core::scope::ScopeId;

use crate::desk::{Desk, config, join};

fn zone(name: &str) -> ZoneId {
    ZoneId::of("plaza", name)
}

#[test]
fn a_zone_whose_opener_is_denied_ends_and_leaves_nothing_behind() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    for number in 0..20 {
        desk.join_with("ann", "plaza", &format!("z{number}"), "deny");
        let number = desk.client("ann").number;
        assert!(desk.take("ann").contains(&format!("refused {number} JoinDenied")));
    }
    assert_eq!(desk.zones.keys().copied().collect::<Vec<_>>(), [zone("p")]);
    assert!(!desk.store.ids().contains(&ScopeId::Zone(zone("z0"))), "no scope is left");
    assert_eq!(desk.closed("ann"), None, "it is a refusal, no fault");
    desk.join_with("ann", "plaza", "z0", "");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_zone_that_somebody_got_into_stays_when_another_is_denied() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
    }
    // Both ask before the zone is open: ann's Join opens it.
    desk.hold_zones = true;
    desk.join_with("ann", "plaza", "z", "deny");
    desk.join_with("bob", "plaza", "z", "");
    desk.hold_zones = false;
    desk.run();
    assert!(desk.zones.contains_key(&zone("z")));
    desk.assert_plays("bob");
    // Once somebody was in, it is the game's to end it.
    desk.part("bob");
    desk.join_with("ann", "plaza", "z", "deny");
    assert!(desk.zones.contains_key(&zone("z")));
}

#[test]
fn a_zone_whose_opener_is_gone_before_it_is_open_ends() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.hold_zones = true;
    desk.join_with("ann", "plaza", "z", "");
    desk.command(Command::Session(
        desk.id("ann"),
        SessionCommand::End(rejoin_core::event::EndCause::Kicked),
    ));
    assert!(desk.view("ann").is_none());
    desk.hold_zones = false;
    desk.run();
    assert!(!desk.zones.contains_key(&zone("z")), "nobody wants it any more");
    desk.assert_plays("bob");
}

#[test]
fn a_zone_whose_opener_makes_it_panic_ends() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.join_with("ann", "plaza", "z", "panic");
    assert!(!desk.zones.contains_key(&zone("z")));
    desk.assert_plays("bob");
}

#[test]
fn a_zone_that_the_server_opened_stays_when_a_join_is_denied() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.command(Command::Zone(ZoneCommand::Open(crate::desk::zone("plaza"))));
    desk.join_with("ann", "plaza", "p", "deny");
    assert!(desk.is_open("plaza"));
}

#[test]
fn one_address_cannot_open_all_zones_there_may_be() {
    let mut config = config();
    config.guard.address_zones_max = 3;
    let mut desk = Desk::new(config);
    desk.origin = Some(Origin::v4(1));
    for (index, name) in ["ann", "bea", "cid", "dan"].into_iter().enumerate() {
        desk.login(name);
        desk.up(name, join("plaza", &format!("z{index}"), ""));
    }
    assert_eq!(desk.zones.len(), 3);
    assert!(desk.take("dan").contains(&"refused 1 CreateDenied".to_owned()));
    desk.join_with("dan", "plaza", "z0", "");
    desk.assert_plays("dan");
    // Another address is not concerned, and a zone that has ended makes room.
    desk.origin = Some(Origin::v4(2));
    desk.login("eve");
    desk.join_with("eve", "plaza", "z4", "");
    desk.assert_plays("eve");
    desk.say("bea", "end");
    desk.join_with("bea", "plaza", "z5", "");
    desk.assert_plays("bea");
}

#[test]
fn one_address_opens_so_many_zones_in_a_while() {
    let mut config = config();
    config.guard.address_opens = Quota { most: 3, within: Duration::from_secs(30) };
    let mut desk = Desk::new(config);
    desk.origin = Some(Origin::v4(1));
    for name in ["ann", "bea"] {
        desk.login(name);
    }
    // Rooms that are refused or have ended count as well: it is opening them that costs.
    desk.up("ann", join("plaza", "z0", "deny"));
    desk.up("ann", join("plaza", "z1", "deny"));
    desk.join_with("bea", "plaza", "z2", "");
    desk.take("ann");
    desk.up("ann", join("plaza", "z3", ""));
    assert!(desk.take("ann").contains(&"refused 3 CreateDenied".to_owned()));
    assert!(!desk.zones.contains_key(&zone("z3")));
    // A zone that is there is not opened, and another address is not concerned.
    desk.join_with("ann", "plaza", "z2", "");
    desk.assert_plays("ann");
    desk.origin = Some(Origin::v4(2));
    desk.login("eve");
    desk.join_with("eve", "plaza", "z4", "");
    desk.assert_plays("eve");
    // The quota comes back evenly.
    desk.wait(10_001);
    desk.origin = Some(Origin::v4(1));
    desk.login("fay");
    desk.join_with("fay", "plaza", "z5", "");
    desk.assert_plays("fay");
}
