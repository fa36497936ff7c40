//! Time: handshakes, heartbeats, progress, idleness, lifetimes, and clocks that jump.

use std::time::Duration;

use rejoin_core::connection::FrameKind;
use rejoin_core::event::{Event, Step};
use rejoin_core::hub::HubInput;
use rejoin_core::id::ZoneId;
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Latency;
use rejoin_core::time::Time;
use rejoin_core::wire::v1::{CloseCode, Ping, Pong, Position, Rung, client_frame, server_frame};

use crate::desk::client::client;
use crate::desk::{Desk, config};

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.connect("ann");
    desk.wait(9_999);
    assert_eq!(desk.closed("ann"), None);
    desk.wait(1);
    assert_eq!(desk.closed("ann"), Some(CloseCode::HandshakeTimeout));
    desk.assert_plays("bob");
}

#[test]
fn a_silent_connection_is_away_and_its_session_held() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    desk.wait(12_600);
    assert_eq!(desk.closed("ann"), Some(CloseCode::HeartbeatLost));
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("farewell HeartbeatLost"));
    desk.assert_plays("bob");
    desk.client_mut("ann").is_obliging = true;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

#[test]
fn whoever_answers_pings_stays_and_is_measured() {
    let mut desk = Desk::with_plaza(&["ann"]);
    assert_eq!(desk.view("ann").map(|view| view.latency), Some(Latency::default()));
    desk.wait(120_000);
    assert_eq!(desk.closed("ann"), None);
    desk.assert_plays("ann");
}

#[test]
fn latency_is_the_last_round_trip_and_a_smoothed_one() {
    let mut latency = Latency::default();
    latency.measure(Duration::from_millis(80));
    assert_eq!((latency.last_us, latency.smoothed_us), (80_000, 80_000));
    latency.measure(Duration::from_millis(160));
    assert_eq!((latency.last_us, latency.smoothed_us), (160_000, 90_000));
    for _ in 0..100 {
        latency.measure(Duration::from_millis(40));
    }
    assert_eq!(latency.last_us, 40_000);
    assert!((40_000..41_000).contains(&latency.smoothed_us), "{}", latency.smoothed_us);
}

// Row of §6: "slow consumer or blocking call stalls the loop".
#[test]
fn a_reader_that_acknowledges_nothing_is_too_slow_even_if_it_pings() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    desk.say("bob", "say read this");
    for _ in 0..11 {
        desk.wait(1_000);
        desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
    desk.assert_plays("bob");
    desk.client_mut("ann").is_obliging = true;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    assert!(desk.take("ann").contains(&"read this".to_owned()));
}

#[test]
fn idleness_counts_game_messages_only_while_connected() {
    let mut config = config();
    config.idle = Duration::from_millis(60_000);
    config.hold = rejoin_core::exchange::Hold::Timed(Duration::from_millis(600_000));
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.wait(40_000);
    desk.assert_plays("bob");
    desk.wait(20_000);
    assert_eq!(desk.closed("ann"), Some(CloseCode::Idle), "pings are no game messages");
    assert!(desk.view("ann").is_none());
    desk.assert_plays("bob");
    desk.login("ann");
    desk.cut("ann");
    desk.wait(120_000);
    assert!(desk.view("ann").is_some(), "a held session does not idle");
}

/// Where a session is does not matter: the hub says the Welcome outside zones, the zone inside.
fn with_idle(idle_ms: u64, zone: Option<&str>) -> Desk {
    let mut config = config();
    config.idle = Duration::from_millis(idle_ms);
    let mut desk = Desk::new(config);
    desk.login("ann");
    if let Some(kind) = zone {
        desk.join("ann", kind);
    }
    desk
}

// Seed 8644 of the simulator: another connection of the player takes over while the disk is full. What the
// old one sends counts no more, and the new one may not send anything before its Welcome.
#[test]
fn a_takeover_that_waits_for_a_full_disk_is_not_idle() {
    for zone in [None, Some("plaza")] {
        let mut desk = with_idle(3_000, zone);
        desk.store.hold(|_| true);
        desk.store_full(true);
        assert_eq!(desk.try_login("ann"), Err(CloseCode::Unspecified), "its epoch is not kept");
        desk.wait(8_000);
        assert!(desk.view("ann").is_some(), "she could say nothing, {zone:?}");
        desk.store.release();
        desk.store_full(false);
        desk.wait(2_900);
        assert_eq!(desk.closed("ann"), None, "{zone:?}");
        desk.wait(200);
        assert_eq!(desk.closed("ann"), Some(CloseCode::Idle), "from the Welcome on, {zone:?}");
    }
}

// Seed 5587: there is room again, but the commit that the Welcome waits for is not through yet.
#[test]
fn idleness_counts_from_the_welcome() {
    for zone in [None, Some("plaza")] {
        let mut desk = with_idle(3_000, zone);
        desk.wait(2_000);
        desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
        assert_eq!(desk.try_login("ann"), Err(CloseCode::Unspecified), "its epoch is not kept");
        desk.wait(8_000);
        assert!(desk.view("ann").is_some(), "she could say nothing, {zone:?}");
        desk.store.release();
        desk.run();
        desk.wait(2_900);
        assert_eq!(desk.closed("ann"), None, "{zone:?}");
        desk.wait(200);
        assert_eq!(desk.closed("ann"), Some(CloseCode::Idle), "{zone:?}");
    }
}

