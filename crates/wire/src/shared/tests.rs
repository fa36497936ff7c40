//! One encoding each, however many receivers.

use super::*;
use crate::v1::{Down, Farewell, Message, down, server_frame};

fn frame() -> ServerFrame {
    let message = Message { payload: Bytes::from_static(b"hi"), ..Default::default() };
    let down = Down { seq: 3, body: Some(down::Body::Message(message)) };
    ServerFrame { frame: Some(server_frame::Frame::Down(down)) }
}

#[test]
fn a_broadcast_is_encoded_once_for_each_encoding() {
    let frame = frame();
    let shared = SharedFrame::new(&frame);
    assert_eq!(shared.encodings(), 1);
    for _ in 0..1_000 {
        let one = shared.clone();
        for encoding in Encoding::ALL.into_iter().filter(|encoding| encoding.is_supported()) {
            assert_eq!(one.bytes(encoding), encode_server(encoding, &frame));
        }
    }
    assert_eq!(shared.encodings(), 1 + u32::from(cfg!(feature = "json")));
    assert_eq!(shared.len(), shared.protobuf().len());
}

#[cfg(feature = "json")]
#[test]
fn the_bytes_are_shared_and_not_copied() {
    let shared = SharedFrame::new(&frame());
    for encoding in Encoding::ALL {
        let first = shared.bytes(encoding).unwrap();
        assert_eq!(first.as_ptr(), shared.clone().bytes(encoding).unwrap().as_ptr());
    }
}

#[cfg(feature = "json")]
#[test]
fn threads_that_ask_at_once_get_one_text() {
    let shared = SharedFrame::new(&frame());
    let texts: Vec<Bytes> = std::thread::scope(|scope| {
        let ask = || shared.bytes(Encoding::Json).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts.windows(2).all(|pair| pair[0].as_ptr() == pair[1].as_ptr()));
}

#[test]
fn a_recovered_frame_is_not_encoded_again() {
    let stored = SharedFrame::new(&frame()).protobuf().clone();
    let recovered = SharedFrame::from_encoded(stored.clone());
    assert_eq!(recovered.bytes(Encoding::Protobuf), Ok(stored));
    assert_eq!(recovered.encodings(), 0);
    assert_eq!(recovered, SharedFrame::new(&frame()));
    assert_eq!(recovered.bytes(Encoding::Json), encode_server(Encoding::Json, &frame()));
}

#[test]
fn bytes_that_are_no_frame_have_no_json() {
    let shared = SharedFrame::from_encoded(Bytes::from_static(b"\xff\xff"));
    assert!(shared.bytes(Encoding::Json).is_err());
    assert!(shared.bytes(Encoding::Protobuf).is_ok());
}

#[test]
fn debug_shows_no_payload() {
    assert_eq!(format!("{:?}", SharedFrame::new(&frame())), "SharedFrame(10 bytes)");
    let farewell = ServerFrame { frame: Some(server_frame::Frame::Farewell(Farewell::default())) };
    assert!(!SharedFrame::from(&farewell).is_empty());
}

#[test]
fn a_farewell_is_known_by_its_first_byte() {
    let farewell = Farewell { text: "until then".to_owned(), ..Farewell::default() };
    for (frame, is_farewell) in [
        (server_frame::Frame::Farewell(Farewell::default()), true),
        (server_frame::Frame::Farewell(farewell), true),
        (server_frame::Frame::Down(Down::default()), false),
    ] {
        let shared = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        assert_eq!(shared.is_farewell(), is_farewell);
    }
}

#[test]
fn a_broadcast_is_compressed_once_for_all() {
    let payload = Bytes::from(vec![7; 5_000]);
    let message = Message { payload, ..Default::default() };
    let down = Down { seq: 3, body: Some(down::Body::Message(message)) };
    let shared = SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) });
    let first = shared.packed(1_024);
    assert!(first.len() < 200);
    assert_eq!(first.as_ptr(), shared.clone().packed(1_024).as_ptr());
    assert_eq!(shared.packed(6_000).as_ptr(), shared.protobuf().as_ptr(), "it is too short");
    let farewell = ServerFrame { frame: Some(server_frame::Frame::Farewell(Farewell::default())) };
    let shared = SharedFrame::new(&farewell);
    assert_eq!(shared.packed(0).as_ptr(), shared.protobuf().as_ptr());
}
