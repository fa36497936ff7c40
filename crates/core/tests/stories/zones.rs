//! Zones: endings, panics, restores, timers, jobs, ownership and matches.

use std::sync::Arc;
use std::time::Duration;

use rejoin_core::connection::{
    ConnectionCore, ConnectionInput, ConnectionOutput, Route, Routed, Spent, ToConnection,
};
use rejoin_core::event::Event;
use rejoin_core::exchange::{ToHub, ToZone};
use rejoin_core::hub::{Answer, Command, HubInput, ZoneCommand};
use rejoin_core::id::{ConnectionId, Leg, ObjectId, OwnerEpoch, SessionEpoch, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::time::Time;
use rejoin_core::wire::v1::{ClientFrame, Position, Rung, client_frame};

use crate::desk::{Desk, config, zone};

fn plaza() -> ScopeId {
    ScopeId::Zone(ZoneId::of("plaza", "p"))
}

#[test]
fn the_end_of_a_zone_parts_everybody_and_deletes_its_scope() {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cat"]);
    desk.login("dan");
    desk.cut("cat");
    desk.say("ann", "end");
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("out ZoneEnded"));
    assert_eq!(desk.take("bob").last().map(String::as_str), Some("out ZoneEnded"));
    assert!(!desk.store.has(plaza()) && !desk.is_open("plaza"));
    assert!(desk.events.contains(&Event::ZoneEnded { zone: ZoneId::of("plaza", "p") }));
    assert_eq!(desk.resume("cat").rung(), Rung::Replayed);
    assert_eq!(desk.take("cat").last().map(String::as_str), Some("out ZoneEnded"));
    desk.join("dan", "plaza");
    desk.join("bob", "plaza");
    assert_eq!(desk.ask("dan", "times end"), "0", "the next one starts afresh");
    desk.assert_plays("bob");
}

#[test]
fn a_zone_can_be_ended_from_outside() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let id = ZoneId::of("plaza", "p");
    assert_eq!(desk.command(Command::Zone(ZoneCommand::End(id))), Some(Answer::Done));
    assert_eq!(desk.take("ann"), ["out ZoneEnded"]);
    assert_eq!(desk.command(Command::Zone(ZoneCommand::End(id))), Some(Answer::Unknown));
}

#[test]
fn an_ending_zone_takes_nobody_in_and_its_ticks_harm_nothing() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
    }
    desk.join("ann", "busy");
    desk.wait(500);
    desk.hush();
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.say("ann", "end");
    desk.wait(500);
    desk.store.hold(|_| true);
    desk.wait(500);
    desk.store.release();
    desk.run();
    desk.wait(500);
    assert!(!desk.store.has(ScopeId::Zone(ZoneId::of("busy", "p"))));
    desk.join("bob", "busy");
    desk.assert_plays("bob");
}

#[test]
fn a_panic_costs_its_sender_one_message_and_the_others_nothing() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("bob", "say before");
    desk.take("ann");
    desk.take("bob");
    let frames = desk.client("bob").line().frames.len();
    desk.say("ann", "panic");
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
    assert_eq!(desk.client("bob").line().frames.len(), frames, "nothing is sent twice");
    // Its connection hands it on again, because it was never applied, and it is refused.
    let number = desk.client("ann").number;
    assert_eq!(desk.take("ann"), [format!("refused {number} ZoneFault")]);
    assert_eq!(desk.client("ann").applied, number);
    assert!(desk.take("bob").is_empty(), "nothing comes twice, and nothing was lost");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
    assert_eq!(desk.ask("bob", "times panic"), "0", "it was never applied");
}

// What a zone has put on a link may be lost with the link.
#[test]
fn what_was_sent_before_a_fault_and_never_arrived_is_replayed() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.mute("ann");
    let (leg, seq) = (desk.client("ann").leg, desk.client("ann").seq);
    desk.say("bob", "say lost");
    desk.say("bob", "panic");
    assert_eq!(desk.closed("ann"), None);
    desk.cut("ann");
    let client = desk.client_mut("ann");
    (client.leg, client.seq) = (leg, seq);
    desk.take("ann");
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    let heard = desk.take("ann");
    assert!(heard.iter().any(|said| said.contains("lost")), "{heard:?}");
}

