//! What clients say: each number is consumed exactly once, applied or refused with a typed answer.

use rejoin_core::connection::FromConnection;
use rejoin_core::hub::{Command, HubInput, ZoneCommand};
use rejoin_core::id::{Leg, ZoneId};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{
    CloseCode, Down, Join, Message, Position, Rung, Welcome, down, hello, server_frame, up,
};

use crate::desk::Desk;
use crate::desk::client::{message, up_frame};

#[test]
fn an_unknown_zone_is_refused_and_opens_nothing() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    let join = |kind: &str, create| Join {
        kind: kind.to_owned(),
        name: "nowhere".to_owned(),
        create,
        ..Join::default()
    };
    desk.up("ann", up::Body::Join(join("plaza", false)));
    desk.up("ann", up::Body::Join(join("no such kind", true)));
    assert_eq!(desk.take("ann"), ["refused 1 UnknownZone", "refused 2 UnknownKind"]);
    desk.join("ann", "private");
    assert_eq!(desk.take("ann"), ["refused 3 CreateDenied"]);
    assert_eq!(desk.client("ann").applied, 3, "each number is consumed");
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_zone_that_clients_may_not_create_can_be_joined_once_it_is_open() {
    let mut desk = Desk::plain();
    desk.command(Command::Zone(ZoneCommand::Open(crate::desk::zone("private"))));
    desk.login("ann");
    desk.join("ann", "private");
    assert!(desk.is_in("ann", "private"));
}

// Row of §6: "failed join affects others".
#[test]
fn a_denied_join_leaves_the_joiner_outside_and_nobody_notices() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    desk.join_with("ann", "plaza", "p", "deny");
    assert_eq!(desk.take("ann"), ["refused 1 JoinDenied"]);
    assert!(desk.is_in_lobby("ann"));
    assert!(desk.take("bob").is_empty());
    assert_eq!(desk.members("plaza"), 1);
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn joining_twice_is_refused_and_not_fatal() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.join("ann", "plaza");
    desk.join("ann", "hard");
    assert_eq!(desk.take("ann"), ["refused 2 AlreadyJoined", "refused 3 AlreadyJoined"]);
    assert!(desk.is_in("ann", "plaza"));
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

// Row of §6: "completion or 'ok' reported before the thing is true" (a message to nobody is not ok).
#[test]
fn a_message_of_a_non_member_is_refused() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    desk.say("ann", "say hello?");
    assert_eq!(desk.take("ann"), ["refused 1 NotMember"]);
    desk.part("ann");
    assert_eq!(desk.take("ann"), ["refused 2 NotMember"]);
    assert!(desk.take("bob").is_empty());
    desk.join("ann", "plaza");
    desk.part("ann");
    desk.say("ann", "say after");
    let number = desk.client("ann").number;
    assert_eq!(desk.take("ann").last(), Some(&format!("refused {number} NotMember")));
    desk.assert_plays("bob");
}

#[test]
fn a_payload_that_is_no_message_of_the_game_is_refused() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let payload = Bytes::from_static(&[0xff, 0xfe]);
    desk.up("ann", up::Body::Message(Message { payload, ..Message::default() }));
    assert_eq!(desk.take("ann"), ["refused 2 BadPayload"]);
    let refused = desk.client("ann").line().frames.iter().find_map(|frame| match &frame.frame {
        Some(server_frame::Frame::Down(Down {
            body: Some(down::Body::Refused(refused)), ..
        })) => Some(refused.text.clone()),
        _ => None,
    });
    let text = refused.expect("it was refused");
    assert!(text.contains("invalid utf-8"), "the sender reads what the decoder said: {text:?}");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

type Ahead = fn(u64, u64) -> (u64, u64);

#[test]
fn an_acknowledgement_of_what_was_never_sent_closes_only_that_connection() {
    let ahead: [Ahead; 3] =
        [|leg, seq| (leg, seq + 100), |leg, seq| (leg + 1, seq), |leg, _| (leg + (5 << 32), 0)];
    for in_zone in [true, false] {
        for ahead in ahead {
            let mut desk = Desk::with_plaza(&["bob"]);
            desk.login("ann");
            if in_zone {
                desk.join("ann", "plaza");
            }
            let (leg, seq) = (desk.client("ann").leg, desk.client("ann").seq);
            let (leg, seq) = ahead(leg, seq);
            desk.ack("ann", leg, seq);
            assert_eq!(desk.closed("ann"), Some(CloseCode::AckAhead), "{in_zone}");
            assert!(desk.view("ann").is_some(), "the session is held");
            desk.assert_plays("bob");
            assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
        }
    }
}

