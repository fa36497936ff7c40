//! The contract, one case a function. Every case has a neighbour where one could be harmed.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::budget::Rate;
use rejoin_core::event::EndCause;
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_server::QueueLimits;
use rejoin_wire::v1::{CloseCode, client_frame, down, server_frame, up};
use rejoin_wire::{Encoding, Limits};

pub(crate) use crate::compressed::{
    a_compressed_frame_that_was_not_agreed_on_is_out_of_state,
    frames_are_compressed_for_those_who_agreed_and_for_nobody_else,
    what_is_inflated_ends_at_the_limit_and_harms_nobody_else,
};
use crate::dial::{Line, Transport};
use crate::speaker::{House, PATIENCE, plain, wide};

pub(crate) async fn one_message_is_one_frame_and_order_holds(of: impl Transport, in_: Encoding) {
    let house = House::start(of, in_, plain()).await;
    let mut ann = house.member("square").await;
    let mut bob = house.member("square").await;
    for round in 0..50_u8 {
        ann.tell(vec![round; usize::from(round) * 7], false).await;
    }
    for round in 0..50_u8 {
        let down::Body::Message(message) = bob.hear_down().await else { panic!("a message") };
        assert_eq!(message.payload, vec![round; usize::from(round) * 7]);
    }
    ann.assert_plays().await;
    drop((ann, bob));
    house.server.stop().await;
}

pub(crate) async fn the_largest_message_fits_and_one_byte_more_is_too_large(
    of: impl Transport,
    in_: Encoding,
) {
    let mut house = House::start(of, in_, wide()).await;
    let mut bob = house.member("square").await;
    let mut ann = house.member("square").await;
    let most = Limits::DEFAULT.message_bytes_max;
    ann.tell(vec![7; most], false).await;
    let down::Body::Message(message) = bob.hear_down().await else { panic!("a message") };
    assert_eq!(message.payload.len(), most);
    ann.tell(vec![7; most + 1], false).await;
    assert_eq!(ann.farewell().await.code(), CloseCode::TooLarge);
    assert_eq!(house.dropped(ann.session).await, CloseCode::TooLarge);
    // Over what the transport itself takes: the same answer.
    let mut cid = house.guest().await;
    cid.say_bytes(vec![b'x'; Limits::DEFAULT.client_frame_bytes(in_) + 1].into()).await;
    assert_eq!(cid.farewell().await.code(), CloseCode::TooLarge);
    bob.assert_plays().await;
    drop((bob, ann, cid));
    house.server.stop().await;
}

pub(crate) async fn garbage_is_malformed_and_harms_nobody_else(of: impl Transport, in_: Encoding) {
    let house = House::start(of, in_, plain()).await;
    let mut bob = house.member("square").await;
    for garbage in [&b"\xff\xff\xff\xff"[..], b"{", b"", b"\x00"] {
        let mut stranger = house.stranger().await;
        stranger.say_bytes(Bytes::from_static(garbage)).await;
        assert_eq!(stranger.farewell().await.code(), CloseCode::Malformed, "{garbage:?}");
        let mut guest = house.guest().await;
        guest.say_bytes(Bytes::from_static(garbage)).await;
        assert_eq!(guest.farewell().await.code(), CloseCode::Malformed, "{garbage:?}");
    }
    bob.assert_plays().await;
    drop(bob);
    house.server.stop().await;
}

pub(crate) async fn a_stranger_has_less_room_than_a_guest(of: impl Transport, in_: Encoding) {
    let house = House::start(of, in_, plain()).await;
    let long = vec![b'x'; Limits::DEFAULT.hello_bytes_max * 2];
    let mut stranger = house.stranger().await;
    stranger.say_bytes(long.clone().into()).await;
    assert_eq!(stranger.farewell().await.code(), CloseCode::TooLarge);
    let mut ann = house.member("square").await;
    let mut bob = house.member("square").await;
    ann.tell(long, false).await;
    assert!(matches!(bob.hear_down().await, down::Body::Message(_)));
    drop((stranger, ann, bob));
    house.server.stop().await;
}

