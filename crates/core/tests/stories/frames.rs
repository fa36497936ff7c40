//! Bytes that are no frame, and frames that may not stand where they do: a typed farewell for the
//! guilty connection, its session held, and nobody else notices.

use std::time::Duration;

use rejoin_core::event::Event;
use rejoin_core::hub::{Admission, ConnectionState, FrameKind, Stage, Verdict, table};
use rejoin_core::wire::v1::{
    Answer, ClientFrame, CloseCode, Hello, Join, KeyProof, Login, Loose, Message, Ping, Pong,
    Position, Resume, Rung, Up, client_frame, hello, login, up,
};
use rejoin_core::wire::{Bytes, Encoding, Limits, encode_client};

use crate::desk::client::{client, hello_for, up_frame};
use crate::desk::{Desk, Doorman, config};

fn encoded(frame: &ClientFrame) -> Bytes {
    encode_client(Encoding::Protobuf, frame).expect("protobuf can hold it")
}

fn hello_frame(hello: Hello) -> Bytes {
    encoded(&client(client_frame::Frame::Hello(hello)))
}

fn login_with(identity: Option<login::Identity>) -> Hello {
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

/// Every way in which bytes can fail to be a frame.
fn malformed() -> Vec<(&'static str, Bytes)> {
    let short = |len| Bytes::from(vec![1; len]);
    let proof = KeyProof { public_key: short(31), signature: short(64) };
    let forged = KeyProof { public_key: short(32), signature: short(63) };
    let resume = Resume { session: 1, token: short(16), ..Resume::default() };
    let no_purpose = Hello { purpose: None, ..login_with(None) };
    let up = |up| encoded(&client(client_frame::Frame::Up(up)));
    vec![
        ("garbage", Bytes::from_static(&[0xff; 40])),
        ("a cut-off frame", Bytes::from_static(&[0x12, 0x7f, 0x08])),
        ("an empty frame", Bytes::new()),
        ("a hello without purpose", hello_frame(no_purpose)),
        ("a login without identity", hello_frame(login_with(None))),
        ("a short key", hello_frame(login_with(Some(login::Identity::Key(proof))))),
        ("a short signature", hello_frame(login_with(Some(login::Identity::Key(forged))))),
        ("a short secret", hello_frame(login_with(Some(login::Identity::Secret(short(31)))))),
        ("a short token", hello_frame(hello_for(hello::Purpose::Resume(resume)))),
        ("a number zero", up(Up { seq: 0, body: Some(up::Body::Part(Default::default())) })),
        ("a number without body", up(Up { seq: 1, body: None })),
    ]
}

/// Everything that can be too long.
fn oversized() -> Vec<(&'static str, Bytes)> {
    let limits = Limits::DEFAULT;
    let long = |len: usize| Bytes::from(vec![b'x'; len + 1]);
    let text = |len: usize| "x".repeat(len + 1);
    let message = |payload, key| Message { payload, key, ..Message::default() };
    let join = |kind: usize, name: usize, payload: Bytes| {
        up::Body::Join(Join {
            kind: "x".repeat(kind),
            name: "x".repeat(name),
            create: true,
            payload,
            ticket: String::new(),
        })
    };
    let up = |body| encoded(&up_frame(1, body));
    let hello = |change: fn(&mut Hello)| {
        let mut hello = login_with(Some(login::Identity::Anonymous(Default::default())));
        change(&mut hello);
        hello_frame(hello)
    };
    vec![
        ("a frame", long(limits.frame_bytes_max)),
        ("a payload", up(up::Body::Message(message(long(limits.message_bytes_max), text(0))))),
        ("a key", up(up::Body::Message(message(Bytes::new(), text(limits.key_bytes_max))))),
        ("a kind", up(join(limits.zone_kind_bytes_max + 1, 1, Bytes::new()))),
        ("a name", up(join(1, limits.zone_name_bytes_max + 1, Bytes::new()))),
        ("a join", up(join(1, 1, long(limits.message_bytes_max)))),
        (
            "an answer",
            up(up::Body::Answer(Answer { call: 1, payload: long(limits.message_bytes_max) })),
        ),
        ("a server name", hello(|hello| hello.server_name = "x".repeat(254))),
        // Row of §6: "malformed admission payload throws".
        ("an admission", hello(|hello| hello.admission = Bytes::from(vec![0; 10_241]))),
        ("capabilities", hello(|hello| hello.capabilities = vec![String::new(); 17])),
        ("a capability", hello(|hello| hello.capabilities = vec!["x".repeat(65)])),
    ]
}

/// Puts bytes on a live connection of ann's, and looks at what bob sees of it.
fn assert_guilty_alone(what: &str, bytes: Bytes, code: CloseCode) {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (ann, bob) = (desk.id("ann"), desk.client("bob").connection());
    let connection = desk.client("ann").connection();
    desk.receive_bytes(connection, bytes);
    desk.run();
    assert_eq!(desk.take("ann"), [format!("farewell {code:?}")], "{what}");
    assert_eq!(desk.closed("ann"), Some(code), "{what}");
    assert!(desk.hub.session(ann).is_some_and(|session| session.is_held()), "{what}");
    assert_eq!(desk.take("bob"), [format!("dropped {ann}")], "{what}");
    assert_eq!(desk.hub.connection_state(bob), ConnectionState::InGame);
    desk.assert_plays("bob");
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed, "{what}");
    desk.assert_plays("ann");
}

