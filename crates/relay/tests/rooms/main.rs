//! Relays in whole worlds: real clients, links that are cut, a server that crashes.

mod orders;

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::zone::Message;
use rejoin_relay::fact::{Fact, Heard, Player, Reason, Room};
use rejoin_relay::order::{Delivery, Fate, Of, Order, Said, To, Verb};
use rejoin_relay::{KIND, Relay, RelayConfig};
use rejoin_testkit::{ClientEvent, ClientId, Rung, World};

use self::orders::{body, lead, send, set};

const SOON: Duration = Duration::from_secs(1);

fn world(config: RelayConfig, seed: u64) -> World {
    let zone = config.zone();
    World::of(KIND, zone, move || Relay::new(config.clone())).start(seed)
}

/// People in one room, in this order.
fn room<const N: usize>(world: &mut World, names: [&str; N]) -> [ClientId; N] {
    names.map(|name| {
        let who = world.client(name);
        world.run_until("it is in", |world| world.is_connected(who));
        world.join_with(who, KIND, "room", "{}");
        world.run(SOON);
        who
    })
}

/// What somebody was told, without what was said to it before.
fn facts(world: &mut World, who: ClientId) -> Vec<Fact> {
    world.heard::<Heard>(who).into_iter().map(|heard| heard.fact).collect()
}

/// Everybody's ears are empty.
fn hush<const N: usize>(world: &mut World, all: [ClientId; N]) {
    for who in all {
        world.client_events(who);
    }
}

/// The answer to an order, as a request.
fn ask(world: &mut World, who: ClientId, said: Said) -> Fact {
    let request = world.request(who, said);
    world.run(SOON);
    let events = world.client_events(who);
    let reply = events.into_iter().find_map(|event| match event {
        ClientEvent::Reply { request: of, payload } if of == request => Some(payload),
        _ => None,
    });
    Heard::decode(reply.expect("an answer")).expect("a fact").fact
}

/// The room as the last Joined or Resync told it.
fn told_room(world: &mut World, who: ClientId) -> Option<Room> {
    let events = world.client_events(who);
    let payload = events.into_iter().rev().find_map(|event| match event {
        ClientEvent::Joined { payload, .. } => Some(payload),
        ClientEvent::Resync { snapshot, .. } => Some(snapshot),
        _ => None,
    })?;
    match Heard::decode(payload).expect("a fact").fact {
        Fact::Room(room) => Some(room),
        _ => None,
    }
}

fn refused(fact: &Fact) -> Option<Reason> {
    match fact {
        Fact::Refused { reason, .. } => Some(*reason),
        _ => None,
    }
}

fn number(world: &World, who: ClientId) -> u64 {
    world.session_of(who).expect("a session").0
}

fn host(facts: &[Fact]) -> Option<(Option<u64>, u64)> {
    facts.iter().rev().find_map(|fact| match fact {
        Fact::Host { member, term } => Some((*member, *term)),
        _ => None,
    })
}

#[test]
fn messages_reach_whom_they_are_for() {
    let mut world = world(RelayConfig::default(), 1);
    let [ann, bob, cat] = room(&mut world, ["ann", "bob", "cat"]);
    hush(&mut world, [ann, bob, cat]);
    let (ann_is, bob_is) = (number(&world, ann), number(&world, bob));
    world.say(ann, send(To::All, "all"));
    world.say(ann, send(To::Others, "others"));
    world.say(bob, send(To::Host, "host"));
    world.say(cat, send(To::Member(rejoin_core::id::SessionId(bob_is)), "one"));
    world.say(ann, body(Order::Bare, "bare"));
    world.run(SOON);
    let mut heard = |who| {
        let heard = world.heard::<Heard>(who).into_iter();
        let text = |heard: Heard| String::from_utf8_lossy(&heard.body).into_owned();
        // Of several senders, who comes first is not said.
        let mut heard: Vec<String> = heard.map(text).collect();
        heard.sort_unstable();
        heard
    };
    assert_eq!(heard(ann), ["all", "host"]);
    assert_eq!(heard(bob), ["all", "bare", "one", "others"]);
    assert_eq!(heard(cat), ["all", "bare", "others"]);
    assert_ne!(ann_is, bob_is);
    let nobody = send(To::Member(rejoin_core::id::SessionId(999)), "x");
    assert_eq!(refused(&ask(&mut world, ann, nobody)), Some(Reason::NoSuchMember));
}

