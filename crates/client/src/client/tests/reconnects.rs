//! Coming in, coming back, and not coming back.

use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{Farewell, Ping, Pong, Resync, Welcome, hello, login, server_frame};

use super::script::{Script, TOKEN, first, replayed, resume, resynced};
use super::*;
use crate::{ResumeState, Rung, Secret, Signer, Violation};

#[test]
fn a_token_is_stored_before_the_first_frame_confirms_it() {
    let mut script = Script::new();
    script.open();
    script.order.clear();
    script.welcome(first());
    assert_eq!(script.order, ["store_token", "send", "event"]);
    assert_eq!(script.acks(), [(1, 0)]);
    let stored = script.stored.as_ref().unwrap();
    assert_eq!((stored.session, stored.epoch, stored.token.expose()), (7, 1, &TOKEN));
    assert!(matches!(script.events[..], [Event::Connected { rung: Rung::New, session: 7, .. }]));
}

#[test]
fn a_minted_secret_is_stored_and_used_from_then_on() {
    let config = Config::new("play.example");
    let mut script = Script::with(Client::new(config, Identity::Secret(None), [1; 32]));
    let asks = |hello: &rejoin_wire::v1::Hello| match &hello.purpose {
        Some(hello::Purpose::Login(login)) => login.identity.clone().unwrap(),
        other => panic!("no login but {other:?}"),
    };
    assert!(matches!(asks(&script.open()), login::Identity::Mint(_)));
    script.order.clear();
    script.welcome(Welcome { secret: vec![4; 32].into(), ..first() });
    assert_eq!(script.order[..3], ["store_secret", "store_token", "send"]);
    script.farewell(CloseCode::Ended);
    let login::Identity::Secret(secret) = asks(&script.open()) else { panic!() };
    assert_eq!(&secret[..], [4; 32]);
}

struct Echo;

impl Signer for Echo {
    fn public_key(&self) -> [u8; 32] {
        [8; 32]
    }

    /// Not a signature: the sum of the text, so that the test sees what was signed.
    fn sign(&self, text: &[u8]) -> [u8; 64] {
        let mut sum = [0; 64];
        text.iter().enumerate().for_each(|(index, byte)| sum[index % 64] ^= byte.rotate_left(1));
        sum
    }
}

#[test]
fn a_key_signs_the_name_that_was_dialled_and_all_the_hello_says() {
    let mut config = Config::new("play.example");
    config.capabilities = vec!["zstd".into()];
    config.admission = "ticket".into();
    let state = ResumeState { session: 7, token: Secret::new(TOKEN), epoch: 3 };
    let key = Identity::Key(Box::new(Echo));
    let mut script = Script::with(Client::with_resume_state(config, key, [1; 32], state));
    let hello = script.open();
    let resume = resume(&hello);
    assert!(resume.cold && resume.position.is_none() && resume.oldest_unacked == 0);
    assert_eq!(&resume.token[..], TOKEN);
    let text = signed_text(&Proof {
        purpose: Purpose::Resume,
        version: 1,
        server_name: "play.example",
        nonce: &[5; 32],
        session: 7,
        epoch: 3,
        fresh: false,
        cold: true,
        capabilities: &["zstd".into()],
        admission: b"ticket",
        channel_binding: &[],
    });
    assert_eq!(&resume.key.as_ref().unwrap().signature[..], Echo.sign(&text));
}

#[test]
fn a_drop_is_resumed_warm_within_a_quarter_of_the_hold() {
    let mut script = Script::connected();
    script.say(3, "hi").cut();
    assert!(script.has(&Event::Disconnected { code: None }));
    for _ in 0..12 {
        assert!(script.wake() <= Duration::from_millis(1_250), "5 s of hold");
        script.now = Time::from_millis(1_500);
        script.cut();
    }
    let hello = script.open();
    let resume = resume(&hello);
    assert!(!resume.cold);
    let position = resume.position.unwrap();
    assert_eq!((position.leg, position.seq, resume.oldest_unacked, resume.epoch), (1, 3, 1, 1));
    script.clear();
    script.welcome(replayed(1, 0)).say(3, "hi").say(4, "again");
    assert!(matches!(script.events[0], Event::Connected { rung: Rung::Replayed, .. }));
    assert_eq!(script.events[1..], [Event::Message { payload: "again".into() }]);
}