#[test]
fn a_window_is_kept_while_a_zone_starts_again_and_no_more() {
    for beyond in [0, 1] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.hold_zones = true;
        desk.say("bob", "panic");
        for _ in 0..desk.config.window_frames + beyond {
            desk.queue("ann", crate::desk::client::message("keep"));
        }
        desk.run();
        let code = (beyond > 0).then_some(rejoin_core::wire::v1::CloseCode::Flooded);
        assert_eq!((desk.closed("ann"), desk.closed("bob")), (code, None));
        desk.hold_zones = false;
        desk.run();
        if beyond == 0 {
            assert_eq!(desk.client("ann").applied, desk.client("ann").number);
            let kept = desk.config.window_frames.to_string();
            assert_eq!(desk.ask("ann", "times keep"), kept, "each is applied once");
        }
        desk.assert_plays("bob");
    }
}

#[test]
fn a_stuck_callback_is_charged_like_a_panic() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let zone = ZoneId::of("plaza", "p");
    let ann = desk.id("ann");
    for strike in 1..=4 {
        let owner = desk.zones[&zone].machine.owner();
        // The driver's word, for the machine cannot say it: what it hears now never returns.
        let poisoned = Some((ann, desk.client("ann").number + 1));
        let said =
            ToHub::Faulted { poisoned, stuck: true, left: Vec::new(), text: "Stuck".to_owned() };
        desk.zones.remove(&zone);
        desk.input(HubInput::FromZone(zone, owner, said));
        let closed = strike > 3;
        assert!(desk.events.contains(&Event::ZoneFault { zone, text: "Stuck".to_owned(), closed }));
        assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
        if closed {
            assert_eq!(desk.take("ann").last().map(String::as_str), Some("out ZoneFault"));
            break;
        }
        desk.hush();
        desk.say("ann", "say stuck");
        let told = desk.take("ann");
        assert!(told.iter().any(|told| told.contains("ZoneFault")), "{strike}: {told:?}");
        // It takes its budget to be found stuck: strikes are as far apart.
        desk.wait(5_000);
        desk.assert_plays("bob");
    }
}

#[test]
fn a_decoder_that_panics_refuses_one_message_and_no_more() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "unreadable");
    let number = desk.client("ann").number;
    let heard = desk.take("ann");
    assert!(heard.contains(&format!("refused {number} BadPayload")), "{heard:?}");
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
    desk.assert_plays("bob");
}

#[test]
fn what_the_game_cannot_say_is_charged_to_whoever_asked_for_it() {
    for wish in ["say unspeakable", "big 70000"] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.say("ann", wish);
        let number = desk.client("ann").number;
        assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
        let heard = desk.take("ann");
        assert!(heard.contains(&format!("refused {number} ZoneFault")), "{wish}: {heard:?}");
        desk.assert_plays("bob");
    }
}

#[test]
fn a_join_that_panics_is_refused_and_closes_no_zone() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    desk.join_with("ann", "plaza", "p", "panic");
    let heard = desk.take("ann");
    assert!(heard.contains(&"refused 1 ZoneFault".to_owned()), "{heard:?}");
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None), "bob was in no danger");
    desk.assert_plays("bob");
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn a_panic_right_behind_the_join_is_not_applied_for_ever() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.queue("ann", crate::desk::join("plaza", "p", ""));
    desk.queue("ann", crate::desk::client::message("panic"));
    desk.run();
    for _ in 0..3 {
        desk.resume("ann");
        let applied = desk.client("ann").applied;
        if applied < 2 {
            desk.client_mut("ann").number = applied;
            if applied == 0 {
                desk.join("ann", "plaza");
            }
            desk.say("ann", "panic");
        }
    }
    desk.resume("bob");
    desk.assert_plays("bob");
}

#[test]
fn the_fourth_fault_within_five_seconds_closes_the_zone() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    for fault in 0..4 {
        desk.say("ann", "panic");
        let closed = fault == 3;
        let told = desk
            .events
            .iter()
            .any(|event| matches!(event, Event::ZoneFault { closed: now, .. } if *now == closed));
        assert!(told, "{fault}");
        desk.events.clear();
    }
    assert!(!desk.is_open("plaza") && !desk.store.has(plaza()));
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (None, None));
    assert_eq!(desk.take("bob").last().map(String::as_str), Some("out ZoneFault"));
    desk.join("bob", "plaza");
    desk.assert_plays("bob");
}