#[test]
fn every_malformed_frame_closes_its_connection_and_holds_its_session() {
    for (what, bytes) in malformed() {
        assert_guilty_alone(what, bytes, CloseCode::Malformed);
    }
}

#[test]
fn every_oversized_frame_is_told_too_large() {
    for (what, bytes) in oversized() {
        assert_guilty_alone(what, bytes, CloseCode::TooLarge);
    }
}

#[test]
fn malformed_bytes_before_the_hello_end_in_a_farewell() {
    for (what, bytes) in malformed().into_iter().chain(oversized()) {
        let mut desk = Desk::with_plaza(&["bob"]);
        let connection = desk.connect("ann");
        desk.receive_bytes(connection, bytes);
        desk.run();
        let code = desk.closed("ann");
        assert!(
            matches!(code, Some(CloseCode::Malformed | CloseCode::TooLarge)),
            "{what}: {code:?}"
        );
        desk.assert_plays("bob");
        assert_eq!(desk.hub.sessions().count(), 1, "{what}");
    }
}

fn frame_of(kind: FrameKind) -> client_frame::Frame {
    match kind {
        FrameKind::Hello => client_frame::Frame::Hello(crate::desk::client::anonymous()),
        FrameKind::Up => client_frame::Frame::Up(Up {
            seq: 1,
            body: Some(crate::desk::client::message("early")),
        }),
        FrameKind::Loose => client_frame::Frame::Loose(Loose { leg: 0, payload: Bytes::new() }),
        FrameKind::Ack => client_frame::Frame::Ack(Position::default()),
        FrameKind::Ping => client_frame::Frame::Ping(Ping { nonce: 1 }),
        FrameKind::Pong => client_frame::Frame::Pong(Pong { nonce: 1 }),
    }
}

/// Brings a connection of ann's to a stage.
fn at_stage(stage: Stage) -> Desk {
    let mut config = config();
    config.admission = Admission::Ask(Duration::from_millis(2_000));
    let mut desk = Desk::new(config);
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.half_open = true;
    match stage {
        Stage::AwaitingHello => drop(desk.connect("ann")),
        Stage::Deciding => {
            desk.doorman = Doorman::Sleeps;
            assert_eq!(desk.try_login("ann"), Err(CloseCode::Unspecified), "nothing is said yet");
        }
        Stage::Live => drop(desk.login("ann")),
        Stage::Closing => {
            desk.connect("ann");
            desk.frame("ann", frame_of(FrameKind::Ping));
        }
    }
    desk.hush();
    desk
}

