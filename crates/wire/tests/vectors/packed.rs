//! Compressed frames as they may stand on a wire, and some that may not.

use miniz_oxide::deflate::compress_to_vec;
use rejoin_wire::v1::*;
use rejoin_wire::{Encoding, Limits, encode_client, encode_server};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) packed: Vec<u8>,
    /// What it is without the compression, or the kind of error.
    pub(crate) frame: Result<Vec<u8>, &'static str>,
}

pub(crate) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for (direction, packable, never, max) in [
        ("client", up(), hello(), Limits::DEFAULT.client_frame_bytes(Encoding::Protobuf)),
        ("server", down(), welcome(), Limits::DEFAULT.server_frame_bytes(Encoding::Protobuf)),
    ] {
        let mut add = |name, deflated: Vec<u8>, frame| {
            let packed = wrap(direction, deflated);
            all.push(Case { name, direction, packed, frame });
        };
        let good = compress_to_vec(&packable, 1);
        add("message", good.clone(), Ok(packable.clone()));
        add("other_level", compress_to_vec(&packable, 9), Ok(packable.clone()));
        add("stored", compress_to_vec(&packable, 0), Ok(packable.clone()));
        add("cut_short", good[..good.len() - 2].to_vec(), Err("malformed"));
        add("nothing_in_it", compress_to_vec(&[], 1), Err("malformed"));
        add("not_deflated", packable.clone(), Err("malformed"));
        add("packed_twice", compress_to_vec(&wrap(direction, good), 1), Err("malformed"));
        add("with_a_secret", compress_to_vec(&never, 1), Err("malformed"));
        let two = [packable.clone(), never].concat();
        add("two_frames", compress_to_vec(&two, 1), Err("malformed"));
        add("one_byte_too_long", compress_to_vec(&vec![0; max + 1], 1), Err("too_large"));
    }
    all
}

fn wrap(direction: &str, deflated: Vec<u8>) -> Vec<u8> {
    match direction {
        "client" => client(client_frame::Frame::Packed(deflated.into())),
        _ => server(server_frame::Frame::Packed(deflated.into())),
    }
}

fn message() -> Message {
    Message { payload: "the same again. ".repeat(20).into(), ..Message::default() }
}

fn up() -> Vec<u8> {
    client(client_frame::Frame::Up(Up { seq: 1, body: Some(up::Body::Message(message())) }))
}

fn down() -> Vec<u8> {
    server(server_frame::Frame::Down(Down { seq: 1, body: Some(down::Body::Message(message())) }))
}

fn hello() -> Vec<u8> {
    let admission = "the same again. ".repeat(20).into();
    client(client_frame::Frame::Hello(Hello { version: 1, admission, ..Hello::default() }))
}

fn welcome() -> Vec<u8> {
    let token = vec![7; 32].into();
    server(server_frame::Frame::Welcome(Welcome { session: 1, token, ..Welcome::default() }))
}

fn client(frame: client_frame::Frame) -> Vec<u8> {
    encode_client(Encoding::Protobuf, &ClientFrame { frame: Some(frame) }).unwrap().to_vec()
}

fn server(frame: server_frame::Frame) -> Vec<u8> {
    encode_server(Encoding::Protobuf, &ServerFrame { frame: Some(frame) }).unwrap().to_vec()
}