#[test]
fn a_zone_that_was_closed_for_its_faults_stays_closed_over_a_crash() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("bob", "job panic bob");
    for fault in 0..4 {
        if fault == 3 {
            // The departures of this zone's members are not confirmed before the crash.
            desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
        }
        desk.say("ann", "panic");
        if fault < 3 {
            desk.resume("ann");
            let number = desk.client("ann").number;
            desk.client_mut("ann").number = number - 1;
            desk.say("ann", "panic");
        }
    }
    assert!(desk.is_open("plaza") && desk.store.has(plaza()));
    desk.crash();
    desk.events.clear();
    // Its members' departures still wait when the result of the job comes.
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.restart();
    assert_eq!(desk.jobs.len(), 1, "outside work is asked for at least once");
    desk.job_done(0, "found");
    let ran = desk.events.iter().any(|event| matches!(event, Event::ZoneFault { .. }));
    assert!(!ran, "its game was called again, without the state that it had");
    desk.store.release();
    desk.run();
    assert!(!desk.is_open("plaza") && !desk.store.has(plaza()));
    assert_eq!(desk.resume("bob").rung(), Rung::Replayed);
    assert_eq!(desk.take("bob").last().map(String::as_str), Some("out ZoneFault"));
}

#[test]
fn faults_far_apart_do_not_close_a_zone() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..6 {
        desk.say("ann", "panic");
        desk.resume("ann");
        let number = desk.client("ann").number;
        desk.client_mut("ann").number = number - 1;
        desk.say("ann", "panic");
        desk.wait(2_000);
    }
    desk.assert_plays("ann");
}

#[test]
fn a_state_that_cannot_be_saved_closes_its_zone_and_no_other() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.login("bob");
    desk.join("bob", "hard");
    let number = desk.client("ann").number + 1;
    for _ in 0..2 {
        desk.client_mut("ann").number = number - 1;
        desk.say("ann", "spoil");
        desk.assert_plays("bob");
        if desk.closed("ann").is_some() {
            assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
        }
    }
    assert_eq!(desk.client("ann").applied, number, "it was consumed as refused");
    desk.assert_plays("ann");
}

#[test]
fn a_panic_that_a_message_leads_to_is_charged_to_that_message() {
    for words in ["part me", "transfer hard p"] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        let ann = desk.id("ann");
        desk.say("ann", &format!("curse {ann}"));
        let act = |desk: &mut Desk| match words {
            "part me" => desk.part("ann"),
            _ => desk.say("ann", words),
        };
        desk.take("ann");
        act(&mut desk);
        assert_eq!(desk.closed("ann"), None);
        let number = desk.client("ann").number;
        assert_eq!(desk.take("ann"), [format!("refused {number} ZoneFault")]);
        desk.assert_plays("ann");
        desk.assert_plays("bob");
    }
}

// Row of §6: "unbounded growth by a hostile client (memberships, records, queues)".
#[test]
fn the_number_of_zones_is_bounded() {
    let mut config = crate::desk::config();
    config.zones_max = 3;
    let mut desk = Desk::new(config);
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.login("ann");
    for number in 0..10 {
        desk.join_with("ann", "plaza", &format!("z{number}"), "");
        desk.part("ann");
    }
    assert!(desk.take("ann").contains(&"refused 5 CreateDenied".to_owned()));
    desk.assert_plays("bob");
}

#[test]
fn one_player_cannot_open_all_zones_there_may_be() {
    let mut config = crate::desk::config();
    config.zones_per_player_max = 2;
    let mut desk = Desk::new(config);
    for name in ["ann", "bob"] {
        desk.login(name);
    }
    for number in 0..3 {
        desk.join_with("ann", "plaza", &format!("z{number}"), "");
        desk.part("ann");
    }
    assert!(desk.take("ann").contains(&"refused 5 CreateDenied".to_owned()));
    desk.join_with("bob", "plaza", "z3", "");
    desk.assert_plays("bob");
    // A zone that has ended makes room for another.
    desk.join_with("ann", "plaza", "z0", "");
    desk.say("ann", "end");
    desk.join_with("ann", "plaza", "z4", "");
    desk.assert_plays("ann");
}