// Row of §6: "handler runs in a state it should not".
#[test]
fn every_frame_in_every_stage_is_decided_by_the_table() {
    for stage in Stage::ALL {
        for kind in FrameKind::ALL {
            let mut desk = at_stage(stage);
            let connection = desk.client("ann").connection();
            let before = desk.hub.connection_state(connection);
            desk.frame("ann", frame_of(kind));
            let after = desk.hub.connection_state(connection);
            let heard = desk.take("ann");
            match table(stage, kind) {
                Verdict::Violation => {
                    assert_eq!(heard, ["farewell OutOfState"], "{stage:?} {kind:?}");
                    assert_eq!(after, ConnectionState::Disconnecting, "{stage:?} {kind:?}");
                }
                Verdict::Ignore => {
                    assert!(heard.is_empty(), "{stage:?} {kind:?}: {heard:?}");
                    assert_eq!(after, before, "{stage:?} {kind:?}");
                }
                Verdict::Take => {
                    let out = "farewell OutOfState".to_owned();
                    assert!(!heard.contains(&out), "{stage:?} {kind:?}");
                }
            }
            desk.assert_plays("bob");
        }
    }
}

#[test]
fn a_violation_while_the_hello_is_decided_leaves_no_session() {
    let mut desk = at_stage(Stage::Deciding);
    desk.frame("ann", frame_of(FrameKind::Up));
    desk.doorman = Doorman::Approves;
    let connection = desk.client("ann").connection();
    desk.admit(connection);
    assert_eq!(desk.hub.sessions().count(), 1, "only bob is here");
}

// Row of §6: "session re-created by data arriving after close".
#[test]
fn frames_after_the_close_create_nothing() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let connection = desk.client("ann").connection();
    desk.bye("ann");
    assert_eq!(desk.hub.sessions().count(), 1);
    for kind in FrameKind::ALL {
        desk.receive(connection, &client(frame_of(kind)));
        desk.run();
    }
    assert_eq!(desk.hub.connection_state(connection), ConnectionState::Disconnected);
    assert_eq!(desk.hub.sessions().count(), 1);
    desk.assert_plays("bob");
}

#[test]
fn a_version_that_is_not_served_is_refused() {
    let mut desk = Desk::plain();
    let refused = desk.try_hello("ann", |ann, nonce| {
        let mut hello = ann.login(false, nonce);
        hello.version = 9;
        ann.signed(hello, nonce)
    });
    assert_eq!(refused, Err(CloseCode::Version));
}

#[test]
fn a_sender_over_its_budget_waits_and_loses_nothing() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    for _ in 0..300 {
        desk.say("ann", "flood");
    }
    let notices = desk.take("ann");
    assert!(notices.iter().any(|said| said == "notice Throttled"), "the sender is told");
    assert_eq!(desk.ask("ann", "times flood"), "300", "nothing numbered is dropped");
    desk.assert_plays("bob");
}

/// The steps of the guard so far, as `step what whose`.
fn steps(desk: &Desk) -> Vec<String> {
    let told = desk.events.iter().filter_map(|event| match event {
        Event::GuardStep { step, what, session, .. } => {
            let whose = if session.is_some() { "session" } else { "nobody" };
            Some(format!("{} {} {whose}", step.label(), what.label()))
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn each_step_of_the_guard_is_told_once_until_the_sender_rests() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..300 {
        desk.say("ann", "flood");
    }
    assert_eq!(steps(&desk), ["warn messages session", "throttle messages session"]);
    desk.wait(10_000);
    for _ in 0..300 {
        desk.say("ann", "flood");
    }
    assert_eq!(steps(&desk)[2..], ["warn messages session", "throttle messages session"]);
}

#[test]
fn a_severed_connection_is_a_step_of_the_guard() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let connection = desk.client("ann").connection();
    desk.receive_bytes(connection, Bytes::from_static(&[0xff; 40]));
    desk.run();
    assert_eq!(steps(&desk), ["sever malformed session"]);
}

#[test]
fn every_kind_of_event_has_its_name() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    for event in &desk.events {
        assert!(format!("{event:?}").starts_with(event.name()), "{event:?} is {}", event.name());
    }
    assert!(!desk.events.is_empty());
}
