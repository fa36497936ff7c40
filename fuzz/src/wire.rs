//! Bytes as frames, and as a stream of frames.

use bytes::BytesMut;
use rejoin_wire::{
    Bytes, Encoding, Framer, Limits, SharedFrame, decode_client, decode_server, encode_client,
    encode_server, pack_client, prefix, unpack_client, unpack_server,
};

const LIMITS: Limits = Limits::DEFAULT;

/// Any bytes are a client frame, which then survives the way there and back, or a typed error.
pub fn client(data: &[u8]) {
    for encoding in Encoding::ALL {
        let bytes = Bytes::copy_from_slice(data);
        let Ok(frame) = decode_client(encoding, bytes, &LIMITS) else {
            continue;
        };
        let again = encode_client(Encoding::Protobuf, &frame).expect("every frame has protobuf");
        assert_eq!(decode_client(Encoding::Protobuf, again, &LIMITS), Ok(frame));
    }
}

/// Any bytes are a server frame, which then survives the way there and back, or a typed error.
pub fn server(data: &[u8]) {
    for encoding in Encoding::ALL {
        let bytes = Bytes::copy_from_slice(data);
        let Ok(frame) = decode_server(encoding, bytes, &LIMITS) else {
            continue;
        };
        let again = encode_server(Encoding::Protobuf, &frame).expect("every frame has protobuf");
        assert_eq!(decode_server(Encoding::Protobuf, again, &LIMITS), Ok(frame.clone()));
        if Encoding::Json.is_supported() {
            let json = encode_server(Encoding::Json, &frame).expect("a decoded frame has JSON");
            // Larger limits: JSON may come in shorter than it is written.
            let limits = Limits { server_frame_bytes_max: 16 << 20, ..LIMITS };
            assert_eq!(decode_server(Encoding::Json, json, &limits), Ok(frame));
        }
    }
}

/// Any bytes as a compressed frame of either side: within the limits, or a typed error. And whatever is a
/// frame then is the same after it was packed and unpacked.
pub fn packed(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let within = |frame: &Bytes, max: usize| assert!(frame.len() <= max || *frame == data);
    if let Ok(frame) = unpack_client(bytes.clone(), &LIMITS) {
        within(&frame, LIMITS.client_frame_bytes(Encoding::Protobuf));
        if let Ok(frame) = decode_client(Encoding::Protobuf, frame, &LIMITS) {
            let plain =
                encode_client(Encoding::Protobuf, &frame).expect("every frame has protobuf");
            let again = pack_client(plain.clone(), 1);
            assert!(again.len() <= plain.len());
            assert_eq!(unpack_client(again, &LIMITS), Ok(plain));
        }
    }
    if let Ok(frame) = unpack_server(bytes, &LIMITS) {
        within(&frame, LIMITS.server_frame_bytes(Encoding::Protobuf));
        if let Ok(frame) = decode_server(Encoding::Protobuf, frame, &LIMITS) {
            let shared = SharedFrame::new(&frame);
            let again = shared.packed(1);
            assert!(again.len() <= shared.len());
            assert_eq!(unpack_server(again, &LIMITS), Ok(shared.protobuf().clone()));
        }
    }
}

/// A stream gives the same frames however it is cut, and never holds more than one frame.
///
/// The first byte is the size of the cuts, the others are the stream.
pub fn framing(data: &[u8]) {
    const FRAME_BYTES_MAX: usize = 300;
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let whole = frames(stream.chunks(stream.len().max(1)), FRAME_BYTES_MAX);
    let parts = frames(stream.chunks(usize::from(cut).max(1)), FRAME_BYTES_MAX);
    assert_eq!(whole, parts);

    let mut again = BytesMut::new();
    for frame in &whole.0 {
        prefix(frame, &mut again).expect("a frame that came in goes out");
    }
    assert_eq!(again, stream.get(..again.len()).unwrap_or_default());
}

/// The frames of a stream, and whether it broke.
fn frames<'a>(
    chunks: impl Iterator<Item = &'a [u8]>,
    frame_bytes_max: usize,
) -> (Vec<Bytes>, bool) {
    let mut framer = Framer::new(frame_bytes_max);
    let mut frames = Vec::new();
    for mut chunk in chunks {
        while !chunk.is_empty() {
            let taken = framer.push(chunk);
            assert!(framer.pending() <= frame_bytes_max + 4);
            chunk = chunk.get(taken..).unwrap_or_default();
            loop {
                match framer.next() {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(_) => return (frames, true),
                }
            }
        }
    }
    (frames, false)
}
