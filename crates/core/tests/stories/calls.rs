//! Questions to a peer, from zones and from outside: each ends, and its asker learns how.

use std::time::Duration;

use rejoin_core::call::CallFailed;
use rejoin_core::event::Event;
use rejoin_core::hub::{Answer, Command, SessionCommand};
use rejoin_core::id::CallId;
use rejoin_core::session::Flags;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{Answer as Said, up};

use crate::desk::Desk;

fn is_awaiting(desk: &Desk, name: &str) -> bool {
    desk.view(name).is_some_and(|view| view.flags.has(Flags::AWAITING_RESPONSE))
}

fn answer(desk: &mut Desk, name: &str, call: u64, text: &'static str) {
    desk.up(name, up::Body::Answer(Said { call, payload: Bytes::from_static(text.as_bytes()) }));
}

const SECOND: Duration = Duration::from_millis(1_000);

#[test]
fn an_answered_call_reaches_the_game() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "call ready?");
    assert_eq!(desk.take("ann"), ["call 1: ready?"]);
    assert!(is_awaiting(&desk, "ann") && !is_awaiting(&desk, "bob"));
    answer(&mut desk, "ann", 1, "yes");
    assert_eq!(desk.take("bob"), ["answer ready? yes"]);
    assert!(!is_awaiting(&desk, "ann"));
}

#[test]
fn a_call_that_is_never_answered_times_out_and_a_late_answer_is_counted() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "call q");
    desk.wait(999);
    assert!(is_awaiting(&desk, "ann"));
    desk.wait(1);
    assert!(!is_awaiting(&desk, "ann"));
    assert_eq!(desk.take("bob"), ["answer q Timeout"]);
    desk.take("ann");
    answer(&mut desk, "ann", 1, "late");
    answer(&mut desk, "ann", 77, "unknown");
    assert_eq!(desk.take("ann"), ["refused 3 UnknownCall", "refused 4 UnknownCall"]);
    assert_eq!(desk.counts("plaza").unknown_answers, 2);
    assert!(desk.take("bob").is_empty());
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_call_crosses_a_drop_and_a_crash() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.say("ann", "call q");
    desk.crash();
    desk.restart();
    assert!(is_awaiting(&desk, "ann"), "it is still open");
    desk.resume("ann");
    desk.take("ann");
    answer(&mut desk, "ann", 1, "here");
    assert_eq!(desk.take("ann"), ["answer q here"]);
    assert!(!is_awaiting(&desk, "ann"));
}

#[test]
fn a_part_ends_the_calls_of_its_zone() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "call q");
    desk.part("ann");
    let heard = desk.take("bob");
    assert!(heard.contains(&"answer q Gone".to_owned()), "{heard:?}");
    assert!(!is_awaiting(&desk, "ann"));
    answer(&mut desk, "ann", 1, "late");
    let number = desk.client("ann").number;
    assert_eq!(desk.take("ann").last(), Some(&format!("refused {number} UnknownCall")));
    assert_eq!(desk.hub.counts().unknown_answers_total, 1);
}

/// A call that was opened while its peer left had nobody to end it: the zone woke for it for ever.
#[test]
fn whoever_asks_a_member_that_is_leaving_learns_that_it_is_gone() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "call twice");
    desk.part("ann");
    let heard = desk.take("bob");
    let answers: Vec<&String> = heard.iter().filter(|line| line.starts_with("answer")).collect();
    assert_eq!(answers, ["answer twice Gone", "answer once Gone"]);
    desk.wait(2_000);
    assert!(desk.take("bob").is_empty());
    desk.assert_plays("bob");
}

/// The member was parted within its own departure, and then once more: it had two departures.
#[test]
fn whoever_is_parted_while_it_leaves_leaves_once() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "call goodbye");
    desk.take("ann");
    desk.part("ann");
    let heard = desk.take("bob");
    assert_eq!(heard, ["answer goodbye Gone", "parted 1 Asked"]);
    let heard = desk.take("ann");
    assert_eq!(heard.iter().filter(|line| line.contains("Asked")).count(), 1, "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("Kicked")), "{heard:?}");
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn a_game_that_asks_the_departed_for_ever_is_a_fault_of_that_zone_alone() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.login("bob");
    desk.join("bob", "session");
    desk.hush();
    desk.say("ann", "call stubborn");
    desk.part("ann");
    let faults = desk.events.iter().filter(|event| matches!(event, Event::ZoneFault { .. }));
    assert!(faults.count() > 0);
    desk.assert_plays("bob");
}

#[test]
fn a_call_from_outside_is_answered_in_and_out_of_zones() {
    for in_zone in [false, true] {
        let mut desk = Desk::plain();
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        desk.take("ann");
        let ann = desk.id("ann");
        let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
        let call = CallId::HUB | 1;
        assert_eq!(desk.take("ann"), [format!("call {call}: how?")]);
        assert!(is_awaiting(&desk, "ann") && !desk.answers.contains_key(&ticket));
        answer(&mut desk, "ann", call, "fine");
        assert_eq!(desk.answers[&ticket], Answer::Called(Ok("fine".into())));
        assert!(!is_awaiting(&desk, "ann"));
    }
}

#[test]
fn a_call_from_outside_that_is_never_answered_times_out() {
    for in_zone in [false, true] {
        let mut desk = Desk::plain();
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        let ann = desk.id("ann");
        let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
        desk.cut("ann");
        desk.wait(1_000);
        assert_eq!(desk.answers[&ticket], Answer::Called(Err(CallFailed::Timeout)));
        assert!(!is_awaiting(&desk, "ann"));
        desk.resume("ann");
        answer(&mut desk, "ann", CallId::HUB | 1, "late");
        assert_eq!(desk.hub.counts().unknown_answers_total, 1);
        assert_eq!(desk.closed("ann"), None);
    }
}

#[test]
fn the_end_of_a_session_ends_its_calls() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
    desk.bye("ann");
    assert_eq!(desk.answers[&ticket], Answer::Called(Err(CallFailed::Gone)));
    let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
    assert_eq!(desk.answers[&ticket], Answer::Unknown);
}

#[test]
fn two_askers_of_one_peer_do_not_clear_each_others_flag() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let ann = desk.id("ann");
    desk.say("ann", "call q");
    desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
    answer(&mut desk, "ann", 1, "yes");
    assert!(is_awaiting(&desk, "ann"), "the call from outside is open");
    answer(&mut desk, "ann", CallId::HUB | 1, "fine");
    assert!(!is_awaiting(&desk, "ann"));
    desk.say("ann", "call q");
    desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
    answer(&mut desk, "ann", CallId::HUB | 1, "fine");
    assert!(is_awaiting(&desk, "ann"), "the zone's call is open");
}
