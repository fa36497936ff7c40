//! What is compressed, what is not, and where inflating ends.

use super::*;
use crate::v1::{Down, Hello, Join, Loose, Message, Resync, Welcome, down};
use crate::{decode_client, decode_server, encode_client, encode_server};

const LIMITS: Limits = Limits::DEFAULT;
const NOT_A_FRAME: Result<Bytes, DecodeError> = Err(DecodeError::UNREADABLE);

fn client(frame: client_frame::Frame) -> Bytes {
    encode_client(Encoding::Protobuf, &ClientFrame { frame: Some(frame) }).expect("protobuf")
}

fn server(frame: server_frame::Frame) -> Bytes {
    encode_server(Encoding::Protobuf, &ServerFrame { frame: Some(frame) }).expect("protobuf")
}

fn up(body: up::Body) -> Bytes {
    client(client_frame::Frame::Up(Up { seq: 7, body: Some(body) }))
}

fn message(len: usize) -> Message {
    Message { payload: vec![b'a'; len].into(), ..Message::default() }
}

fn packed_client(deflated: Vec<u8>) -> Bytes {
    client(client_frame::Frame::Packed(deflated.into()))
}

#[test]
fn a_message_goes_there_and_back_and_is_shorter_on_the_way() {
    let plain = up(up::Body::Message(message(20_000)));
    let packed = pack_client(plain.clone(), COMPRESS_BYTES_MIN);
    assert!(packed.len() < 200, "{}", packed.len());
    assert_eq!(unpack_client(packed, &LIMITS), Ok(plain.clone()));
    assert_eq!(unpack_client(plain.clone(), &LIMITS), Ok(plain), "as it is");
    let down = down::Body::Message(message(20_000));
    let down = server(server_frame::Frame::Down(Down { seq: 1, body: Some(down) }));
    let packed = pack_server(&down).expect("it is worth it");
    assert_eq!(unpack_server(packed, &LIMITS), Ok(down));
    let resync = Resync { snapshot: vec![1; 1 << 20].into(), ..Resync::default() };
    let resync = server(server_frame::Frame::Resync(resync));
    let packed = pack_server(&resync).expect("it is worth it");
    assert_eq!(unpack_server(packed, &LIMITS), Ok(resync));
}

#[test]
fn what_is_short_or_would_not_become_shorter_is_left_alone() {
    let at = |len: usize| {
        let plain = up(up::Body::Message(message(len)));
        let min = 1_000;
        (plain.len() >= min, pack_client(plain.clone(), min) != plain)
    };
    for len in 980..1_000 {
        let (is_long, is_packed) = at(len);
        assert_eq!(is_long, is_packed, "{len}");
    }
    // Each byte another: nothing repeats.
    let mut seed = 1_u32;
    let noise: Vec<u8> = (0..5_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        })
        .collect();
    let plain = up(up::Body::Message(Message { payload: noise.into(), ..Message::default() }));
    assert_eq!(pack_client(plain.clone(), 1), plain);
}

#[test]
fn frames_with_secrets_are_never_compressed_and_not_taken_compressed() {
    let long = || "a".repeat(1_000);
    let hello = Hello { server_name: long(), admission: long().into(), ..Hello::default() };
    let hello = client(client_frame::Frame::Hello(hello));
    assert_eq!(pack_client(hello.clone(), 1), hello);
    let join = up(up::Body::Join(Join { ticket: long(), ..Join::default() }));
    assert_eq!(pack_client(join.clone(), 1), join);
    let loose = Loose { payload: long().into(), leg: 1 };
    let loose_up = client(client_frame::Frame::Loose(loose.clone()));
    assert_eq!(pack_client(loose_up.clone(), 1), loose_up);
    let welcome = Welcome { token: long().into(), ..Welcome::default() };
    let welcome = server(server_frame::Frame::Welcome(welcome));
    assert_eq!(pack_server(&welcome), None);
    assert_eq!(pack_server(&server(server_frame::Frame::Loose(loose))), None);

    let deflated = |plain: &[u8]| compress_to_vec(plain, LEVEL);
    for plain in [&hello, &loose_up] {
        assert_eq!(unpack_client(packed_client(deflated(plain)), &LIMITS), NOT_A_FRAME);
    }
    let smuggled = server(server_frame::Frame::Packed(deflated(&welcome).into()));
    assert_eq!(unpack_server(smuggled, &LIMITS), NOT_A_FRAME);
}