#[test]
fn a_takeover_is_not_retried_and_the_players_own_retry_is_cold() {
    let mut script = Script::connected();
    script
        .act(|client, _| {
            client.send("x").unwrap();
        })
        .farewell(CloseCode::TakenOver);
    assert!(script.has(&Event::TakenOver));
    assert!(matches!(script.events.last(), Some(Event::SendsLost { sends }) if sends.len() == 1));
    assert_eq!(script.client.status(), Status::Stopped);
    assert_eq!(script.client.next_deadline(), None);
    script.pass(60_000).act(Client::wake).act(Client::connect);
    assert_eq!(script.dialled.len(), 1);
    let hello = script.open();
    assert!(resume(&hello).cold);
    // The other device has used numbers up to 30; this one goes on behind them.
    script.clear();
    script.welcome(resynced(2, 30)).act(|client, _| {
        client.send("y").unwrap();
    });
    assert_eq!(script.ups(), [31]);
}

#[test]
fn what_is_fatal_stops_and_only_the_player_starts_again() {
    for code in [CloseCode::Banned, CloseCode::Credential, CloseCode::AckAhead, CloseCode::Kicked] {
        let mut script = Script::connected();
        script.farewell(code);
        assert!(script.has(&Event::Stopped { code: Some(code), text: String::new() }));
        assert_eq!(script.client.next_deadline(), None);
        script.act(Client::retry);
        assert_eq!(script.dialled.len(), 2);
    }
}

#[test]
fn the_server_is_not_asked_again_before_the_time_it_gave() {
    let mut script = Script::new();
    script.open();
    script.refuse(CloseCode::NotReady, 30_000);
    let wait = script.wake();
    assert!((30_000..=30_250).contains(&wait.as_millis()), "{wait:?}");
    assert_eq!(script.dialled.len(), 2);
}

#[test]
fn a_session_that_is_gone_is_followed_by_a_login_that_says_why() {
    let mut script = Script::connected();
    script
        .act(|client, _| {
            client.request("?").unwrap();
        })
        .cut();
    script.open();
    script.refuse(CloseCode::SessionUnknown, 0);
    assert!(script.stored.is_none());
    let hello = script.open();
    assert!(matches!(hello.purpose, Some(hello::Purpose::Login(_))));
    script.clear();
    script.welcome(Welcome { session: 8, ..first() });
    let after = Some(CloseCode::SessionUnknown);
    assert!(matches!(&script.events[0], Event::Connected { after: told, .. } if *told == after));
}

#[test]
fn a_moved_session_is_looked_for_where_it_went_and_then_at_home() {
    let mut script = Script::connected();
    let addresses = vec!["b.play.example".to_owned()];
    let code = CloseCode::Moved.into();
    script.frame(server_frame::Frame::Farewell(Farewell {
        code,
        addresses: addresses.clone(),
        ..Default::default()
    }));
    script.wake();
    assert_eq!(script.dialled.last(), Some(&addresses));
    script.cut().wake();
    assert_eq!(script.dialled.last(), Some(&Vec::new()));
}

#[test]
fn silence_is_pinged_and_then_given_up() {
    let mut script = Script::connected();
    assert_eq!(script.wake(), Duration::from_secs(2));
    assert!(matches!(script.sent.last(), Some(client_frame::Frame::Ping(_))));
    script.frame(server_frame::Frame::Pong(Pong { nonce: 0 }));
    script.wake();
    script.wake();
    script.wake();
    assert_eq!(script.closed, [Some(CloseCode::HeartbeatLost)]);
    assert_eq!(script.client.status(), Status::Waiting);
}

#[test]
fn a_ping_is_answered_at_once() {
    let mut script = Script::connected();
    script.frame(server_frame::Frame::Ping(Ping { nonce: 77 }));
    assert_eq!(script.sent, [client_frame::Frame::Pong(Pong { nonce: 77 })]);
}

#[test]
fn a_handshake_that_stalls_is_given_up() {
    let mut script = Script::new();
    script.open();
    assert_eq!(script.wake(), Duration::from_secs(10));
    assert_eq!(script.closed, [Some(CloseCode::HandshakeTimeout)]);
    script.wake();
    assert_eq!(script.dialled.len(), 2);
}

#[test]
fn cancel_keeps_the_session_for_a_later_connect() {
    let mut script = Script::connected();
    script.act(Client::cancel);
    assert_eq!(script.order, ["close", "event", "event"]);
    assert!(script.has(&Event::Stopped { code: None, text: String::new() }));
    script.pass(1_000).act(Client::wake);
    assert_eq!(script.dialled.len(), 1);
    assert!(!resume(&script.open()).cold);
}