pub(crate) async fn nothing_said_is_closed_by_the_handshake_deadline(
    of: impl Transport,
    in_: Encoding,
) {
    let handshake = Duration::from_millis(200);
    let config = HubConfig { anonymous: true, handshake, ..HubConfig::default() };
    let house = House::start(of, in_, plain().config(config)).await;
    let mut silent = house.stranger().await;
    assert_eq!(silent.farewell().await.code(), CloseCode::HandshakeTimeout);
    house.until("it is gone", async |server| server.connection_count() == 0).await;
    drop(silent);
    house.server.stop().await;
}

pub(crate) async fn who_never_reads_is_let_go_as_too_slow(of: impl Transport, in_: Encoding) {
    let mut house = House::start(of, in_, wide()).await;
    let mut deaf = house.member("square").await;
    let mut ann = house.member("square").await;
    let mut bob = house.member("other").await;
    for _ in 0..300 {
        ann.tell(vec![7; 48_000], false).await;
        if house.server.connection_count() < 3 {
            // More would only keep her from reading, too.
            break;
        }
    }
    assert_eq!(house.dropped(deaf.session).await, CloseCode::TooSlow);
    house.until("only the deaf one is gone", async |server| server.connection_count() == 2).await;
    ann.assert_plays().await;
    bob.assert_plays().await;
    // What was under way can still be read, and then it ends; nothing comes twice or out of order.
    let mut last = None;
    while let Ok(frame) = deaf.hear().await {
        if let server_frame::Frame::Down(down) = frame {
            assert!(last < Some(down.seq), "{} after {last:?}", down.seq);
            last = Some(down.seq);
        }
    }
    drop((deaf, ann, bob));
    house.server.stop().await;
}

pub(crate) async fn who_reads_late_still_hears_everything(of: impl Transport, in_: Encoding) {
    let house = House::start(of, in_, plain()).await;
    let mut late = house.member("square").await;
    let mut ann = house.member("square").await;
    for round in 0..100_u32 {
        ann.tell(round.to_be_bytes().to_vec(), false).await;
    }
    ann.assert_plays().await;
    for round in 0..100_u32 {
        let down::Body::Message(message) = late.hear_down().await else { panic!("a message") };
        assert_eq!(message.payload, round.to_be_bytes().to_vec());
    }
    late.assert_plays().await;
    drop((late, ann));
    house.server.stop().await;
}

pub(crate) async fn a_greedy_sender_is_slowed_down_and_loses_nothing(
    of: impl Transport,
    in_: Encoding,
) {
    // Where nobody is severed for its speed, whoever is over its burst is paused at once.
    let guard = GuardConfig { sever_after: Duration::ZERO, ..GuardConfig::default() };
    let messages = Rate { per_second: 60, burst: 120 };
    let config = HubConfig { anonymous: true, guard, messages, ..HubConfig::default() };
    let house = House::start(of, in_, plain().config(config)).await;
    let mut bob = house.member("square").await;
    let since = tokio::time::Instant::now();
    let mut ann = house.member("square").await;
    for round in 0..180_u32 {
        ann.tell(round.to_be_bytes().to_vec(), false).await;
    }
    for round in 0..180_u32 {
        let down::Body::Message(message) = bob.hear_down().await else { panic!("a message") };
        assert_eq!(message.payload, round.to_be_bytes().to_vec());
    }
    // 120 at once, and then 60 a second; hello and join count too. What was under way when the
    // budget was overdrawn is taken, and paid for before more is read.
    for _ in 0..3 {
        ann.assert_plays().await;
    }
    assert!(since.elapsed() > Duration::from_millis(900), "{:?}", since.elapsed());
    drop((ann, bob));
    house.server.stop().await;
}

