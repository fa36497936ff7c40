//! The same frames come out however the stream is cut, and no length makes it allocate.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Pushes one chunk and drains, as a transport does.
fn feed(framer: &mut Framer, mut chunk: &[u8]) -> Result<Vec<Bytes>, FramingError> {
    let mut frames = Vec::new();
    while !chunk.is_empty() {
        let taken = framer.push(chunk);
        assert!(framer.pending() <= framer.capacity());
        chunk = &chunk[taken..];
        while let Some(frame) = framer.next()? {
            frames.push(frame);
        }
        assert!(taken > 0, "a drained framer takes something");
    }
    Ok(frames)
}

fn stream(frames: &[Vec<u8>]) -> BytesMut {
    let mut stream = BytesMut::new();
    for frame in frames {
        prefix(frame, &mut stream).unwrap();
    }
    stream
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_frames(
        frames in vec(vec(any::<u8>(), 1..=64), 0..8),
        sizes in vec(1usize..100, 1..20),
    ) {
        let stream = stream(&frames);
        let mut framer = Framer::new(64);
        let mut out = Vec::new();
        let mut rest = &stream[..];
        for size in sizes.iter().cycle() {
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            out.extend(feed(&mut framer, chunk).unwrap());
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(out, frames);
        prop_assert_eq!(framer.pending(), 0);
    }

    #[test]
    fn any_bytes_give_frames_or_an_error(chunks in vec(vec(any::<u8>(), 0..64), 0..16)) {
        let mut framer = Framer::new(300);
        for chunk in chunks {
            if feed(&mut framer, &chunk).is_err() {
                prop_assert!(framer.next().is_err());
                break;
            }
        }
    }
}

#[test]
fn a_frame_at_the_limit_is_taken_and_one_past_it_refused() {
    let mut framer = Framer::new(10);
    assert_eq!(feed(&mut framer, &stream(&[vec![7; 10]])), Ok(vec![Bytes::from(vec![7; 10])]));
    let refused = FramingError::TooLarge { len: 11, max: 10 };
    assert_eq!(feed(&mut framer, &stream(&[vec![7; 11]])), Err(refused));
}

#[test]
fn the_longest_length_is_refused_before_anything_is_allocated() {
    let mut framer = Framer::new(1_000);
    assert_eq!(framer.push(&[0xff; 4]), 4);
    let error = FramingError::TooLarge { len: u64::from(u32::MAX), max: 1_000 };
    assert_eq!(framer.next(), Err(error));
    assert_eq!(framer.pending.capacity(), 0);
    assert_eq!(error.close_code(), crate::v1::CloseCode::TooLarge);
}

#[test]
fn an_empty_frame_is_an_error_both_ways() {
    let mut framer = Framer::new(10);
    assert_eq!(framer.push(&[0; 4]), 4);
    assert_eq!(framer.next(), Err(FramingError::ZeroLength));
    assert_eq!(prefix(&[], &mut BytesMut::new()), Err(FramingError::ZeroLength));
}

#[test]
fn a_broken_stream_stays_broken() {
    let mut framer = Framer::new(10);
    assert_eq!(framer.push(&[0; 4]), 4);
    assert!(framer.next().is_err());
    assert_eq!(framer.push(&stream(&[vec![1]])), 0);
    assert_eq!(framer.next(), Err(FramingError::ZeroLength));
}

#[test]
fn a_promised_length_allocates_nothing_until_its_bytes_come() {
    let mut framer = Framer::new(1_000_000);
    assert_eq!(framer.push(&1_000_000_u32.to_be_bytes()), 4);
    assert_eq!(framer.next(), Ok(None));
    assert!(framer.pending.capacity() < 1_000);
}

#[test]
fn a_quiet_stream_gives_its_buffer_back() {
    let mut framer = Framer::new(100_000);
    assert_eq!(feed(&mut framer, &stream(&[vec![1; 100_000]])).map(|frames| frames.len()), Ok(1));
    assert!(framer.pending.capacity() <= IDLE_BYTES_MAX);
}

#[test]
fn a_longer_frame_may_be_allowed_later() {
    let mut framer = Framer::new(2);
    framer.allow(3);
    assert_eq!(feed(&mut framer, &stream(&[vec![1; 3]])), Ok(vec![Bytes::from(vec![1; 3])]));
}