#[test]
fn leaving_says_everything_first_and_ends_in_left() {
    let mut script = Script::connected();
    script
        .act(|client, _| {
            client.send("bye all").unwrap();
        })
        .act(Client::leave);
    assert_eq!(script.ups(), [1, 2]);
    assert_eq!(script.client.send("late"), Err(crate::SendError::Leaving));
    script.applied(2).farewell(CloseCode::Left);
    assert!(script.has(&Event::Left));
    assert_eq!((script.client.status(), script.client.session()), (Status::Idle, None));
    assert!(script.stored.is_none());
}

#[test]
fn a_leave_whose_farewell_is_lost_ends_at_the_retry() {
    for is_acked in [false, true] {
        let mut script = Script::connected();
        script.act(Client::leave);
        if is_acked {
            script.applied(1);
        }
        script.cut();
        if !is_acked {
            script.open();
            script.refuse(CloseCode::SessionUnknown, 0);
        }
        assert_eq!(script.events.iter().filter(|event| **event == Event::Left).count(), 1);
        assert_eq!(script.client.status(), Status::Idle);
    }
}

#[test]
fn a_fresh_start_gives_up_the_session_and_says_so() {
    let mut script = Script::connected();
    script.act(|client, _| {
        client.request("?").unwrap();
    });
    script.act(Client::connect_fresh);
    assert!(matches!(script.events.last(), Some(Event::RequestEnded { .. })));
    script.act(Client::opened);
    script.clear();
    script.frame(server_frame::Frame::Challenge(rejoin_wire::v1::Challenge {
        nonce: vec![5; 32].into(),
        version_min: 1,
        version_max: 2,
        server_name: String::new(),
    }));
    let Some(client_frame::Frame::Hello(hello)) = script.sent.last() else { panic!() };
    assert!(matches!(&hello.purpose, Some(hello::Purpose::Login(login)) if login.fresh));
}

#[test]
fn a_server_of_another_version_is_fatal() {
    let mut script = Script::new();
    script.act(Client::connect).act(Client::opened);
    script.frame(server_frame::Frame::Challenge(rejoin_wire::v1::Challenge {
        nonce: vec![5; 32].into(),
        version_min: 2,
        version_max: 9,
        server_name: String::new(),
    }));
    assert!(script.sent.is_empty());
    assert_eq!(script.client.status(), Status::Stopped);
}

#[test]
fn a_server_that_contradicts_itself_is_left_and_met_again_cold() {
    let mut script = Script::connected();
    let bad = Resync { leg: 1, seq: 4, ..Default::default() };
    script.say(3, "hi").frame(server_frame::Frame::Resync(bad));
    assert_eq!(script.closed, [Some(CloseCode::OutOfState)]);
    assert!(script.has(&Event::Violation(Violation::LegBackwards { leg: 1 })));
    assert!(resume(&script.open()).cold);
}

#[test]
fn an_old_epoch_or_another_session_is_no_answer_to_a_resume() {
    for welcome in [
        Welcome { epoch: 1, ..replayed(1, 0) },
        Welcome { epoch: 5, session: 8, ..replayed(1, 0) },
        Welcome { epoch: 5, rung: 0, ..replayed(1, 0) },
        Welcome { epoch: 5, session: 0, ..first() },
    ] {
        let mut script = Script::connected();
        script.cut();
        script.open();
        script.clear();
        script.frame(server_frame::Frame::Welcome(welcome));
        assert!(script.has(&Event::Violation(Violation::BadWelcome)));
        assert!(!script.order.contains(&"store_token"));
    }
}

#[test]
fn waits_start_small_again_after_a_connection_that_lived() {
    let mut script = Script::connected();
    script.cut();
    script.open();
    script.welcome(replayed(1, 0)).cut();
    assert!(matches!(script.events.last(), Some(Event::Reconnecting { attempt: 2, .. })));
    script.open();
    script.welcome(replayed(1, 0)).pass(5_000).cut();
    assert!(matches!(script.events.last(), Some(Event::Reconnecting { attempt: 1, .. })));
}

#[test]
fn a_hold_stands_still_while_the_client_was_told_to_wait() {
    let mut script = Script::connected();
    script.cut();
    script.open();
    script.refuse(CloseCode::NotReady, 60_000);
    script.wake();
    for _ in 0..8 {
        let now = script.now;
        script.cut();
        assert!(script.wake() <= Duration::from_millis(1_250), "the hold has begun only now");
        script.now = now;
    }
}