#[test]
fn a_refusal_is_told_with_the_number_of_its_order() {
    let mut world = world(RelayConfig::default(), 2);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    hush(&mut world, [ann, bob]);
    world.say(bob, lead(Verb::Lock, None));
    world.run(SOON);
    assert_eq!(
        facts(&mut world, bob),
        [Fact::Refused { to: 2, reason: Reason::NotHost, version: None }]
    );
    assert_eq!(facts(&mut world, ann), []);
}

#[test]
fn keys_are_shared_with_versions_and_seen_by_who_comes_later() {
    let mut world = world(RelayConfig::default(), 3);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    assert_eq!(
        ask(&mut world, ann, set("map", Of::All, None, "cave")),
        Fact::Done { version: Some(1) }
    );
    assert_eq!(
        ask(&mut world, bob, set("name", Of::Me, None, "Bob")),
        Fact::Done { version: Some(2) }
    );
    // Both saw version 1; the second is told what stands.
    let done = ask(&mut world, bob, set("map", Of::All, Some(1), "wood"));
    assert_eq!(done, Fact::Done { version: Some(3) });
    let late = ask(&mut world, ann, set("map", Of::All, Some(1), "hill"));
    assert!(matches!(late, Fact::Refused { reason: Reason::Version, version: Some(3), .. }));
    // Only what is not there yet.
    let again = ask(&mut world, ann, set("map", Of::All, Some(0), "hill"));
    assert_eq!(refused(&again), Some(Reason::Version));

    let cat = world.client("cat");
    world.run_until("cat is in", |world| world.is_connected(cat));
    world.join_with(cat, KIND, "room", "{}");
    world.run(SOON);
    let latest = world.client_events(cat).into_iter().find_map(|event| match event {
        ClientEvent::Joined { latest, .. } => Some(latest),
        _ => None,
    });
    let mut keys: Vec<(String, String)> = latest
        .expect("joined")
        .into_iter()
        .map(|value| {
            let heard = Heard::decode(value.payload).expect("a fact");
            (value.key, String::from_utf8_lossy(&heard.body).into_owned())
        })
        .collect();
    keys.sort();
    let own = format!("p/{}/name", number(&world, bob));
    assert_eq!(keys, [(own, "Bob".to_owned()), ("s/map".to_owned(), "wood".to_owned())]);

    // Bob parts and takes his name along; the map stays.
    world.client_events(cat);
    world.part(bob);
    world.run(SOON);
    let cleared = world.client_events(cat).into_iter().filter_map(|event| match event {
        ClientEvent::Latest { key, payload: None } => Some(key),
        _ => None,
    });
    assert_eq!(cleared.count(), 1);
}

#[test]
fn a_value_survives_a_crash_and_its_version_goes_on() {
    let mut world = world(RelayConfig::default(), 4);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    assert_eq!(
        ask(&mut world, ann, set("map", Of::All, None, "cave")),
        Fact::Done { version: Some(1) }
    );
    ask(
        &mut world,
        ann,
        body(Order::Delete { key: "map".to_owned(), of: Of::All, only_if: Some(1) }, ""),
    );
    world.crash();
    world.run(Duration::from_secs(10));
    world.recover();
    world.run_until("they are back", |world| world.is_connected(ann) && world.is_connected(bob));
    assert_eq!(world.rung(ann), Some(Rung::Replayed));
    let again = ask(&mut world, bob, set("map", Of::All, Some(0), "hill"));
    assert!(matches!(again, Fact::Done { version: Some(version) } if version > 1), "{again:?}");
}