#[test]
fn an_unknown_version_refuses_to_start_and_keeps_the_data() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "remember");
    let kept = desk.store.rows(plaza());
    desk.crash();
    desk.version = 2;
    desk.restart();
    assert!(desk.hub.is_ready(), "the others are served");
    assert!(desk.events.iter().any(|event| matches!(event, Event::ZoneOpenRefused { .. })));
    assert_eq!(desk.store.rows(plaza()), kept, "nothing was touched");
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.zone), (Rung::Resynced, None));
    desk.take("ann");
    desk.join("ann", "plaza");
    let number = desk.client("ann").number;
    assert_eq!(desk.take("ann"), [format!("refused {number} UnknownZone")]);
    desk.crash();
    desk.version = 1;
    desk.restart();
    desk.resume("ann");
    desk.join("ann", "plaza");
    assert_eq!(desk.ask("ann", "times remember"), "1");
    assert_eq!(desk.members("plaza"), 1, "those who lost it are no members any more");
}

#[test]
fn a_timer_survives_a_crash_with_what_is_left_of_it() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.say("ann", "after 10000 bell");
    desk.wait(4_000);
    // Any later step brings the zone's age into a cut.
    desk.say("ann", "tick");
    desk.crash();
    desk.now = desk.now.after(std::time::Duration::from_millis(3_600_000));
    desk.restart();
    desk.resume("ann");
    desk.hush();
    desk.wait(5_999);
    assert!(desk.take("ann").is_empty());
    desk.wait(1);
    assert_eq!(desk.take("ann"), ["timer bell"]);
    desk.wait(60_000);
    assert!(desk.take("ann").is_empty(), "once");
}

#[test]
fn a_job_is_asked_for_again_after_a_crash_and_counts_once() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.say("ann", "job lookup ann");
    assert_eq!(desk.jobs.len(), 1);
    desk.crash();
    desk.restart();
    assert_eq!(desk.jobs.len(), 1, "it is asked for again");
    let twice = desk.jobs[0].clone();
    desk.resume("ann");
    desk.hush();
    desk.job_done(0, "found");
    desk.jobs.push(twice);
    desk.job_done(0, "found");
    assert_eq!(desk.take("ann"), ["job lookup found"]);
    desk.crash();
    desk.restart();
    assert!(desk.jobs.is_empty());
}

#[test]
fn objects_stay_with_their_owner_over_a_drop() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "own 7 destroy");
    desk.cut("ann");
    desk.crash();
    desk.restart();
    desk.resume("ann");
    assert_eq!(desk.ask("ann", "mine"), "7");
}

#[test]
fn a_part_keeps_hands_over_or_destroys() {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cat"]);
    for words in ["own 1 keep", "own 2 hand", "own 3 destroy"] {
        desk.say("ann", words);
    }
    desk.part("ann");
    assert_eq!(desk.ask("bob", "mine"), "2", "bob has been there longest");
    assert_eq!(desk.ask("cat", "mine"), "");
    let player = desk.client("ann").player();
    let gone = desk.events.iter().any(|event| {
        matches!(event, Event::OwnerChanged { object: ObjectId(3), from, to: None, .. }
            if *from == Some(player))
    });
    assert!(gone);
    desk.join("ann", "plaza");
    assert_eq!(desk.ask("ann", "mine"), "1");
    desk.crash();
    desk.restart();
    desk.resume("bob");
    assert_eq!(desk.ask("bob", "mine"), "2");
}

#[test]
fn before_the_match_a_drop_forgets_and_after_it_the_data_is_kept() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "score 5");
    assert_eq!(desk.ask("ann", "score?"), "5");
    desk.cut("ann");
    desk.resume("ann");
    assert_eq!(desk.ask("ann", "score?"), "", "there was no match yet");
    desk.say("bob", "start");
    desk.say("ann", "score 9");
    desk.cut("ann");
    desk.resume("ann");
    assert_eq!(desk.ask("ann", "score?"), "9");
    desk.crash();
    desk.restart();
    desk.resume("ann");
    assert_eq!(desk.ask("ann", "score?"), "9", "and over a crash");
}

#[test]
fn the_end_of_a_match_forgets_the_absent_and_starts_the_others_anew() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("bob", "start");
    desk.say("ann", "score 9");
    desk.say("bob", "score 4");
    desk.cut("ann");
    desk.say("bob", "stop");
    assert_eq!(desk.ask("bob", "score?"), "");
    desk.resume("ann");
    assert_eq!(desk.ask("ann", "score?"), "");
    let id = ZoneId::of("plaza", "p");
    assert!(desk.events.contains(&Event::MatchEnded { zone: id }));
    desk.say("bob", "start");
    desk.say("bob", "start");
    let starts = desk.events.iter().filter(|e| **e == Event::MatchStarted { zone: id }).count();
    assert_eq!(starts, 2, "a second start of a running match changes nothing");
}