#[test]
fn the_acknowledgement_of_a_part_may_overtake_the_departure() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    // The zone's last word reaches the client, and its answer the hub, before that hears of the departure.
    desk.asleep = Some(ZoneId::of("plaza", "p"));
    desk.part("ann");
    let stay = Leg::from_wire(desk.client("ann").leg).stay;
    let position = Position { leg: Leg::first(stay + 1).to_wire(), seq: 0 };
    let connection = desk.client("ann").connection();
    desk.input(HubInput::FromConnection(connection, FromConnection::Ack(position)));
    assert_eq!(desk.closed("ann"), None);
    desk.asleep = None;
    desk.run();
    assert_eq!(desk.take("ann"), ["out Asked"]);
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn a_gap_in_the_numbers_closes_only_that_connection() {
    for in_zone in [true, false] {
        let mut desk = Desk::with_plaza(&["bob"]);
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        desk.client_mut("ann").number += 1;
        desk.say("ann", "say too far");
        assert_eq!(desk.closed("ann"), Some(CloseCode::NumberGap));
        assert!(desk.view("ann").is_some(), "the session is held");
        desk.assert_plays("bob");
        desk.client_mut("ann").number -= 2;
        assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    }
}

#[test]
fn a_number_that_comes_again_is_not_applied_again_and_is_acknowledged_again() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "once");
    let (number, connection) = (desk.client("ann").number, desk.client("ann").connection());
    desk.client_mut("ann").applied = 0;
    desk.receive(connection, &up_frame(number, message("once")));
    desk.run();
    assert_eq!(desk.client("ann").applied, number);
    assert_eq!(desk.ask("bob", "times once"), "1");
    assert_eq!(desk.closed("ann"), None);
    // The same outside zones.
    desk.part("ann");
    let number = desk.client("ann").number;
    desk.client_mut("ann").applied = 0;
    desk.receive(connection, &up_frame(number, message("x")));
    desk.run();
    assert_eq!(desk.client("ann").applied, number);
}

#[test]
fn frames_sent_right_behind_a_join_or_a_part_are_heard_where_they_belong() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.queue("ann", message("say one"));
    desk.queue("ann", up::Body::Part(Default::default()));
    desk.queue("ann", message("say lost"));
    desk.queue("ann", crate::desk::join("hard", "p", ""));
    desk.queue("ann", message("say two"));
    desk.run();
    let heard = desk.take("ann");
    let ann = desk.id("ann");
    assert_eq!(
        heard,
        ["one", "out Asked", "refused 4 NotMember", "in hard/p", &format!("joined {ann}"), "two"]
    );
    assert_eq!(desk.client("ann").applied, 6);
    assert_eq!(desk.take("bob"), ["one".to_owned(), format!("parted {ann} Asked")]);
}

#[test]
fn frames_that_wait_for_a_place_are_bounded() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.hold_zones = true;
    desk.join("ann", "hard");
    for _ in 0..300 {
        desk.say("ann", "waiting");
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded));
    desk.hold_zones = false;
    desk.run();
    desk.assert_plays("bob");
    desk.client_mut("ann").number = 1;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("ann");
}

/// A resume whose oldest number that is not acknowledged is this one.
fn try_resume_at(desk: &mut Desk, oldest: u64) -> Result<Welcome, CloseCode> {
    desk.cut("ann");
    desk.try_hello("ann", |ann, nonce| {
        let mut hello = ann.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.oldest_unacked = oldest;
        }
        ann.signed(hello, nonce)
    })
}

/// The highest number that a hello may name: there are as many above it.
const FAR: u64 = 1 << 62;

/// A resume that claims to hold numbers up to there.
fn resume_far(desk: &mut Desk, oldest: u64) {
    let welcome = try_resume_at(desk, oldest).expect("a jump is legal in a hello");
    assert_eq!(welcome.applied, oldest - 1);
    assert!(welcome.lost_upstream > 0);
    assert_eq!(welcome.rung(), Rung::Resynced, "who lost something is told so");
}

/// A client takes no number above `u64::MAX >> 1`. If a hello could move the stream there, whoever shows the
/// session's token once would keep its player out for good.
#[test]
fn a_hello_cannot_use_up_the_numbers_of_a_session() {
    for in_zone in [true, false] {
        let mut desk = Desk::with_plaza(&["bob"]);
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        for oldest in [FAR + 1, u64::MAX] {
            assert_eq!(try_resume_at(&mut desk, oldest), Err(CloseCode::Malformed));
        }
        let welcome = desk.resume("ann");
        assert_eq!((welcome.rung(), welcome.lost_upstream), (Rung::Replayed, 0));
        assert_eq!(desk.closed("ann"), None);
        desk.assert_plays("bob");
    }
}

#[test]
fn numbers_at_the_end_of_all_numbers_neither_panic_nor_wrap() {
    for in_zone in [true, false] {
        let mut desk = Desk::with_plaza(&["bob"]);
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        resume_far(&mut desk, FAR);
        desk.client_mut("ann").number = FAR - 1;
        desk.say("ann", "say last");
        assert_eq!(desk.client("ann").applied, FAR);
        let connection = desk.client("ann").connection();
        for seq in [FAR, 1, 5] {
            desk.receive(connection, &up_frame(seq, message("say again")));
        }
        desk.run();
        assert!(!desk.take("bob").contains(&"again".to_owned()));
        desk.ack("ann", u64::MAX, u64::MAX);
        assert_eq!(desk.closed("ann"), Some(CloseCode::AckAhead));
        desk.assert_plays("bob");
    }
}