#[test]
fn latest_messages_are_bounded_and_go_with_their_sender() {
    let config = RelayConfig { latest_max: 1, ..RelayConfig::default() };
    let mut world = world(config, 5);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    let latest = |key: &str, text: &'static str| {
        let order = Order::Send { to: To::All, delivery: Delivery::Latest, key: key.to_owned() };
        body(order, text)
    };
    assert_eq!(ask(&mut world, ann, latest("pos", "1")), Fact::Done { version: None });
    assert_eq!(ask(&mut world, ann, latest("pos", "2")), Fact::Done { version: None });
    assert_eq!(refused(&ask(&mut world, ann, latest("aim", "3"))), Some(Reason::TooManyKeys));
    assert_eq!(refused(&ask(&mut world, ann, latest("", "3"))), Some(Reason::BadKey));
    let order = Order::Send { to: To::Others, delivery: Delivery::Latest, key: "pos".to_owned() };
    assert_eq!(refused(&ask(&mut world, ann, body(order, "4"))), Some(Reason::BadDelivery));
    hush(&mut world, [bob]);
    world.part(ann);
    world.run(SOON);
    let cleared = |event: &ClientEvent| matches!(event, ClientEvent::Latest { payload: None, .. });
    assert_eq!(world.client_events(bob).iter().filter(|event| cleared(event)).count(), 1);
}

#[test]
fn objects_are_kept_over_a_drop_and_handed_over_at_its_holds_end() {
    let mut world = world(RelayConfig::default(), 6);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    let own = |object, on_part| body(Order::Own { object, on_part }, "");
    for (object, fate) in [(1, Fate::Keep), (2, Fate::HandOver), (3, Fate::Destroy)] {
        assert_eq!(ask(&mut world, ann, own(object, fate)), Fact::Done { version: None });
    }
    assert_eq!(refused(&ask(&mut world, bob, own(1, Fate::Keep))), Some(Reason::NotOwner));
    hush(&mut world, [bob]);

    world.offline(ann);
    world.run(Duration::from_secs(20));
    world.online(ann);
    world.run_until("ann is back", |world| world.is_connected(ann));
    assert_eq!(world.rung(ann), Some(Rung::Replayed));
    let owners =
        |facts: Vec<Fact>| facts.into_iter().filter(|f| matches!(f, Fact::Owner { .. })).collect();
    let told: Vec<Fact> = owners(facts(&mut world, bob));
    assert_eq!(told, [], "a drop changes nothing");
    assert_eq!(
        ask(&mut world, ann, own(1, Fate::Keep)),
        Fact::Done { version: None },
        "still hers"
    );

    hush(&mut world, [ann, bob]);
    world.offline(ann);
    world.run(Duration::from_secs(70));
    let told: Vec<Fact> = owners(facts(&mut world, bob));
    let bob_is = world
        .sessions()
        .iter()
        .find(|view| Some(view.id) == world.session_of(bob))
        .map(|view| Player(view.player));
    assert_eq!(
        told,
        [Fact::Owner { object: 2, player: bob_is }, Fact::Owner { object: 3, player: None }]
    );
}

#[test]
fn a_host_who_drops_is_waited_for_and_then_followed() {
    let mut world = world(RelayConfig::default(), 7);
    let [ann, bob, cat] = room(&mut world, ["ann", "bob", "cat"]);
    let (ann_is, bob_is) = (number(&world, ann), number(&world, bob));
    assert_eq!(
        told_room(&mut world, cat).map(|room| (room.host, room.term)),
        Some((Some(ann_is), 1))
    );
    assert_eq!(ask(&mut world, ann, lead(Verb::StartMatch, None)), Fact::Done { version: None });

    // A short drop changes nothing.
    hush(&mut world, [ann, bob, cat]);
    world.cut(ann);
    world.run(Duration::from_secs(4));
    assert_eq!(host(&facts(&mut world, bob)), None);

    // A long one does; whoever has been there longest follows.
    world.offline(ann);
    world.run(Duration::from_secs(8));
    assert_eq!(host(&facts(&mut world, bob)), Some((Some(bob_is), 2)));
    assert_eq!(host(&facts(&mut world, cat)), Some((Some(bob_is), 2)));

    // She returns as a member, and hears of it; what she says as the host is refused.
    world.online(ann);
    world.run_until("ann is back", |world| world.is_connected(ann));
    world.run(SOON);
    assert_eq!(host(&facts(&mut world, ann)), Some((Some(bob_is), 2)));
    assert_eq!(refused(&ask(&mut world, ann, lead(Verb::EndMatch, None))), Some(Reason::NotHost));
    assert_eq!(
        refused(&ask(&mut world, bob, lead(Verb::EndMatch, Some(1)))),
        Some(Reason::NotHost)
    );
    assert_eq!(ask(&mut world, bob, lead(Verb::EndMatch, Some(2))), Fact::Done { version: None });
}

