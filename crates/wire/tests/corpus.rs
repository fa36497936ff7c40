//! Replays the seeds of the fuzz targets as a plain test, on any compiler.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-wire --test corpus` makes the seeds anew from the golden
//! vectors and leaves what a fuzzer added.
#![cfg(feature = "json")]

use std::fs;

use serde_json::Value;

use self::replay::{replay, top};

#[allow(unreachable_pub)] // Public where it lives.
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/wire.rs"]
mod targets;

#[test]
fn the_seeds_of_decode_client_hold() {
    replay("decode_client", targets::client, || frames("client"));
}

#[test]
fn the_seeds_of_decode_server_hold() {
    replay("decode_server", targets::server, || frames("server"));
}

#[test]
fn the_seeds_of_framing_hold() {
    replay("framing", targets::framing, streams);
}

#[test]
fn the_seeds_of_packed_hold() {
    replay("packed", targets::packed, || {
        let short = |vector: &Value| vector["packed_hex"].as_str().unwrap().len() < 2_000;
        let vectors = vectors("packed.json").into_iter().filter(short);
        let seed = |vector: Value| {
            let name = format!("{}_{}.bin", text(&vector["direction"]), text(&vector["name"]));
            (name, unhex(text(&vector["packed_hex"])))
        };
        vectors.map(seed).collect()
    });
}

/// Frames of one direction, by turns in one encoding and in the other, and some that are refused.
fn frames(direction: &str) -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for file in ["frames.json", "refused.json"] {
        let vectors = vectors(file).into_iter().filter(|vector| vector["direction"] == direction);
        for (index, vector) in vectors.enumerate() {
            let name = vector["name"].as_str().unwrap();
            let is_refused = file == "refused.json";
            if is_refused && index % 4 != 0 {
                continue;
            }
            let json = if is_refused {
                vector["json_text"].as_str().map(str::to_owned)
            } else {
                (index % 2 == 1).then(|| vector["json"].to_string())
            };
            match (json, vector["proto_hex"].as_str()) {
                (Some(text), _) => seeds.push((format!("{name}.json"), text.into_bytes())),
                (None, Some(hex)) => seeds.push((format!("{name}.bin"), unhex(hex))),
                (None, None) => panic!("{name} has no bytes"),
            }
        }
    }
    seeds
}

fn streams() -> Vec<(String, Vec<u8>)> {
    let seed =
        |name: &str, cut: u8, stream: &[u8]| (format!("{name}.bin"), [&[cut], stream].concat());
    vec![
        seed("one_frame_byte_by_byte", 1, &[0, 0, 0, 3, 1, 2, 3]),
        seed("two_frames_at_once", 255, &[0, 0, 0, 1, 7, 0, 0, 0, 2, 8, 9]),
        seed("prefix_cut_in_two", 2, &[0, 0, 0, 1, 7, 0, 0]),
        seed("frame_not_complete", 5, &[0, 0, 0, 9, 1]),
        seed("frame_of_no_bytes", 3, &[0, 0, 0, 1, 7, 0, 0, 0, 0, 1]),
        seed("frame_at_the_limit", 100, &[&[0, 0, 1, 44][..], &[5; 300]].concat()),
        seed("frame_past_the_limit", 100, &[&[0, 0, 1, 45][..], &[5; 301]].concat()),
        seed("longest_length", 4, &[255; 8]),
    ]
}

fn vectors(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(top().join("vectors").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
