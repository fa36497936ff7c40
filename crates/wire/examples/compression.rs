//! What compression saves and costs: `cargo run -p rejoin-wire --example compression`. Three kinds of
//! message in three sizes; times are of the best of many rounds, packing and unpacking one frame.
//! With `pack N` or `unpack N` one message of 1 KiB so often, for `cargo xtask measure` to count.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rejoin_wire::v1::{Down, Message, ServerFrame, down, server_frame};
use rejoin_wire::{Limits, SharedFrame, unpack_server};

const ROUNDS: u32 = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match (arguments.first().map(String::as_str), arguments.get(1).map(|times| times.parse())) {
        (Some("pack"), Some(Ok(times))) => repeat(times, false),
        (Some("unpack"), Some(Ok(times))) => repeat(times, true),
        _ => table(),
    }
}

/// Packs a message of 1 KiB so often, and unpacks it if so told.
fn repeat(times: usize, unpacks: bool) {
    let plain = frame(json(1_024)).protobuf().clone();
    for _ in 0..times {
        let packed = SharedFrame::from_encoded(plain.clone()).packed(1);
        if unpacks {
            assert!(unpack_server(black_box(packed), &Limits::DEFAULT).is_ok());
        }
    }
}

fn table() {
    println!("| message | bytes | compressed | to | packing | unpacking |");
    println!("|---|---|---|---|---|---|");
    for (name, payload_of) in
        [("JSON", json as fn(usize) -> Vec<u8>), ("positions", positions), ("noise", noise)]
    {
        for bytes in [1_024, 8_192, 65_536] {
            let plain = frame(payload_of(bytes)).protobuf().clone();
            let packed = SharedFrame::from_encoded(plain.clone()).packed(1);
            let percent = 100 * packed.len() / plain.len();
            let packing = best(|| {
                black_box(SharedFrame::from_encoded(plain.clone()).packed(1));
            });
            let unpacking = best(|| {
                black_box(unpack_server(packed.clone(), &Limits::DEFAULT)).ok();
            });
            let packed = packed.len();
            println!(
                "| {name} | {bytes} | {packed} | {percent} % | {packing:.1?} | {unpacking:.1?} |"
            );
        }
    }
}

fn best(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(time).min().unwrap_or_default()
}

fn frame(payload: Vec<u8>) -> SharedFrame {
    let message = Message { payload: payload.into(), ..Message::default() };
    let down = Down { seq: 1, body: Some(down::Body::Message(message)) };
    SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) })
}

/// What a chatty game sends: names repeat, numbers do not.
fn json(bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    let mut seed = 1;
    while text.len() < bytes {
        let (id, x, y) = (next(&mut seed), next(&mut seed) % 1_000, next(&mut seed) % 1_000);
        text += &format!("{{\"entity\":{id},\"x\":{x},\"y\":{y},\"state\":\"walking\"}},");
    }
    text.truncate(bytes);
    text.into_bytes()
}

/// Packed records of an id and three floats that lie close to each other.
fn positions(bytes: usize) -> Vec<u8> {
    let mut seed = 1;
    let mut record = 0_u32;
    let mut all = Vec::new();
    while all.len() < bytes {
        record += 1;
        all.extend(record.to_be_bytes());
        for _ in 0..3 {
            all.extend((100.0 + (next(&mut seed) % 1_000) as f32 / 10.0).to_be_bytes());
        }
    }
    all.truncate(bytes);
    all
}

/// What is encrypted or compressed already.
fn noise(bytes: usize) -> Vec<u8> {
    let mut seed = 1;
    (0..bytes).map(|_| (next(&mut seed) >> 3) as u8).collect()
}

fn next(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *seed >> 8
}
