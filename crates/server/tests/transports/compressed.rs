//! Compressed frames, on every transport: for those who agreed, never beyond the limits, and never what
//! lets somebody in. JSON is not compressed, and a client that speaks it is told so.

use bytes::Bytes;
use rejoin_core::budget::Rate;
use rejoin_core::hub::HubConfig;
use rejoin_core::session::Flags;
use rejoin_server::{Server, ServerBuilder};
use rejoin_wire::v1::{CloseCode, Hello, Message, client_frame, down, up};
use rejoin_wire::{Encoding, Limits, pack_client};

use crate::dial::Transport;
use crate::speaker::{House, Speaker, wide};

/// A server that compresses whatever may be, for whoever asks.
fn compressing() -> ServerBuilder {
    let config = HubConfig {
        anonymous: true,
        compression: true,
        compression_bytes_min: 64,
        messages: Rate { per_second: 100_000, burst: 100_000 },
        bytes: Rate { per_second: 1 << 30, burst: 1 << 30 },
        ..HubConfig::default()
    };
    wide().config(config)
}

async fn has_flag(server: &Server, of: &Speaker<impl crate::dial::Line>) -> bool {
    let view = server.session(of.session).await.expect("it runs").expect("it is there");
    view.flags.has(Flags::COMPRESSION)
}

/// A frame of this speaker, deflated whether it may be or not.
fn deflated(frame: &[u8]) -> Bytes {
    let packed = miniz_oxide::deflate::compress_to_vec(frame, 6);
    let frame = Some(client_frame::Frame::Packed(packed.into()));
    let frame = rejoin_wire::v1::ClientFrame { frame };
    rejoin_wire::encode_client(Encoding::Protobuf, &frame).expect("protobuf")
}

fn saying<L: crate::dial::Line>(speaker: &mut Speaker<L>, len: usize) -> Bytes {
    let message = Message { payload: vec![7; len].into(), ..Message::default() };
    let up = speaker.next_up(up::Body::Message(message));
    speaker.encoded(up)
}

pub(crate) async fn frames_are_compressed_for_those_who_agreed_and_for_nobody_else(
    of: impl Transport,
    in_: Encoding,
) {
    let house = House::start(of, in_, compressing()).await;
    let mut ann = house.asking_guest().await;
    let is_protobuf = in_ == Encoding::Protobuf;
    assert_eq!(ann.is_compressed, is_protobuf);
    // Longer than what is compressed, and a token in it.
    assert!(ann.last_bytes.len() > 64 && ann.last_bytes[0] != b'\x7a', "the welcome is as it is");
    ann.enter("square").await;
    let mut bob = house.asking_guest().await;
    bob.enter("square").await;
    let mut cid = house.member("square").await;
    for (speaker, has) in [(&ann, is_protobuf), (&bob, is_protobuf), (&cid, false)] {
        assert_eq!(has_flag(&house.server, speaker).await, has);
    }
    for len in [10, 5_000, 20_000] {
        let plain = saying(&mut ann, len);
        let said = if is_protobuf { pack_client(plain.clone(), 64) } else { plain.clone() };
        assert_eq!(said.len() < plain.len(), is_protobuf && len > 64);
        ann.say_bytes(said).await;
        for speaker in [&mut bob, &mut cid] {
            let down::Body::Message(message) = speaker.hear_down().await else { panic!() };
            assert_eq!(message.payload, vec![7; len]);
            let is_short = speaker.last_bytes.len() < len.max(64) / 10;
            assert_eq!(is_short, speaker.is_compressed && len > 64, "{len}");
        }
    }
    for speaker in [&mut ann, &mut bob, &mut cid] {
        speaker.assert_plays_until_quiet().await;
    }
    drop((ann, bob, cid));
    house.server.stop().await;
}

pub(crate) async fn what_is_inflated_ends_at_the_limit_and_harms_nobody_else(
    of: impl Transport,
    in_: Encoding,
) {
    if in_ == Encoding::Json {
        return;
    }
    let mut house = House::start(of, in_, compressing()).await;
    let mut bob = house.member("square").await;
    let most = Limits::DEFAULT.message_bytes_max;
    let mut ann = house.asking_guest().await;
    ann.enter("square").await;
    let at_the_limit = saying(&mut ann, most);
    ann.say_bytes(deflated(&at_the_limit)).await;
    let down::Body::Message(message) = bob.hear_down().await else { panic!("a message") };
    assert_eq!(message.payload.len(), most);
    let one_more = saying(&mut ann, most + 1);
    ann.say_bytes(deflated(&one_more)).await;
    assert_eq!(ann.farewell().await.code(), CloseCode::TooLarge);
    assert_eq!(house.dropped(ann.session).await, CloseCode::TooLarge);
    let frame_most = Limits::DEFAULT.client_frame_bytes(Encoding::Protobuf);
    let hello = client_frame::Frame::Hello(Hello::default());
    let hello = bob.encoded(hello);
    let long = saying(&mut bob, 2_000);
    let nested = deflated(&deflated(&long));
    for (said, code) in [
        (deflated(&vec![0; frame_most + 1]), CloseCode::TooLarge),
        (deflated(&vec![0; 64 << 20]), CloseCode::TooLarge),
        (deflated(&vec![0; frame_most]), CloseCode::Malformed),
        (deflated(&hello), CloseCode::Malformed),
        (nested, CloseCode::Malformed),
        (deflated(b""), CloseCode::Malformed),
        (deflated(&long).slice(..20), CloseCode::Malformed),
    ] {
        let mut guest = house.asking_guest().await;
        guest.say_bytes(said).await;
        assert_eq!(guest.farewell().await.code(), code);
    }
    drop((ann, bob));
    house.server.stop().await;
}

pub(crate) async fn a_compressed_frame_that_was_not_agreed_on_is_out_of_state(
    of: impl Transport,
    in_: Encoding,
) {
    let packed = |speaker: &mut Speaker<_>| {
        let long = saying(speaker, 2_000);
        let inner = miniz_oxide::deflate::compress_to_vec(&long, 6);
        speaker.encoded(client_frame::Frame::Packed(inner.into()))
    };
    let house = House::start(of, in_, compressing()).await;
    let mut stranger = house.stranger().await;
    let said = packed(&mut stranger);
    stranger.say_bytes(said).await;
    assert_eq!(stranger.farewell().await.code(), CloseCode::OutOfState);
    let mut silent = house.guest().await;
    let said = packed(&mut silent);
    silent.say_bytes(said).await;
    assert_eq!(silent.farewell().await.code(), CloseCode::OutOfState);
    drop((stranger, silent));
    house.server.stop().await;
    // Where the server has it off, asking is in vain.
    let house = House::start(of, in_, wide()).await;
    let mut asking = house.asking_guest().await;
    assert!(!asking.is_compressed && !has_flag(&house.server, &asking).await);
    let said = packed(&mut asking);
    asking.say_bytes(said).await;
    assert_eq!(asking.farewell().await.code(), CloseCode::OutOfState);
    drop(asking);
    house.server.stop().await;
}