#[test]
fn the_host_locks_kicks_hands_over_and_ends() {
    let mut world = world(RelayConfig::default(), 8);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    assert_eq!(ask(&mut world, ann, lead(Verb::Lock, None)), Fact::Done { version: None });
    let cat = world.client("cat");
    world.run_until("cat is connected", |world| world.is_connected(cat));
    world.join_with(cat, KIND, "room", "{}");
    world.run(SOON);
    let denied = |event: &ClientEvent| matches!(event, ClientEvent::Refused { .. });
    assert!(world.client_events(cat).iter().any(denied));
    assert_eq!(ask(&mut world, ann, lead(Verb::Unlock, None)), Fact::Done { version: None });
    assert_eq!(refused(&ask(&mut world, ann, lead(Verb::Kick, None))), Some(Reason::MemberMissing));
    let bob_is = number(&world, bob);
    let mut to_bob = lead(Verb::HandOver, None);
    if let Order::Lead(lead) = &mut to_bob.order {
        lead.member = Some(bob_is);
    }
    hush(&mut world, [bob]);
    assert_eq!(ask(&mut world, ann, to_bob), Fact::Done { version: None });
    assert_eq!(host(&facts(&mut world, bob)), Some((Some(bob_is), 2)));
    let mut kick = lead(Verb::Kick, None);
    if let Order::Lead(lead) = &mut kick.order {
        lead.member = Some(number(&world, ann));
    }
    hush(&mut world, [ann]);
    assert_eq!(ask(&mut world, bob, kick), Fact::Done { version: None });
    let parted = |event: &ClientEvent| matches!(event, ClientEvent::Parted { .. });
    assert!(world.client_events(ann).iter().any(parted));
    world.say(bob, lead(Verb::End, None));
    world.run(SOON);
    assert_eq!(world.zones(), []);
}

#[test]
fn a_room_ends_with_its_last_member() {
    let mut world = world(RelayConfig::default(), 9);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    world.part(ann);
    world.run(SOON);
    assert_eq!(world.zones().len(), 1);
    world.offline(bob);
    world.run(Duration::from_secs(30));
    assert_eq!(world.zones().len(), 1, "he is waited for");
    world.run(Duration::from_secs(60));
    assert_eq!(world.zones(), []);
}

#[test]
fn an_empty_room_stays_for_a_moment_and_its_host_is_whoever_comes() {
    let mut world = world(RelayConfig::default(), 13);
    let [ann] = room(&mut world, ["ann"]);
    assert_eq!(
        ask(&mut world, ann, set("map", Of::All, None, "cave")),
        Fact::Done { version: Some(1) }
    );
    world.part(ann);
    world.run(Duration::from_secs(5));
    let [bob] = room(&mut world, ["bob"]);
    let bob_is = number(&world, bob);
    assert_eq!(told_room(&mut world, bob).map(|room| room.host), Some(Some(bob_is)));
    world.run(Duration::from_secs(20));
    assert_eq!(
        refused(&ask(&mut world, bob, set("map", Of::All, Some(0), "x"))),
        Some(Reason::Version)
    );
}