/// What she sends is not acknowledged, and once her window is full she can send nothing.
#[test]
fn idleness_stands_still_while_the_disk_is_full() {
    for (rest, is_there) in [(900, true), (1_100, false)] {
        for zone in [None, Some("plaza")] {
            let mut desk = with_idle(5_000, zone);
            desk.wait(4_000);
            desk.store_full(true);
            desk.wait(60_000);
            assert_eq!(desk.closed("ann"), None, "{zone:?}");
            desk.store_full(false);
            desk.wait(rest);
            let text = "it had 1,000 ms left";
            assert_eq!(desk.view("ann").is_some(), is_there, "{text}, after {rest}, {zone:?}");
        }
    }
}

#[test]
fn every_session_ends_at_its_lifetime() {
    let mut config = config();
    config.lifetime = Duration::from_millis(30_000);
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.join("ann", "plaza");
    desk.wait(20_000);
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.crash();
    desk.restart();
    desk.resume("ann");
    desk.resume("bob");
    desk.wait(10_000);
    assert_eq!(desk.closed("ann"), Some(CloseCode::Lifetime), "age is not forgotten by a crash");
    desk.assert_plays("bob");
}

#[test]
fn a_frozen_process_ends_nobodys_hold() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.cut("ann");
    desk.wait(3_000);
    desk.freeze(60_000);
    assert!(desk.view("ann").is_some(), "the hold stood still");
    assert_eq!(desk.closed("bob"), None, "nobody could have been heard");
    desk.wait(1_000);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("bob");
}

#[test]
fn after_a_freeze_a_hold_still_ends() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    desk.wait(3_000);
    desk.freeze(60_000);
    desk.wait(5_000);
    assert!(desk.view("ann").is_none());
}

#[test]
fn a_hold_stands_still_while_the_server_is_down() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    desk.wait(4_000);
    desk.crash();
    desk.now = desk.now.after(Duration::from_millis(3_600_000));
    desk.restart();
    desk.wait(4_999);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

/// Nobody is let in before the first ids are committed, and that may take a while on a slow disk.
#[test]
fn a_hold_begins_when_the_server_lets_players_in() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    desk.crash();
    desk.store.hold(|scope| *scope == ScopeId::Hub);
    desk.restart();
    desk.wait(20_000);
    assert!(!desk.hub.is_ready());
    desk.store.release();
    desk.run();
    desk.wait(4_900);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

/// No other deadline is near that would show how long the process was gone.
#[test]
fn a_frozen_process_ends_nobodys_hold_when_there_is_nobody_else() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.cut("ann");
    desk.wait(1_500);
    desk.freeze(60_000);
    assert!(desk.view("ann").is_some(), "the hold stood still");
    desk.wait(3_400);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed, "what was left is left");
}

#[test]
fn a_hold_stands_still_while_the_disk_is_full() {
    for (rest, is_held) in [(900, true), (1_100, false)] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.cut("ann");
        desk.wait(4_000);
        desk.store_full(true);
        desk.wait(60_000);
        assert!(desk.view("ann").is_some(), "nobody could have come back");
        desk.store_full(false);
        desk.wait(rest);
        assert_eq!(desk.view("ann").is_some(), is_held, "it had 1,000 ms left, after {rest}");
        desk.assert_plays("bob");
    }
}

/// Who drops while the disk is full has all of its hold from when there is room.
#[test]
fn a_hold_that_begins_on_a_full_disk_begins_with_the_room() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.store_full(true);
    desk.cut("ann");
    desk.wait(60_000);
    desk.store_full(false);
    desk.wait(4_900);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

// The system's instants never do this; a driver with a fault may.
#[test]
fn an_instant_that_goes_back_panics_nowhere_and_ends_nobody() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.wait(60_000);
    let there = desk.now;
    for back_ms in [1, 1_000, 30_000, 60_000] {
        desk.now = Time(there.0 - back_ms * 1_000);
        desk.assert_plays("ann");
        desk.cut("bob");
        assert_eq!(desk.resume("bob").rung(), Rung::Replayed, "{back_ms} ms back");
        desk.assert_plays("bob");
        desk.now = there;
        desk.wait(1);
        assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None), "{back_ms} ms back");
    }
    desk.wait(120_000);
    desk.assert_plays("ann");
    desk.assert_plays("bob");
    // A hold that began before its time is over when its length has passed from there.
    desk.now = Time(desk.now.0 - 3_000_000);
    desk.cut("bob");
    desk.wait(120_000);
    assert_eq!(desk.view("bob"), None);
}

fn is_zone(scope: &ScopeId) -> bool {
    matches!(scope, ScopeId::Zone(_))
}

