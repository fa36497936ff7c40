//! Sessions that live in the server: what they are asked, what they are told of their zone's end,
//! and words from outside to many at once.

use std::sync::Arc;
use std::time::Duration;

use rejoin_core::call::CallFailed;
use rejoin_core::event::EndCause;
use rejoin_core::exchange::{Native, ToHub, ToSession, ToZone};
use rejoin_core::hub::{Answer, Audience, Command, HubInput, SessionCommand, SessionConfig};
use rejoin_core::id::{CallId, SeatId, SessionEpoch, SessionId, ZoneId};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, RefusalCode, RungReason, Up, hello};
use rejoin_core::zone::ZoneInput;

use crate::desk::client::message;
use crate::desk::plaza::Text;
use crate::desk::{Desk, zone};

const SECOND: Duration = Duration::from_millis(1_000);

fn start(desk: &mut Desk, kind: &str) -> SessionId {
    let Some(Answer::Session(npc)) = desk.command(Command::StartSession(SessionConfig::default()))
    else {
        panic!("there is room")
    };
    desk.command(Command::Session(npc, SessionCommand::Join(zone(kind), "".into())));
    told(desk);
    npc
}

fn text(text: &str) -> Native {
    Arc::new(Text(text.to_owned()))
}

fn told(desk: &mut Desk) -> Vec<String> {
    std::mem::take(&mut desk.natives).into_iter().map(|(_, said)| said).collect()
}

#[test]
fn a_native_session_answers_its_zone() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.command(Command::Session(npc, SessionCommand::Say(text("call ready?"))));
    assert_eq!(told(&mut desk), ["call 1 ready?"]);
    let answer = |text| Command::Session(npc, SessionCommand::Answer(CallId(1), text));
    assert_eq!(desk.command(answer(text("yes"))), Some(Answer::Done));
    assert_eq!(told(&mut desk), ["answer ready? yes"]);
    // A second answer is counted and changes nothing; a wrong type is told to the game.
    desk.command(answer(text("yes")));
    assert_eq!(desk.counts("plaza").unknown_answers, 1);
    desk.command(Command::Session(npc, SessionCommand::Say(text("call again?"))));
    desk.command(Command::Session(npc, SessionCommand::Answer(CallId(2), Arc::new(7_u32))));
    assert_eq!(told(&mut desk), ["call 2 again?", "answer again? BadPayload"]);
}

#[test]
fn an_answer_that_is_committed_is_not_asked_for_again() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.command(Command::Session(npc, SessionCommand::Say(text("call ready?"))));
    desk.command(Command::Session(npc, SessionCommand::Answer(CallId(1), text("yes"))));
    desk.crash();
    desk.restart();
    told(&mut desk);
    desk.wait(2_000);
    assert!(told(&mut desk).is_empty(), "the call is closed and does not time out");
}

#[test]
fn a_call_to_a_native_session_crosses_a_crash_and_its_asker_learns_how_it_ended() {
    for answered in [false, true] {
        let mut desk = Desk::plain();
        let npc = start(&mut desk, "plaza");
        desk.command(Command::Session(npc, SessionCommand::Say(text("call ready?"))));
        desk.crash();
        desk.restart();
        told(&mut desk);
        if answered {
            desk.command(Command::Session(npc, SessionCommand::Answer(CallId(1), text("yes"))));
            assert_eq!(told(&mut desk), ["answer ready? yes"]);
        }
        desk.wait(2_000);
        let late = if answered { vec![] } else { vec!["answer ready? Timeout"] };
        assert_eq!(told(&mut desk), late);
    }
}

#[test]
fn a_native_session_is_sent_to_and_asked_from_outside() {
    let mut desk = Desk::plain();
    for kind in ["plaza", "memory"] {
        let npc = start(&mut desk, kind);
        assert_eq!(
            desk.command(Command::Session(npc, SessionCommand::Send("psst".into()))),
            Some(Answer::Done)
        );
        let ticket = desk.order(Command::Session(npc, SessionCommand::Call("how?".into(), SECOND)));
        assert_eq!(told(&mut desk), ["sent psst", "asked how?"]);
        let call = CallId(CallId::HUB | 1);
        let fine: Native = Arc::new(Bytes::from_static(b"fine"));
        assert_eq!(
            desk.command(Command::Session(npc, SessionCommand::Answer(call, fine.clone()))),
            Some(Answer::Done)
        );
        assert_eq!(desk.answers[&ticket], Answer::Called(Ok("fine".into())));
        let late = desk.command(Command::Session(npc, SessionCommand::Answer(call, fine)));
        assert_eq!(late, Some(Answer::Refused(RefusalCode::UnknownCall)));
        let silent = desk.order(Command::Session(npc, SessionCommand::Call("and?".into(), SECOND)));
        desk.wait(1_000);
        assert_eq!(desk.answers[&silent], Answer::Called(Err(CallFailed::Timeout)));
        told(&mut desk);
    }
}

