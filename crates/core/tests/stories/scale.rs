//! What an event costs depends on what it touches, not on how much the server holds. Each story times
//! the same events beside few and beside many bystanders, in one run, so that a slow machine is slow
//! for both.

use std::time::{Duration, Instant};

use rejoin_core::event::EndCause;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{
    Answer, Audience, Command, HubInput, SessionCommand, SessionConfig, ZoneCommand,
};
use rejoin_core::id::ZoneId;
use rejoin_core::wire::Bytes;

use crate::desk::{Desk, config};

/// Bystanders of the smaller run.
const FEW: usize = 1_000;
/// Beside twenty times as many bystanders an event may take so many times as long: a search among all
/// of them takes twenty times as long, a tree of them is a few levels higher.
const FACTOR_MAX: u32 = 4;
/// Each event is timed so often, and the shortest counts: what else the machine does only adds.
const ROUNDS: usize = 30;

pub fn shortest(mut event: impl FnMut(usize)) -> Duration {
    let timed = (0..ROUNDS).map(|round| {
        let started = Instant::now();
        event(round);
        started.elapsed()
    });
    timed.min().unwrap_or_default()
}

/// Compares what an event takes beside few and beside twenty times as many others.
pub fn assert_alike(what: &str, few: usize, cost: impl Fn(usize) -> Duration) {
    let many = 20 * few;
    let (beside_few, beside_many) = (cost(few), cost(many));
    let text = format!("{what}: {beside_few:?} beside {few} others, {beside_many:?} beside {many}");
    println!("{text}");
    assert!(beside_many <= beside_few * FACTOR_MAX, "{text}");
}

/// A desk with ann in a room where matches are played, and so many sessions elsewhere.
fn beside(bystanders: usize) -> Desk {
    let mut config = config();
    config.zones_max = usize::MAX;
    let mut desk = Desk::new(config);
    desk.is_timed = true;
    for _ in 0..bystanders {
        desk.order(Command::StartSession(SessionConfig::default()));
    }
    desk.login("ann");
    desk.join("ann", "match");
    desk.hush();
    desk
}

#[test]
fn the_end_of_a_match_costs_the_same_beside_many_sessions() {
    let cost = |bystanders| {
        let mut desk = beside(bystanders);
        shortest(|_| {
            desk.say("ann", "start");
            desk.say("ann", "stop");
        })
    };
    assert_alike("a match starts and ends", FEW, cost);
}

#[test]
fn opening_and_ending_a_zone_costs_the_same_beside_many_sessions() {
    let cost = |bystanders| {
        let mut desk = beside(bystanders);
        desk.part("ann");
        shortest(|round| {
            desk.join_with("ann", "plaza", &format!("z{round}"), "");
            desk.say("ann", "end");
        })
    };
    assert_alike("a zone opens and ends", FEW, cost);
}

#[test]
fn a_zone_that_faults_costs_the_same_beside_many_sessions() {
    let cost = |bystanders| {
        let mut desk = beside(bystanders);
        shortest(|_| {
            desk.wait(60_000);
            desk.say("ann", "panic");
            desk.resume("ann");
        })
    };
    assert_alike("a zone faults", FEW, cost);
}

#[test]
fn words_to_one_zone_cost_the_same_beside_many_sessions() {
    let cost = |bystanders| {
        let mut desk = beside(bystanders);
        let audience = Audience::Zone(ZoneId::of("match", "p"));
        shortest(|_| drop(desk.command(Command::Broadcast(audience, Bytes::from("hear this")))))
    };
    assert_alike("words to a zone", FEW, cost);
}

#[test]
fn a_join_that_opens_a_zone_costs_the_same_beside_many_zones() {
    let cost = |bystanders| {
        let mut config = config();
        (config.zones_max, config.zones_per_player_max) = (usize::MAX, usize::MAX);
        let mut desk = Desk::new(config);
        desk.is_timed = true;
        desk.login("ann");
        // They never open: the fixture walks all zones that run.
        desk.hold_zones = true;
        for number in 0..bystanders {
            desk.order(Command::Zone(ZoneCommand::Open(plaza(number))));
        }
        let mut number = 0;
        shortest(|_| {
            // The zone stays closed, so the join waits; ann gives up and comes back as somebody new.
            number += 1;
            desk.join_with("ann", "plaza", &format!("new {number}"), "");
            desk.command(Command::Session(desk.id("ann"), SessionCommand::End(EndCause::Kicked)));
            desk.login("ann");
        })
    };
    assert_alike("a join that opens a zone", FEW, cost);
}

#[test]
fn a_zone_that_opens_again_at_a_start_costs_the_same_beside_many() {
    // As many sessions as zones, one in each.
    let cost = |zones: usize| {
        let mut config = config();
        config.zones_max = usize::MAX;
        let mut desk = Desk::new(config);
        desk.is_timed = true;
        for number in 0..zones {
            let session = desk.command(Command::StartSession(SessionConfig::default()));
            let Some(Answer::Session(session)) = session else {
                panic!("no session: {session:?}");
            };
            desk.order(Command::Session(
                session,
                SessionCommand::Join(plaza(number), Bytes::new()),
            ));
        }
        desk.crash();
        desk.open_again();
        let specs = desk.take_openings();
        assert_eq!(specs.len(), zones);
        let opened: Vec<HubInput> = specs.into_iter().map(|spec| desk.open_aside(spec)).collect();
        // Only the hub's own share: what it does with each zone that is open again.
        let timed = opened.into_iter().map(|input| {
            let started = Instant::now();
            desk.hub.handle(desk.now, input);
            while desk.hub.next_output().is_some() {}
            started.elapsed()
        });
        timed.min().unwrap_or_default()
    };
    assert_alike("a zone opens again at a start", 40, cost);
}

fn plaza(number: usize) -> ZoneName {
    ZoneName { kind: "plaza".to_owned(), name: format!("z{number}") }
}
