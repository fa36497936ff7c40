//! The embedding game: native sessions, words from outside, events and figures.

use std::sync::Arc;

use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::Native;
use rejoin_core::hub::{Answer, Command, HubCounts, SessionCommand, SessionConfig};
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::wire::v1::{CloseCode, RefusalCode, Rung};

use crate::desk::plaza::Text;
use crate::desk::{Desk, config, zone};

fn start_npc(desk: &mut Desk) -> SessionId {
    match desk.command(Command::StartSession(SessionConfig::default())) {
        Some(Answer::Session(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn say(desk: &mut Desk, npc: SessionId, text: &str) {
    let text: Native = Arc::new(Text(text.to_owned()));
    assert_eq!(desk.command(Command::Session(npc, SessionCommand::Say(text))), Some(Answer::Done));
}

fn told(desk: &mut Desk) -> Vec<String> {
    std::mem::take(&mut desk.natives).into_iter().map(|(_, said)| said).collect()
}

#[test]
fn a_native_session_joins_hears_values_and_says_values() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let npc = start_npc(&mut desk);
    let joined =
        desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "".into())));
    assert_eq!(joined, Some(Answer::Zone(ZoneId::of("plaza", "p"))));
    assert_eq!(told(&mut desk), ["joined".to_owned(), format!("joined {npc}")]);
    desk.take("ann");
    say(&mut desk, npc, "say grr");
    assert_eq!(desk.take("ann"), ["grr"]);
    assert_eq!(told(&mut desk), ["grr"]);
    desk.say("ann", &format!("whisper {npc} psst"));
    say(&mut desk, npc, "question");
    assert_eq!(told(&mut desk), ["psst", "heard question"]);
    let twice = desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "".into())));
    assert_eq!(twice, Some(Answer::Refused(RefusalCode::AlreadyJoined)));
    assert_eq!(desk.command(Command::Session(npc, SessionCommand::Part)), Some(Answer::Done));
    assert_eq!(told(&mut desk), ["parted Asked"]);
    assert_eq!(
        desk.command(Command::Session(npc, SessionCommand::Part)),
        Some(Answer::Refused(RefusalCode::NotMember))
    );
    desk.assert_plays("ann");
}

#[test]
fn a_native_session_outlives_a_crash_and_is_never_held() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let npc = start_npc(&mut desk);
    desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "".into())));
    desk.crash();
    desk.restart();
    desk.natives.clear();
    desk.wait(60_000);
    assert_eq!(desk.members("plaza"), 1, "ann is gone, the server's own is not");
    say(&mut desk, npc, "say still here");
    assert_eq!(told(&mut desk), ["parted 1 HoldEnded", "still here"]);
}

#[test]
fn words_from_outside_reach_a_session_in_and_out_of_zones() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    assert_eq!(
        desk.command(Command::Session(ann, SessionCommand::Send("one".into()))),
        Some(Answer::Done)
    );
    desk.join("ann", "plaza");
    desk.command(Command::Session(ann, SessionCommand::Send("two".into())));
    let heard = desk.take("ann");
    assert_eq!(heard, ["one", "in plaza/p", &format!("joined {ann}"), "two"]);
    desk.cut("ann");
    desk.command(Command::Session(ann, SessionCommand::Send("three".into())));
    desk.resume("ann");
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("three"));
    assert_eq!(
        desk.command(Command::Session(SessionId(999), SessionCommand::Send("x".into()))),
        Some(Answer::Unknown)
    );
}

#[test]
fn words_to_a_held_session_are_bounded_and_what_is_lost_is_named() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.login("bob");
    desk.cut("ann");
    let ann = desk.id("ann");
    for number in 0..2_000 {
        desk.command(Command::Session(ann, SessionCommand::Send(format!("{number}").into())));
    }
    assert_eq!(desk.resume("ann").rung(), Rung::Resynced);
    assert_eq!(desk.closed("bob"), None);
}