pub(crate) async fn megabytes_at_once_flow_whole_and_in_order(of: impl Transport, in_: Encoding) {
    const ROUNDS: u8 = 84;
    let roomy = QueueLimits { frames_max: 1_024, bytes_max: 16 << 20 };
    let house = House::start(of, in_, wide().queue_limits(roomy)).await;
    let mut bob = house.member("square").await;
    let mut ann = house.member("square").await;
    let since = tokio::time::Instant::now();
    let saying = async {
        for round in 0..ROUNDS {
            ann.tell(vec![round; 48_000], false).await;
        }
    };
    let hearing = async {
        for round in 0..ROUNDS {
            let down::Body::Message(message) = bob.hear_down().await else { panic!("a message") };
            assert_eq!(message.payload, vec![round; 48_000], "{round}");
        }
    };
    tokio::join!(saying, hearing);
    println!("4 MB there and on to another took {:?}", since.elapsed());
    ann.assert_plays().await;
    bob.assert_plays().await;
    drop((ann, bob));
    house.server.stop().await;
}

pub(crate) async fn the_code_of_every_ending_reaches_the_peer(of: impl Transport, in_: Encoding) {
    let house = House::start(of, in_, plain()).await;
    for (cause, code) in [
        (EndCause::Kicked, CloseCode::Kicked),
        (EndCause::Idle, CloseCode::Idle),
        (EndCause::Lifetime, CloseCode::Lifetime),
    ] {
        let mut ann = house.member("square").await;
        house.server.end(ann.session, cause).await.expect("it is there");
        assert_eq!(ann.farewell().await.code(), code);
    }
    let mut bob = house.member("square").await;
    let bye = bob.next_up(up::Body::Bye(Default::default()));
    bob.say(bye).await;
    assert_eq!(bob.farewell().await.code(), CloseCode::Left);
    let mut cid = house.guest().await;
    cid.say(cid.hello()).await;
    assert_eq!(cid.farewell().await.code(), CloseCode::OutOfState);
    house.until("all are gone", async |server| server.connection_count() == 0).await;
    drop((bob, cid));
    house.server.stop().await;
}

pub(crate) async fn whoever_vanishes_leaves_nothing_but_a_held_session(
    of: impl Transport,
    in_: Encoding,
) {
    let mut house = House::start(of, in_, plain()).await;
    let mut bob = house.member("square").await;
    drop(house.dial().await);
    drop(house.stranger().await);
    let mut half = house.stranger().await;
    half.say(half.hello()).await;
    drop(half);
    let mut joining = house.guest().await;
    joining.join("square").await;
    drop(joining);
    let mut talking = house.member("square").await;
    let session = talking.session;
    talking.say(client_frame::Frame::Ping(Default::default())).await;
    for _ in 0..10 {
        talking.tell("on and on", false).await;
    }
    drop(talking);
    assert_eq!(house.dropped(session).await, CloseCode::Unspecified);
    house.until("their connections are gone", async |s| s.connection_count() == 1).await;
    house.until("bob alone is here", async |s| s.active_count().await == Ok(1)).await;
    while !matches!(bob.hear_down().await, down::Body::Message(message) if message.payload == "on and on")
    {
    }
    drop(bob);
    house.server.stop().await;
}

pub(crate) async fn a_stop_tells_everybody_whatever_they_are_doing(
    of: impl Transport,
    in_: Encoding,
) {
    let house = House::start(of, in_, plain()).await;
    let mut stranger = house.stranger().await;
    let mut guest = house.guest().await;
    let mut joining = house.guest().await;
    joining.join("square").await;
    let mut talking = house.member("square").await;
    let mut listening = house.member("square").await;
    for _ in 0..20 {
        talking.tell("on and on", false).await;
    }
    let server = house.server.clone();
    let stopping = tokio::spawn(async move { server.stop().await });
    for speaker in [&mut stranger, &mut guest, &mut joining, &mut talking, &mut listening] {
        let farewell = speaker.farewell().await;
        assert_eq!(farewell.code(), CloseCode::ShuttingDown);
        assert!(farewell.retry_after_ms >= 1_000, "{}", farewell.retry_after_ms);
        assert!(speaker.line.recv().await.is_err());
    }
    let stopped = tokio::time::timeout(PATIENCE, stopping).await;
    stopped.expect("it stops").expect("no panic");
    assert_eq!(house.server.connection_count(), 0);
}