// The reader's time runs from when a frame left, not from when the game said it.
#[test]
fn nobody_is_too_slow_for_a_frame_that_waits_for_its_commit() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.store.hold(is_zone);
    desk.say("bob", "say slow disk");
    desk.wait(20_000);
    desk.mute("ann");
    desk.store.release();
    desk.run();
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
    assert!(desk.take("ann").contains(&"slow disk".to_owned()));
    for _ in 0..9 {
        desk.wait(1_000);
        desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
    }
    assert_eq!(desk.closed("ann"), None, "she has had it for nine seconds");
    desk.wait(1_000);
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
    desk.assert_plays("bob");
}

#[test]
fn a_frame_that_has_left_is_not_excused_by_one_that_waits() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    desk.say("bob", "say one");
    desk.store.hold(is_zone);
    desk.say("bob", "say two");
    for _ in 0..10 {
        desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
        desk.wait(1_000);
    }
    desk.store.release();
    desk.run();
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
}

#[test]
fn a_stalled_process_calls_nobody_too_slow_whose_acknowledgement_waits() {
    for stall_ms in [11_000, 86_400_000] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.mute("ann");
        desk.say("bob", "say before the stall");
        let ann = desk.client("ann");
        let ack = Position { leg: ann.leg, seq: ann.seq };
        let connection = ann.connection();
        desk.client_mut("ann").is_obliging = true;
        // It is on its way, and the process does not run.
        desk.receive(connection, &client(client_frame::Frame::Ack(ack)));
        desk.freeze(stall_ms);
        desk.wait(1);
        assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None), "{stall_ms} ms");
        desk.assert_plays("ann");
    }
}

#[test]
fn a_stall_gives_a_silent_reader_no_more_than_the_stall() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    desk.say("bob", "say read this");
    desk.freeze(60_000);
    assert_eq!(desk.closed("ann"), None);
    for _ in 0..10 {
        desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
        desk.wait(1_000);
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
    desk.assert_plays("bob");
}

#[test]
fn nobody_is_too_slow_while_the_disk_is_full() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    desk.say("bob", "say before it was full");
    desk.store.hold(is_zone);
    desk.store_full(true);
    desk.say("bob", "say while it is full");
    for _ in 0..20 {
        desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
        desk.wait(1_000);
    }
    desk.client_mut("ann").is_obliging = true;
    desk.store.release();
    desk.store_full(false);
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
    assert!(desk.take("ann").contains(&"while it is full".to_owned()));
    desk.assert_plays("ann");
}

// The driver is never idle: it wakes the hub between inputs, each a moment after the one before.
#[test]
fn deadlines_come_while_there_is_always_something_to_read() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.connect("ann");
    for number in 0..6_000 {
        desk.now = desk.now.after(Duration::from_millis(2));
        desk.frame("bob", client_frame::Frame::Pong(Pong { nonce: number }));
        if number % 1_000 == 999 {
            desk.input(HubInput::Wake);
        }
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::HandshakeTimeout));
    desk.assert_plays("bob");
}

/// A client closes a connection on which anything but a challenge comes before the Welcome.
#[test]
fn who_waits_for_its_zone_hears_nothing_before_the_welcome() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    desk.asleep = Some(ZoneId::of("plaza", "p"));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "its zone has not answered");
    desk.input(HubInput::StoreFull(true));
    desk.input(HubInput::StoreFull(false));
    // The zone does not wake, so the hub alone does.
    for _ in 0..4 {
        desk.now = desk.now.after(desk.config.heartbeat / 2);
        desk.input(HubInput::Wake);
    }
    // Who sends too much is told so, but not yet.
    desk.control("ann", FrameKind::Ping, 300);
    let frames = &desk.client("ann").line().frames;
    let kinds: Vec<_> = frames.iter().filter_map(|frame| frame.frame.as_ref()).collect();
    let is_challenge =
        |kind: &&server_frame::Frame| matches!(kind, server_frame::Frame::Challenge(_));
    assert!(kinds.iter().all(is_challenge), "{kinds:?}");
    desk.asleep = None;
    desk.run();
    let frames = desk.client("ann").line().frames.iter();
    let mut kinds = frames.filter_map(|frame| frame.frame.as_ref()).skip_while(is_challenge);
    assert!(matches!(kinds.next(), Some(server_frame::Frame::Welcome(_))));
}

// What a client sends while nobody reads it comes at once afterwards. It was sent over all that time, and is
// paid for by it.
#[test]
fn what_was_sent_while_the_process_stood_still_is_no_flood() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let throttled = |desk: &Desk| {
        let is_throttle =
            |event: &&Event| matches!(event, Event::GuardStep { step: Step::Throttle, .. });
        desk.events.iter().filter(is_throttle).count()
    };
    let burst = 200;
    for _ in 0..burst {
        desk.say("ann", "before");
    }
    desk.freeze(60_000);
    for _ in 0..burst {
        desk.say("ann", "meanwhile");
    }
    assert_eq!(throttled(&desk), 0, "its budget was full again");
    // The same without a rest is too much.
    for _ in 0..burst {
        desk.say("ann", "at once");
    }
    assert!(throttled(&desk) > 0);
}