/// Terms only grow, each has one host, and what the host set stays: through cuts, crashes and stalls.
#[test]
fn there_is_never_more_than_one_host() {
    for seed in 0..12 {
        let mut world = world(RelayConfig::default(), seed);
        let all = room(&mut world, ["ann", "bob", "cat", "dan"]);
        ask(&mut world, all[0], set("map", Of::All, None, "cave"));
        let mut terms = std::collections::BTreeMap::new();
        let mut last = [0; 4];
        for round in 0..20_usize {
            let who = all[(round * 7 + seed as usize) % 4];
            match (round + seed as usize) % 5 {
                0 => world.cut(who),
                1 => world.cut_silently(who),
                2 => world.reload(who),
                3 => {
                    world.offline(who);
                    world.run(Duration::from_secs(7));
                    world.online(who);
                }
                _ => {
                    world.crash();
                    world.run(Duration::from_secs(2));
                    world.recover();
                }
            }
            world.run(Duration::from_secs(3));
            for (index, who) in all.into_iter().enumerate() {
                // A room in between tells the term as it is, too.
                for event in world.client_events(who) {
                    let payload = match event {
                        ClientEvent::Message { payload } | ClientEvent::Joined { payload, .. } => {
                            payload
                        }
                        ClientEvent::Resync { snapshot, .. } => snapshot,
                        _ => continue,
                    };
                    let (member, term) = match Heard::decode(payload).expect("a fact").fact {
                        Fact::Host { member, term } => (member, term),
                        Fact::Room(room) => (room.host, room.term),
                        _ => continue,
                    };
                    assert_eq!(
                        *terms.entry(term).or_insert(member),
                        member,
                        "seed {seed}, term {term}"
                    );
                    assert!(term >= last[index], "seed {seed}: term {term} after {}", last[index]);
                    last[index] = term;
                }
            }
        }
        world.run_until("all are back", |world| all.iter().all(|who| world.is_connected(*who)));
        world.run(Duration::from_secs(8));
        assert!(terms.len() > 1, "seed {seed}: the host changed");
        let kept = ask(&mut world, all[1], set("map", Of::All, Some(1), "wood"));
        assert!(matches!(kept, Fact::Done { .. }), "seed {seed}: {kept:?}");
    }
}

#[test]
fn a_payload_that_is_no_order_is_refused_and_costs_nothing() {
    let mut world = world(RelayConfig::default(), 10);
    let [ann, bob] = room(&mut world, ["ann", "bob"]);
    hush(&mut world, [ann, bob]);
    world.say(ann, Bytes::from_static(b"{\"sendd\":{}}"));
    world.say(ann, send(To::Others, "after"));
    world.run(SOON);
    let refused = |event: &ClientEvent| matches!(event, ClientEvent::Refused { .. });
    assert!(world.client_events(ann).iter().any(refused));
    assert_eq!(world.heard::<Heard>(bob).len(), 1);
}

#[test]
fn who_joins_without_a_payload_hears_only_what_is_said() {
    let mut world = world(RelayConfig::default(), 11);
    let [ann] = room(&mut world, ["ann"]);
    let bob = world.client("bob");
    world.run_until("bob is connected", |world| world.is_connected(bob));
    world.join(bob, KIND, "room");
    world.run(SOON);
    world.cut(ann);
    world.run(Duration::from_secs(3));
    world.crash();
    world.recover();
    world.run(Duration::from_secs(5));
    world.say(ann, send(To::Others, "with a header"));
    world.run(SOON);
    world.say(ann, body(Order::Bare, "bare"));
    world.run(SOON);
    let heard = world.heard::<Heard>(bob);
    let ann_is = number(&world, ann);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0].fact, Fact::Said { from: ann_is });
    assert_eq!(heard[1].fact, Fact::Bare);
    assert!(facts(&mut world, ann).iter().any(|fact| matches!(fact, Fact::Joined(_))));
}

#[test]
fn a_join_that_asks_for_what_is_not_known_is_refused() {
    let mut world = world(RelayConfig::default(), 12);
    let ann = world.client("ann");
    world.run_until("ann is connected", |world| world.is_connected(ann));
    world.join_with(ann, KIND, "room", "{\"fact\":true}");
    world.run(SOON);
    let text = world.client_events(ann).into_iter().find_map(|event| match event {
        ClientEvent::Refused { text, .. } => Some(text),
        _ => None,
    });
    assert!(text.is_some_and(|text| text.contains("`fact`")));
}