#[test]
fn a_native_session_learns_that_its_zone_was_rebuilt() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.command(Command::Session(npc, SessionCommand::Say(text("panic"))));
    assert_eq!(told(&mut desk), ["rebuilt"]);
    desk.command(Command::Session(npc, SessionCommand::Say(text("say here"))));
    assert_eq!(told(&mut desk), ["here"], "it is a member as before");
}

#[test]
fn a_native_session_learns_that_its_zone_forgot_it_or_closed() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "memory");
    // Never saved: the next incarnation knows nothing of its member.
    desk.command(Command::Session(npc, SessionCommand::Say(text("panic"))));
    assert_eq!(told(&mut desk), ["lost"]);
    let spoken = desk.command(Command::Session(npc, SessionCommand::Say(text("say hello?"))));
    assert_eq!(spoken, Some(Answer::Refused(RefusalCode::NotMember)));
    desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "".into())));
    for _ in 0..4 {
        desk.command(Command::Session(npc, SessionCommand::Say(text("panic"))));
    }
    let heard = told(&mut desk);
    assert_eq!(heard.last().map(String::as_str), Some("parted ZoneFault"), "{heard:?}");
}

#[test]
fn a_native_session_learns_that_it_was_refused() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.command(Command::Session(npc, SessionCommand::Part));
    told(&mut desk);
    desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "deny".into())));
    assert_eq!(told(&mut desk), ["refused JoinDenied"]);
    desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "panic".into())));
    assert_eq!(told(&mut desk), ["refused ZoneFault"]);
    desk.command(Command::Session(npc, SessionCommand::Join(zone("plaza"), "".into())));
    told(&mut desk);
    desk.command(Command::Session(npc, SessionCommand::Say(Arc::new(7_u32))));
    assert_eq!(told(&mut desk), ["refused BadPayload"]);
}

#[test]
fn the_end_of_a_native_session_is_told_to_it_last() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.command(Command::Session(npc, SessionCommand::End(EndCause::AgentFault)));
    assert_eq!(told(&mut desk), ["parted SessionEnded", "ended agent_fault"]);
}

#[test]
fn sessions_are_moved_from_outside_into_a_zone_and_on_to_the_next() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    let to = |kind| Command::Session(ann, SessionCommand::Move(zone(kind), "".into()));
    assert_eq!(desk.command(to("plaza")), Some(Answer::Zone(ZoneId::of("plaza", "p"))));
    assert_eq!(desk.take("ann"), ["in plaza/p".to_owned(), format!("joined {ann}")]);
    assert_eq!(desk.command(to("memory")), Some(Answer::Zone(ZoneId::of("memory", "p"))));
    let heard = desk.take("ann");
    assert_eq!(heard.last(), Some(&format!("joined {ann}")), "{heard:?}");
    assert_eq!((desk.members("plaza"), desk.members("memory")), (0, 1));
    assert_eq!(desk.command(to("nowhere")), Some(Answer::Refused(RefusalCode::UnknownKind)));
    assert_eq!(desk.command(Command::Session(ann, SessionCommand::Part)), Some(Answer::Done));
    assert_eq!(desk.members("memory"), 0);
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn a_broadcast_reaches_everybody_once_wherever_they_are() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    for name in ["cid", "dan"] {
        desk.login(name);
        desk.take(name);
    }
    let npc = start(&mut desk, "memory");
    desk.hush();
    desk.cut("bob");
    desk.sent.clear();
    let all = desk.command(Command::Broadcast(Audience::Everybody, "news".into()));
    assert_eq!(all, Some(Answer::Told { told: 5, missed: 0 }));
    desk.resume("bob");
    for name in ["ann", "bob", "cid", "dan"] {
        let heard = desk.take(name);
        assert_eq!(heard.iter().filter(|said| *said == "news").count(), 1, "{name}: {heard:?}");
    }
    assert_eq!(told(&mut desk), ["sent news"]);
    let frames = desk.sent.iter().filter(|(_, frame)| contains(frame.protobuf(), b"news"));
    let first = desk.sent.iter().find(|(_, frame)| contains(frame.protobuf(), b"news"));
    let (_, first) = first.expect("ann's at least");
    assert_eq!(frames.clone().count(), 2, "ann live, bob replayed");
    let same = |frame: &Bytes| frame.as_ptr() == first.protobuf().as_ptr();
    assert!(frames.clone().all(|(_, frame)| same(frame.protobuf())), "encoded once");
    let _ = npc;
}