#[test]
fn a_full_zone_refuses_and_keeps_the_places_of_those_who_dropped() {
    let mut config = crate::desk::config();
    if let Some(kind) = config.kinds.get_mut("plaza") {
        kind.config.members_max = 2;
    }
    let mut desk = Desk::new(config);
    for name in ["ann", "bob", "cat"] {
        desk.login(name);
        desk.join(name, "plaza");
    }
    assert_eq!(desk.take("cat").last().map(String::as_str), Some("refused 1 ZoneFull"));
    desk.cut("ann");
    desk.join("cat", "plaza");
    assert_eq!(desk.take("cat").last().map(String::as_str), Some("refused 2 ZoneFull"));
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn the_avatar_is_seen_on_the_session_and_ends_with_the_stay() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.say("ann", "avatar 12");
    assert_eq!(desk.view("ann").and_then(|view| view.avatar), Some(ObjectId(12)));
    desk.part("ann");
    assert_eq!(desk.view("ann").and_then(|view| view.avatar), None);
}

#[test]
fn game_data_travels_with_the_session_from_zone_to_zone() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.say("ann", "data gold");
    desk.say("ann", "transfer hard p");
    desk.part("ann");
    assert_eq!(desk.view("ann").map(|view| view.data), Some("gold".into()));
}

#[test]
fn a_zone_opened_by_command_is_there_before_anybody_joins() {
    let mut desk = Desk::plain();
    let id = ZoneId::of("plaza", "p");
    assert_eq!(
        desk.command(Command::Zone(ZoneCommand::Open(zone("plaza")))),
        Some(Answer::Zone(id))
    );
    assert!(desk.is_open("plaza"));
}

/// One that came while the zone started again went to the incarnation that had failed, and the client owes nothing more.
#[test]
fn the_last_acknowledgement_is_handed_on_to_the_next_incarnation_of_a_zone() {
    let (now, config) = (Time::from_millis(1_000), Arc::new((&config()).into()));
    let mut connection = ConnectionCore::new(now, ConnectionId(1), config);
    let mut acked = |input| {
        connection.handle(now, input);
        let outputs = std::iter::from_fn(|| connection.next_output());
        let acks = outputs.filter_map(|output| match output {
            ConnectionOutput::ToZone(_, owner, ToZone::Ack { seq, .. }) => Some((owner.0, seq)),
            _ => None,
        });
        acks.collect::<Vec<_>>()
    };
    let routed = |owner| {
        let route = Route::Zone(OwnerEpoch(owner), ZoneId::of("plaza", "p"));
        ConnectionInput::Message(ToConnection::Routed(Routed { stay: 2, route, applied: 0 }))
    };
    acked(ConnectionInput::Message(ToConnection::Attached {
        session: SessionId(1),
        epoch: SessionEpoch(1),
        spent: Spent::default(),
        first_ping: Duration::from_secs(1),
        nonce: 0,
    }));
    assert_eq!(acked(routed(1)), []);
    let position = Position { leg: Leg::first(2).to_wire(), seq: 5 };
    let frame = Ok(ClientFrame { frame: Some(client_frame::Frame::Ack(position)) });
    assert_eq!(acked(ConnectionInput::Received { frame, bytes: 16 }), [(1, 5)]);
    assert_eq!(acked(routed(2)), [(2, 5)]);
}

/// What the zone lets others see waits for no commit there, so its end must not overtake the deletion.
#[test]
fn a_zone_that_ends_while_it_is_saved_begins_afresh() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "session");
    desk.say("ann", "first");
    let scope = ScopeId::Zone(ZoneId::of("session", "p"));
    desk.store.hold(|of| matches!(of, ScopeId::Zone(_)));
    // A save is on its way.
    desk.wait(60_000);
    desk.say("ann", "end");
    desk.store.release();
    desk.run();
    assert!(!desk.store.has(scope), "its scope is deleted");
    desk.join("ann", "session");
    assert_eq!(desk.ask("ann", "times first"), "0", "nothing of it is left");
}

/// The member that left is forgotten by the session that comes again: it has taken everything over.
#[test]
fn a_member_that_is_transferred_to_its_own_zone_is_let_in_again() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "transfer plaza p");
    assert!(desk.is_in("ann", "plaza"));
    desk.assert_plays("ann");
    assert_eq!(desk.members("plaza"), 2);
}
