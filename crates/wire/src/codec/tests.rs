//! Round trips, hostile bytes, and both sides of every limit.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::v1::*;

pub(crate) mod arbitrary;
mod edges;

const LIMITS: Limits = Limits::DEFAULT;

proptest! {
    #[test]
    fn a_client_frame_survives_the_way(frame in arbitrary::client_frame()) {
        for encoding in spoken() {
            let bytes = encode_client(encoding, &frame).unwrap();
            prop_assert_eq!(decode_client(encoding, bytes, &LIMITS), Ok(frame.clone()));
        }
    }

    #[test]
    fn a_server_frame_survives_the_way(frame in arbitrary::server_frame()) {
        for encoding in spoken() {
            let bytes = encode_server(encoding, &frame).unwrap();
            prop_assert_eq!(decode_server(encoding, bytes, &LIMITS), Ok(frame.clone()));
        }
    }

    #[test]
    fn any_bytes_give_a_frame_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        for encoding in Encoding::ALL {
            let _ = decode_client(encoding, Bytes::from(bytes.clone()), &LIMITS);
            let _ = decode_server(encoding, Bytes::from(bytes.clone()), &LIMITS);
        }
    }

    /// Bytes that are nearly a frame go deeper than random ones.
    #[test]
    fn a_damaged_frame_gives_a_frame_or_an_error(
        client in arbitrary::client_frame(),
        server in arbitrary::server_frame(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for encoding in spoken() {
            for whole in [encode_client(encoding, &client), encode_server(encoding, &server)] {
                let mut bytes = whole.unwrap().to_vec();
                for (at, byte) in &damage {
                    if !bytes.is_empty() {
                        let at = at.index(bytes.len());
                        bytes[at] = *byte;
                    }
                }
                for bytes in [bytes[..cut.index(bytes.len() + 1)].to_vec(), bytes] {
                    let _ = decode_client(encoding, Bytes::from(bytes.clone()), &LIMITS);
                    let _ = decode_server(encoding, Bytes::from(bytes), &LIMITS);
                }
            }
        }
    }
}

#[test]
fn a_payload_is_a_slice_of_its_frame() {
    let frame = up(up::Body::Message(Message { payload: zeroes(1_000), ..Default::default() }));
    let bytes = encode_client(Encoding::Protobuf, &frame).unwrap();
    let range = bytes.as_ptr_range();
    let frame = decode_client(Encoding::Protobuf, bytes, &LIMITS).unwrap();
    let Some(client_frame::Frame::Up(Up { body: Some(up::Body::Message(message)), .. })) =
        frame.frame
    else {
        panic!("another frame came back");
    };
    assert!(range.contains(&message.payload.as_ptr()));
}

#[test]
fn an_unknown_enum_value_is_unspecified_in_both_encodings() {
    let frame =
        server(server_frame::Frame::Farewell(Farewell { code: 4_999, ..Default::default() }));
    let settled = server(server_frame::Frame::Farewell(Farewell::default()));
    let bytes = encode_server(Encoding::Protobuf, &frame).unwrap();
    assert_eq!(decode_server(Encoding::Protobuf, bytes, &LIMITS), Ok(settled.clone()));
    if cfg!(feature = "json") {
        for text in [r#"{"farewell":{"code":4999}}"#, r#"{"farewell":{"code":"CLOSE_CODE_NEWER"}}"#]
        {
            let bytes = Bytes::from_static(text.as_bytes());
            assert_eq!(decode_server(Encoding::Json, bytes, &LIMITS), Ok(settled.clone()));
        }
        assert_eq!(encode_server(Encoding::Json, &frame), Err(EncodeError::Unwritable));
    }
}

#[test]
fn an_unknown_field_is_skipped_in_both_encodings() {
    let ping = ClientFrame { frame: Some(client_frame::Frame::Ping(Ping { nonce: 7 })) };
    let mut bytes = encode_client(Encoding::Protobuf, &ping).unwrap().to_vec();
    // Field 100, a varint.
    bytes.extend_from_slice(&[0xa0, 0x06, 0x01]);
    assert_eq!(decode_client(Encoding::Protobuf, bytes.into(), &LIMITS), Ok(ping.clone()));
    if cfg!(feature = "json") {
        let text = Bytes::from_static(br#"{"ping":{"nonce":"7","colour":[1]},"later":{}}"#);
        assert_eq!(decode_client(Encoding::Json, text, &LIMITS), Ok(ping));
    }
}

#[test]
fn numbers_of_64_bits_are_strings_in_json() {
    let ping = ClientFrame { frame: Some(client_frame::Frame::Ping(Ping { nonce: u64::MAX })) };
    match encode_client(Encoding::Json, &ping) {
        Ok(text) => assert_eq!(text, r#"{"ping":{"nonce":"18446744073709551615"}}"#.as_bytes()),
        Err(error) => {
            assert_eq!((error, cfg!(feature = "json")), (EncodeError::Unsupported, false))
        }
    }
}

#[test]
fn errors_name_the_field_and_the_code() {
    let large = DecodeError::TooLarge { field: "join.kind", len: 65, max: 64 };
    assert_eq!(large.to_string(), "join.kind is 65 long; at most 64 is allowed");
    assert_eq!(large.close_code(), CloseCode::TooLarge);
    for other in [
        DecodeError::UNREADABLE,
        DecodeError::WrongLength { field: "resume.token", len: 0, expected: 32 },
        DecodeError::Empty { field: "frame" },
        DecodeError::ZeroSeq,
    ] {
        assert_eq!(other.close_code(), CloseCode::Malformed, "{other}");
    }
}

#[cfg(feature = "json")]
#[test]
fn a_json_error_tells_the_column_and_not_the_words() {
    let error = decode_client(Encoding::Json, Bytes::from_static(b"{\"ping\":oops}"), &LIMITS);
    assert_eq!(error, Err(DecodeError::Malformed { column: 9 }));
    assert!(!error.unwrap_err().to_string().contains("oops"));
}

#[cfg(not(feature = "json"))]
#[test]
fn json_without_its_feature_is_a_typed_error() {
    let bytes = Bytes::from_static(b"{\"ping\":{}}");
    assert_eq!(
        decode_client(Encoding::Json, bytes.clone(), &LIMITS),
        Err(DecodeError::Unsupported)
    );
    assert_eq!(decode_server(Encoding::Json, bytes, &LIMITS), Err(DecodeError::Unsupported));
    let frame = ServerFrame::default();
    assert_eq!(encode_server(Encoding::Json, &frame), Err(EncodeError::Unsupported));
}

fn spoken() -> impl Iterator<Item = Encoding> {
    Encoding::ALL.into_iter().filter(|encoding| encoding.is_supported())
}

fn up(body: up::Body) -> ClientFrame {
    ClientFrame { frame: Some(client_frame::Frame::Up(Up { seq: 1, body: Some(body) })) }
}

fn down(body: down::Body) -> ServerFrame {
    server(server_frame::Frame::Down(Down { seq: 1, body: Some(body) }))
}

fn server(frame: server_frame::Frame) -> ServerFrame {
    ServerFrame { frame: Some(frame) }
}

fn zeroes(len: usize) -> Bytes {
    Bytes::from(vec![0; len])
}