#[test]
fn a_frame_in_a_frame_in_a_frame_is_none() {
    let once = pack_client(up(up::Body::Message(message(2_000))), 1);
    let twice = packed_client(compress_to_vec(&once, LEVEL));
    assert_eq!(unpack_client(twice, &LIMITS), NOT_A_FRAME);
    // A second field would win over the one that was looked at.
    let message = up(up::Body::Message(message(100)));
    let both = [&message[..], &client(client_frame::Frame::Hello(Hello::default()))].concat();
    assert_eq!(unpack_client(packed_client(compress_to_vec(&both, LEVEL)), &LIMITS), NOT_A_FRAME);
    let after = [&packed_client(compress_to_vec(&message, LEVEL))[..], &message].concat();
    assert_eq!(unpack_client(after.into(), &LIMITS), NOT_A_FRAME);
}

#[test]
fn inflating_ends_at_the_limit() {
    let max = LIMITS.client_frame_bytes(Encoding::Protobuf);
    // Tag, three bytes of length, then a number and a payload that fill the rest.
    let frame_of = |len: usize| {
        let inner = Bytes::from(vec![0; len - 4]);
        let frame = ClientFrame { frame: Some(client_frame::Frame::Packed(inner)) };
        let mut bytes = frame.encode_to_vec();
        bytes[0] = CLIENT_TAGS[0];
        assert_eq!(bytes.len(), len);
        bytes
    };
    let (most, more) = (frame_of(max), frame_of(max + 1));
    let packed = |plain: &[u8]| packed_client(compress_to_vec(plain, LEVEL));
    assert_eq!(unpack_client(packed(&most), &LIMITS).map(|bytes| bytes.len()), Ok(max));
    let too_large = |len| Err(DecodeError::TooLarge { field: "frame", len, max });
    assert_eq!(unpack_client(packed(&more), &LIMITS), too_large(max + 1));
    let bomb = packed_client(compress_to_vec(&vec![0; 64 << 20], 6));
    assert!(bomb.len() < 70_000, "{}", bomb.len());
    assert_eq!(unpack_client(bomb, &LIMITS), too_large(max + 1));
}

#[test]
fn whatever_is_cut_or_damaged_is_no_frame() {
    let packed = pack_client(up(up::Body::Message(message(3_000))), 1);
    let (_, deflated) = only_field(&packed).expect("one field");
    for len in 0..deflated.len() {
        assert_eq!(unpack_client(packed_client(deflated[..len].to_vec()), &LIMITS), NOT_A_FRAME);
    }
    let behind = [deflated, b"x"].concat();
    assert_eq!(unpack_client(packed_client(behind), &LIMITS), NOT_A_FRAME);
    for len in 1..packed.len() {
        assert_eq!(unpack_client(packed.slice(..len), &LIMITS), NOT_A_FRAME, "{len}");
    }
}

#[test]
fn without_an_agreement_a_compressed_frame_is_refused() {
    let up = pack_client(up(up::Body::Message(message(2_000))), 1);
    let refused = decode_client(Encoding::Protobuf, up, &LIMITS);
    assert_eq!(refused, Err(DecodeError::NotAgreed));
    let down = Down { seq: 1, body: Some(down::Body::Message(message(2_000))) };
    let down = pack_server(&server(server_frame::Frame::Down(down))).expect("it is worth it");
    let refused = decode_server(Encoding::Protobuf, down, &LIMITS);
    assert_eq!(refused, Err(DecodeError::NotAgreed));
}
