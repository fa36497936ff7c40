//! What it takes to seal and to open a datagram, for `cargo xtask measure`: callgrind counts the
//! instructions of two sizes, and their difference is what is told.

use std::hint::black_box;
use std::process::ExitCode;

use rejoin_seal::{Opening, ServerKey};

const USAGE: &str = "usage: sealing seal|open N BYTES | sealing greet N";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|word| word.parse::<usize>().ok());
    match (arguments.first().map(String::as_str), number(1), number(2)) {
        (Some("seal"), Some(times), Some(bytes)) => datagrams(times, bytes, false),
        (Some("open"), Some(times), Some(bytes)) => datagrams(times, bytes, true),
        (Some("greet"), Some(times), None) => greet(times),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Seals so many datagrams, and opens each if so told.
fn datagrams(times: usize, bytes: usize, opens: bool) {
    let key = ServerKey::generate().expect("the system has chance");
    let (opening, first) = Opening::begin(b"measure").expect("the system has chance");
    let (mut server, second) = key.accept(b"measure", &first).expect("it is a first message");
    let (mut client, _) = opening.finish(&second).expect("it is the answer");
    let datagram = vec![7; bytes];
    let mut plain = vec![0; bytes];
    for _ in 0..times {
        let sealed = client.seal(black_box(&datagram)).expect("there are counters left");
        if opens {
            assert_eq!(server.open(black_box(&sealed), &mut plain), Some(bytes));
        }
    }
}

/// Handshakes, both halves.
fn greet(times: usize) {
    let key = ServerKey::generate().expect("the system has chance");
    for _ in 0..times {
        let (opening, first) = Opening::begin(b"measure").expect("the system has chance");
        let (_, second) = key.accept(b"measure", &first).expect("it is a first message");
        black_box(opening.finish(&second).expect("it is the answer"));
    }
}
