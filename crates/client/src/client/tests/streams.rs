//! Messages both ways across every rung.

use rejoin_wire::v1::{
    Joined, Loose, Parted, RefusalCode, Refused, Resync, RungReason, Welcome, ZoneRef, down,
    server_frame, up,
};

use super::script::{Script, first, replayed, resume, resynced};
use super::*;
use crate::{RequestEnd, SendError};

fn resync(leg: u64, seq: u64, applied: u64) -> server_frame::Frame {
    server_frame::Frame::Resync(Resync { leg, seq, applied, ..Default::default() })
}

fn ended(request: SendId, how: RequestEnd) -> Event {
    Event::RequestEnded { request, how }
}

/// Makes a call on the client and hands back what it gave.
fn call<T>(script: &mut Script, call: impl FnOnce(&mut Client) -> T) -> T {
    let mut result = None;
    script.act(|client, _| result = Some(call(client)));
    result.unwrap()
}

#[test]
fn no_more_than_the_window_is_on_the_wire() {
    let mut script = Script::connected();
    for _ in 0..10 {
        script.act(|client, _| {
            client.send("x").unwrap();
        });
    }
    assert_eq!(script.ups(), [1, 2, 3, 4]);
    script.applied(3);
    assert_eq!(script.ups(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(script.client.in_flight(), 4);
}

#[test]
fn after_a_resume_only_the_unacknowledged_is_sent_again() {
    let mut script = Script::connected();
    for _ in 0..6 {
        script.act(|client, _| {
            client.send("x").unwrap();
        });
    }
    script.applied(1).cut();
    assert_eq!(resume(&script.open()).oldest_unacked, 2);
    script.clear();
    script.welcome(replayed(1, 3));
    assert_eq!(script.ups(), [4, 5, 6]);
}

#[test]
fn what_was_sent_before_the_first_connection_is_not_lost() {
    let mut script = Script::new();
    script.act(|client, _| {
        client.join("arena", "one", true, "").unwrap();
    });
    script.open();
    script.welcome(first());
    assert_eq!(script.ups(), [1]);
}

#[test]
fn only_the_newest_value_of_a_key_waits() {
    let mut script = Script::new();
    for value in ["1", "2", "3"] {
        script.act(|client, _| {
            client.send_latest("at", value).unwrap();
        });
    }
    script.open();
    script.welcome(first());
    let Some(client_frame::Frame::Up(up)) = script.sent.last() else { panic!() };
    let Some(up::Body::Message(message)) = &up.body else { panic!() };
    assert_eq!((up.seq, &message.payload[..], &message.key[..]), (1, &b"3"[..], "at"));
    assert_eq!(script.client.send_latest("", "x"), Err(SendError::EmptyKey));
}

#[test]
fn a_full_buffer_is_an_error_to_the_game() {
    let mut script = Script::connected();
    let sent = (0..2_000).take_while(|_| script.client.send("x").is_ok()).count();
    assert_eq!(sent, 1_024);
    assert_eq!(script.client.send("x"), Err(SendError::Full));
    let large = vec![0; 65_537];
    assert!(matches!(script.client.send(large), Err(SendError::TooLarge { .. })));
    assert_eq!(Script::new().client.send_unreliable("x"), Err(SendError::NotConnected));
}

#[test]
fn requests_stay_open_over_a_replay() {
    let mut script = Script::connected();
    let request = call(&mut script, |client| client.request("?").unwrap());
    script.applied(1).cut();
    script.open();
    script.welcome(replayed(1, 1)).reply(5, 1);
    script.reply(6, 1);
    let payload = "yes".into();
    assert_eq!(script.events.last(), Some(&Event::Reply { request, payload }));
    assert_eq!(script.client.open_requests(), 0);
}

#[test]
fn after_a_resync_applied_requests_are_unknown_and_the_others_go_on() {
    let mut script = Script::connected();
    let applied = call(&mut script, |client| client.request("1").unwrap());
    let sent = call(&mut script, |client| client.request("2").unwrap());
    script.cut();
    let waiting = call(&mut script, |client| client.request("3").unwrap());
    script.open();
    script.clear();
    script.welcome(resynced(2, 1)).frame(resync(2, 40, 1));
    assert!(script.has(&ended(applied, RequestEnd::OutcomeUnknown)));
    assert_eq!(script.ups(), [2, 3]);
    assert_eq!(script.acks(), [(2, 0), (2, 40)]);
    script.reply(41, 2).reply(42, 3);
    for request in [sent, waiting] {
        assert!(script.has(&Event::Reply { request, payload: "yes".into() }));
    }
}

#[test]
fn in_a_new_session_nothing_of_the_old_one_is_said() {
    let mut script = Script::connected();
    let plain = call(&mut script, |client| client.send("1").unwrap());
    let sent = call(&mut script, |client| client.request("2").unwrap());
    script.cut();
    let unsent = call(&mut script, |client| client.request("3").unwrap());
    let late = call(&mut script, |client| client.send("4").unwrap());
    script.open();
    script.clear();
    script.welcome(Welcome { session: 8, ..first() });
    assert!(matches!(script.events[0], Event::Connected { session: 8, .. }));
    assert!(script.has(&ended(sent, RequestEnd::OutcomeUnknown)));
    assert!(script.has(&ended(unsent, RequestEnd::NotSent)));
    assert!(script.has(&Event::SendsLost { sends: vec![plain] }));
    assert!(script.has(&Event::SendsLost { sends: vec![late] }));
    script.act(|client, _| {
        client.send("5").unwrap();
    });
    assert_eq!(script.ups(), [1]);
}

#[test]
fn a_refused_request_ends_once_and_a_refused_send_is_named() {
    let mut script = Script::connected();
    let request = call(&mut script, |client| client.request("?").unwrap());
    let join = call(&mut script, |client| client.join("a", "b", false, "").unwrap());
    let code = RefusalCode::NotMember;
    let refused =
        |to, leg| down::Body::Refused(Refused { to, leg, code: code.into(), ..Default::default() });
    script.down(2, refused(1, 0)).down(3, refused(2, 9));
    assert!(script.has(&ended(request, RequestEnd::Refused(code))));
    assert!(script.has(&Event::Refused { to: Some(join), code, text: String::new() }));
    assert_eq!(script.client.position(), Some((9, 3)));
}

#[test]
fn acks_come_after_sixteen_frames_or_a_fifth_of_a_second() {
    let mut script = Script::connected();
    for seq in 1..=15 {
        script.say(seq, "x");
    }
    assert!(script.acks().is_empty());
    script.say(16, "x");
    assert_eq!(script.acks(), [(1, 16)]);
    script.say(17, "x");
    assert_eq!(script.wake(), Duration::from_millis(200));
    assert_eq!(script.acks(), [(1, 16), (1, 17)]);
}

#[test]
fn a_stay_is_acknowledged_at_its_start_and_its_end() {
    let mut script = Script::connected();
    let zone = ZoneRef { kind: "arena".into(), name: "one".into() };
    let joined = Joined { leg: 2, zone: Some(zone), ..Default::default() };
    script.down(40, down::Body::Joined(joined)).say(41, "x");
    script.down(43, down::Body::Parted(Parted { leg: 3, ..Default::default() }));
    assert_eq!(script.acks(), [(2, 40), (2, 43)]);
    // The server may not have opened the next leg: the position is the end of this one.
    script.cut();
    assert_eq!(resume(&script.open()).position.map(|at| (at.leg, at.seq)), Some((2, 43)));
    script.clear();
    script.welcome(replayed(2, 0)).say(1, "outside");
    assert!(script.has(&Event::Message { payload: "outside".into() }));
    assert_eq!(script.client.position(), Some((3, 1)));
    script.clear();
}

#[test]
fn the_unreliable_counts_only_in_its_leg() {
    let mut script = Script::connected();
    for (leg, payload) in [(1, "now"), (2, "later")] {
        let payload = payload.into();
        script.frame(server_frame::Frame::Loose(Loose { leg, payload }));
    }
    assert_eq!(script.events, [Event::Unreliable { payload: "now".into() }]);
    script.act(|client, _| client.send_unreliable("me").unwrap());
    let sent = Loose { leg: 1, payload: "me".into() };
    assert_eq!(script.sent, [client_frame::Frame::Loose(sent)]);
}

#[test]
fn a_latest_value_comes_and_goes() {
    let mut script = Script::connected();
    let message = |payload: &'static str, cleared| {
        let (payload, key) = (payload.into(), "hp".to_owned());
        down::Body::Message(rejoin_wire::v1::Message { payload, key, cleared, wants_reply: false })
    };
    script.down(1, message("9", false)).down(2, message("", true));
    let latest = |payload| Event::Latest { key: "hp".into(), payload };
    assert_eq!(script.events, [latest(Some("9".into())), latest(None)]);
}

#[test]
fn a_zone_that_rolled_back_hears_again_what_was_under_way() {
    let mut script = Script::connected();
    for _ in 0..3 {
        script.act(|client, _| {
            client.send("x").unwrap();
        });
    }
    let reason = RungReason::RolledBack.into();
    let frame = Resync { leg: 2, seq: 9, applied: 1, reason, ..Default::default() };
    script.frame(server_frame::Frame::Resync(frame));
    assert_eq!(script.ups(), [1, 2, 3, 2, 3]);
}

#[test]
fn a_resync_that_was_lost_on_the_way_is_asked_for_again() {
    let mut script = Script::connected();
    script
        .act(|client, _| {
            client.send("x").unwrap();
        })
        .cut();
    script.open();
    script.welcome(resynced(2, 0)).cut();
    let hello = script.open();
    assert!(resume(&hello).cold);
    assert_eq!(resume(&hello).oldest_unacked, 1);
}
