//! Numbers without gaps, bounds that hold, and the newest value of a key.

use proptest::prelude::*;
use rejoin_wire::v1::Message;
use rejoin_wire::{Limits, decode_client};

use super::*;

const WIDE: Window = Window { frames: 1_000, bytes: 1 << 20 };

fn message(key: &str, payload: &[u8]) -> up::Body {
    let payload = Bytes::copy_from_slice(payload);
    up::Body::Message(Message { payload, key: key.into(), ..Default::default() })
}

fn buffer() -> SendBuffer {
    SendBuffer::new(Encoding::Protobuf, 8, 1_000)
}

fn launch(buffer: &mut SendBuffer) -> Vec<(u64, Vec<u8>)> {
    std::iter::from_fn(|| buffer.next_launch()).map(|launch| read(launch.bytes)).collect()
}

fn read(bytes: Bytes) -> (u64, Vec<u8>) {
    let frame = decode_client(Encoding::Protobuf, bytes, &Limits::DEFAULT).unwrap();
    let Some(client_frame::Frame::Up(Up { seq, body })) = frame.frame else { panic!() };
    let Some(up::Body::Message(message)) = body else { panic!() };
    (seq, message.payload.to_vec())
}

#[test]
fn the_newest_value_of_a_key_takes_the_place_at_the_end() {
    let mut buffer = buffer();
    assert!(buffer.push(SendId(1), Kind::Latest, message("at", b"1")));
    assert!(buffer.push(SendId(2), Kind::Plain, message("", b"jump")));
    assert!(buffer.push(SendId(3), Kind::Latest, message("at", b"2")));
    buffer.attach(0, WIDE).unwrap();
    assert_eq!(launch(&mut buffer), [(1, b"jump".to_vec()), (2, b"2".to_vec())]);
    // What is on the wire has its number and stays.
    assert!(buffer.push(SendId(4), Kind::Latest, message("at", b"3")));
    assert_eq!(launch(&mut buffer), [(3, b"3".to_vec())]);
    assert_eq!(buffer.len(), 3);
}

#[test]
fn a_full_buffer_takes_a_newer_value_and_a_bye_and_nothing_else() {
    let mut buffer = buffer();
    assert!(buffer.push(SendId(1), Kind::Latest, message("at", b"1")));
    for id in 2..=8 {
        assert!(buffer.push(SendId(id), Kind::Plain, message("", b"x")));
    }
    assert!(!buffer.push(SendId(9), Kind::Plain, message("", b"x")));
    assert!(buffer.push(SendId(10), Kind::Latest, message("at", b"2")));
    assert!(!buffer.push(SendId(11), Kind::Latest, message("at", &[0; 900])));
    assert_eq!(buffer.len(), 8);
    assert!(buffer.push(SendId(12), Kind::Bye, up::Body::Bye(rejoin_wire::v1::Bye {})));
}

#[test]
fn a_frame_larger_than_the_window_goes_alone() {
    let mut buffer = buffer();
    assert!(buffer.push(SendId(1), Kind::Plain, message("", &[1; 300])));
    assert!(buffer.push(SendId(2), Kind::Plain, message("", &[2; 300])));
    buffer.attach(0, Window { frames: 0, bytes: 0 }).unwrap();
    assert_eq!(launch(&mut buffer).len(), 1);
    buffer.acknowledge(1).unwrap();
    assert_eq!(launch(&mut buffer), [(2, vec![2; 300])]);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let mut buffer = buffer();
    assert!(buffer.attach(u64::MAX, WIDE).is_err());
    buffer.attach(4, WIDE).unwrap();
    assert_eq!(buffer.oldest_unacked(), 5);
    assert_eq!(buffer.acknowledge(5), Err(Violation::AppliedAhead { applied: 5 }));
    assert!(buffer.push(SendId(1), Kind::Plain, message("", b"x")));
    assert_eq!(launch(&mut buffer).len(), 1);
    buffer.acknowledge(5).unwrap();
    buffer.acknowledge(2).unwrap();
    assert_eq!(buffer.check(3), Err(Violation::AppliedBehind { applied: 3 }));
    assert_eq!(buffer.check(6), Err(Violation::AppliedAhead { applied: 6 }));
    assert_eq!(buffer.check(5), Ok(()));
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Latest(u8),
    Acknowledge(u64),
    Reconnect(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0usize..200).prop_map(Step::Send),
        3 => (0u8..3).prop_map(Step::Latest),
        2 => (0u64..4).prop_map(Step::Acknowledge),
        1 => (0u64..4).prop_map(Step::Reconnect),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    #[test]
    fn numbers_have_no_gaps_and_bounds_hold(steps in steps(), frames in 1usize..6, json in any::<bool>()) {
        let encoding = if json && Encoding::Json.is_supported() { Encoding::Json } else { Encoding::Protobuf };
        let mut buffer = SendBuffer::new(encoding, 8, 1_000);
        let window = Window { frames, bytes: 400 };
        buffer.attach(0, window).unwrap();
        let (mut next, mut acked, mut id) = (1, 0, 0);
        for step in steps {
            id += 1;
            match step {
                Step::Send(len) => {
                    buffer.push(SendId(id), Kind::Plain, message("", &vec![0; len]));
                }
                Step::Latest(key) => {
                    buffer.push(SendId(id), Kind::Latest, message(&key.to_string(), b"v"));
                }
                Step::Acknowledge(more) => {
                    acked = (acked + more).min(next - 1);
                    buffer.acknowledge(acked).unwrap();
                }
                Step::Reconnect(more) => {
                    buffer.detach();
                    prop_assert!(buffer.next_launch().is_none());
                    prop_assert_eq!(buffer.oldest_unacked(), acked + 1);
                    acked = (acked + more).min(next - 1);
                    buffer.attach(acked, window).unwrap();
                }
            }
            while let Some(launch) = buffer.next_launch() {
                if let Some((number, ..)) = launch.numbered {
                    prop_assert_eq!(number, next);
                    next += 1;
                }
            }
            prop_assert!(buffer.len() <= 8 && buffer.bytes() <= 1_000);
            prop_assert!(buffer.in_flight() <= frames);
            prop_assert!(buffer.in_flight() <= 1 || buffer.launched_bytes <= 400);
        }
    }
}