#[test]
fn a_kick_ends_the_session_with_its_cause() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (ann, player) = (desk.id("ann"), desk.client("ann").player());
    assert_eq!(
        desk.command(Command::Session(ann, SessionCommand::End(EndCause::Kicked))),
        Some(Answer::Done)
    );
    assert_eq!(desk.closed("ann"), Some(CloseCode::Kicked));
    let left = Event::PlayerLeft { session: ann, player, cause: EndCause::Kicked };
    assert_eq!(desk.events.iter().filter(|event| **event == left).count(), 1);
    assert_eq!(
        desk.command(Command::Session(ann, SessionCommand::End(EndCause::Kicked))),
        Some(Answer::Unknown)
    );
    desk.assert_plays("bob");
}

#[test]
fn session_ids_are_positive_and_never_come_back() {
    let mut config = config();
    config.id_block = 3;
    let mut desk = Desk::new(config);
    let mut last = 0;
    for round in 0..20 {
        let session = desk.login("ann").session;
        assert!(session > last, "{session} after {last}");
        last = session;
        desk.bye("ann");
        if round % 3 == 0 {
            desk.crash();
            desk.restart();
        }
    }
}

#[test]
fn no_session_id_is_given_out_before_it_is_reserved() {
    let mut config = config();
    config.id_block = 2;
    let mut desk = Desk::new(config);
    desk.store.hold(|scope| matches!(scope, rejoin_core::scope::ScopeId::Hub));
    let codes: Vec<_> = ["a", "b", "c", "d"].map(|name| desk.try_login(name).err()).into();
    assert_eq!(codes[3], Some(CloseCode::NotReady), "{codes:?}");
    desk.store.release();
    desk.run();
    assert!(desk.try_login("d").is_ok());
}

/// Each total of a hub, to be compared over time.
fn totals(counts: HubCounts) -> [u64; 6] {
    [
        counts.sessions_total,
        counts.replayed_total,
        counts.resynced_total,
        counts.takeovers_total,
        counts.retired_tokens_total,
        counts.unknown_answers_total,
    ]
}

// Row of §6: "counters that go down".
#[test]
fn counters_never_go_down() {
    let mut desk = Desk::plain();
    let mut before = totals(desk.hub.counts());
    let acts: [fn(&mut Desk); 9] = [
        |desk| drop(desk.login("ann")),
        |desk| desk.join("ann", "plaza"),
        |desk| desk.say("ann", "say hi"),
        |desk| desk.cut("ann"),
        |desk| drop(desk.resume("ann")),
        |desk| drop(desk.resume_cold("ann")),
        |desk| desk.part("ann"),
        |desk| desk.bye("ann"),
        |desk| desk.wait(60_000),
    ];
    for (index, act) in acts.into_iter().enumerate() {
        act(&mut desk);
        let after = totals(desk.hub.counts());
        assert!(before.iter().zip(after).all(|(before, after)| *before <= after), "{index}");
        before = after;
    }
    assert_eq!(before[..4], [1, 1, 1, 1]);
    assert_eq!(desk.hub.active_count(), 0);
}

#[test]
fn every_ending_has_one_typed_event() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (ann, player) = (desk.id("ann"), desk.client("ann").player());
    desk.cut("ann");
    desk.wait(5_000);
    let of_ann: Vec<&Event> =
        desk.events.iter().filter(|event| !matches!(event, Event::ZoneJoined { .. })).collect();
    let zone = zone("plaza");
    let cause = rejoin_core::wire::v1::PartCause::HoldEnded;
    let expected = [
        Event::PlayerDropped { session: ann, code: CloseCode::Unspecified },
        Event::HoldEnded { session: ann },
        Event::ZoneParted { session: ann, zone, cause },
        Event::PlayerLeft { session: ann, player, cause: EndCause::HoldEnded },
    ];
    assert_eq!(of_ann, expected.iter().collect::<Vec<_>>());
}