#[test]
fn a_broadcast_to_a_zone_reaches_its_members_only_and_waits_for_who_is_on_its_way() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.login("bob");
    desk.take("bob");
    let plaza = Audience::Zone(ZoneId::of("plaza", "p"));
    let one = desk.command(Command::Broadcast(plaza, "here".into()));
    assert_eq!(one, Some(Answer::Told { told: 1, missed: 0 }));
    assert_eq!(desk.take("ann"), ["here"]);
    assert!(desk.take("bob").is_empty());
    desk.hold_zones = true;
    desk.join("bob", "busy");
    let all = desk.order(Command::Broadcast(Audience::Everybody, "again".into()));
    assert_eq!(desk.answers.get(&all), None, "bob is on its way");
    desk.hold_zones = false;
    desk.run();
    assert_eq!(desk.answers.get(&all), Some(&Answer::Told { told: 2, missed: 0 }));
    let nowhere = Audience::Zone(ZoneId(1));
    assert_eq!(desk.command(Command::Broadcast(nowhere, "x".into())), Some(Answer::Unknown));
    let huge = Bytes::from(vec![0; 1 << 20]);
    let refused = Some(Answer::Refused(RefusalCode::BadPayload));
    assert_eq!(desk.command(Command::Broadcast(plaza, huge.clone())), refused);
    let ann = desk.id("ann");
    assert_eq!(desk.command(Command::Session(ann, SessionCommand::Send(huge.clone()))), refused);
    assert_eq!(desk.command(Command::Session(ann, SessionCommand::Call(huge, SECOND))), refused);
}

fn contains(bytes: &Bytes, part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A session of the server hears no frames, so its join took no number of the zone's stream, and whoever
/// came next with a lower id passed for the one who had come first.
#[test]
fn who_came_before_is_told_apart_from_who_came_after_a_native_session() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.login("bob");
    start(&mut desk, "plaza");
    desk.join("ann", "plaza");
    desk.join("bob", "plaza");
    desk.say("bob", "own 2 hand");
    desk.part("bob");
    assert_eq!(desk.ask("ann", "mine"), "", "the server's session has been there longest");
}

/// Commands for sessions of the server do nothing with those of clients, and say so.
#[test]
fn a_session_of_a_client_does_not_take_commands_for_local_ones() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.say("ann", "call ready?");
    let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), SECOND)));
    desk.hush();
    let fine: Native = Arc::new(Bytes::from_static(b"fine"));
    for command in [
        SessionCommand::Say(text("say hello")),
        SessionCommand::Answer(CallId(1), text("yes")),
        SessionCommand::Answer(CallId(CallId::HUB | 1), fine),
        SessionCommand::Join(zone("hard"), "".into()),
        SessionCommand::TakeSeat(zone("hard"), SeatId([1; 16]), "".into()),
    ] {
        let told = format!("{command:?}");
        let answer = desk.command(Command::Session(ann, command));
        assert_eq!(answer, Some(Answer::Unknown), "{told}");
    }
    assert_eq!((desk.take("ann"), desk.take("bob")), (Vec::new(), Vec::new()));
    assert_eq!(desk.answers.get(&ticket), None, "ann has not answered");
    assert!(desk.is_in("ann", "plaza") && !desk.is_open("hard"));
    desk.assert_plays("ann");
}

/// Nothing that is meant for a connected session gets at one of the server.
#[test]
fn a_local_session_is_not_spoken_for_by_a_connection() {
    let mut desk = Desk::plain();
    let npc = start(&mut desk, "plaza");
    desk.login("ann");
    let verdict = desk.try_hello("ann", |client, nonce| {
        let mut hello = client.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.session = npc.0;
        }
        client.signed(hello, nonce)
    });
    assert_eq!(verdict, Err(CloseCode::SessionUnknown));
    let plaza = ZoneId::of("plaza", "p");
    let owner = desk.zones[&plaza].machine.owner();
    let (epoch, reason) = (SessionEpoch(0), RungReason::Complete);
    for said in [
        ToSession::Attached { epoch, reason, replayed: 0 },
        ToSession::Sever { epoch, code: CloseCode::TooSlow },
    ] {
        desk.input(HubInput::FromZone(plaza, owner, ToHub::Session(npc, said)));
    }
    let stay = desk.hub.session(npc).expect("it is there").leg().stay;
    let (session, body) = (npc, Some(message("say forged")));
    let up = ToZone::Up { session, epoch, stay, up: Up { seq: 1, body } };
    let zone = desk.zones.get_mut(&plaza).expect("it is open");
    zone.machine.handle(desk.now, ZoneInput::FromHub(owner, up));
    assert!(zone.machine.next_output().is_none(), "it has no numbers");
    told(&mut desk);
    desk.command(Command::Session(npc, SessionCommand::Say(text("say here"))));
    assert_eq!(told(&mut desk), ["here"]);
    assert!(desk.hub.session(npc).is_some());
}
