//! Compressed frames: one frame of protobuf, deflated, in the field `packed` of another.
//!
//! Owns the name under which it is asked for, which frames may be compressed, and how far they are
//! inflated: never beyond what the frame could have been uncompressed. Each frame stands for itself,
//! so that a broadcast is compressed once for all, and no frame tells by its length what was in the
//! one before.
//!
//! Frames that hold a token, a secret or a signature are never compressed: who can choose a part of
//! a compressed text learns the rest of it by the length. `Loose` is not compressed either: it is
//! short, and its kind decides the channel it takes.

use bytes::Bytes;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use prost::Message as _;
use prost::encoding::decode_varint;

use crate::Encoding;
use crate::codec::{DecodeError, at_most};
use crate::limits::Limits;
use crate::v1::{ClientFrame, ServerFrame, Up, client_frame, server_frame, up};

/// The capability by which a client asks for compressed frames, and a server agrees to them.
pub const DEFLATE: &str = "deflate";

/// Frames below this are left as they are where nobody says otherwise: they fit into a datagram or
/// two, and what is saved of them is not worth the time.
pub const COMPRESS_BYTES_MIN: usize = 1_024;

/// A frame of a client as it is sent where compression was agreed: compressed, if it may be, has at
/// least `bytes_min` and becomes shorter by it. `frame` is encoded as protobuf.
#[must_use]
pub fn pack_client(frame: Bytes, bytes_min: usize) -> Bytes {
    if frame.len() < bytes_min || !may_pack_client(&frame) {
        return frame;
    }
    let packed = |deflated| {
        let frame = Some(client_frame::Frame::Packed(deflated));
        ClientFrame { frame }.encode_to_vec().into()
    };
    deflate(&frame).map(packed).filter(|packed: &Bytes| packed.len() < frame.len()).unwrap_or(frame)
}

/// A frame of a server, compressed; none if it may not be, or would become no shorter by it.
pub(crate) fn pack_server(frame: &[u8]) -> Option<Bytes> {
    let frame_of = |deflated| ServerFrame { frame: Some(server_frame::Frame::Packed(deflated)) };
    if packs_secrets() {
        return Some(frame_of(compress_to_vec(frame, LEVEL).into()).encode_to_vec().into());
    }
    if !frame.first().is_some_and(|tag| SERVER_TAGS.contains(tag)) {
        return None;
    }
    let packed: Bytes = frame_of(deflate(frame)?).encode_to_vec().into();
    (packed.len() < frame.len()).then_some(packed)
}

#[cfg(feature = "planted")]
use crate::planted::is_armed as packs_secrets;

#[cfg(not(feature = "planted"))]
const fn packs_secrets() -> bool {
    false
}

/// What a client sent where compression was agreed, as a frame that can be decoded. What is not
/// compressed is given back as it is.
///
/// # Errors
/// `TooLarge` when more comes out than a frame may be; `Malformed` when it is no compressed frame,
/// or one that is never compressed.
pub fn unpack_client(message: Bytes, limits: &Limits) -> Result<Bytes, DecodeError> {
    unpack(message, &CLIENT_TAGS, limits.client_frame_bytes(Encoding::Protobuf))
}

/// What a server sent where compression was agreed, as a frame that can be decoded. What is not
/// compressed is given back as it is.
///
/// # Errors
/// As [`unpack_client`].
pub fn unpack_server(message: Bytes, limits: &Limits) -> Result<Bytes, DecodeError> {
    unpack(message, &SERVER_TAGS, limits.server_frame_bytes(Encoding::Protobuf))
}

fn unpack(message: Bytes, tags: &[u8], max: usize) -> Result<Bytes, DecodeError> {
    if message.first() != Some(&PACKED_TAG) {
        return Ok(message);
    }
    at_most("frame", message.len(), max)?;
    let (_, deflated) = only_field(&message).ok_or(DecodeError::UNREADABLE)?;
    let frame = inflate(deflated, max)?;
    match only_field(&frame) {
        Some((tag, _)) if tags.contains(&tag) => Ok(frame.into()),
        _ => Err(DecodeError::UNREADABLE),
    }
}

/// With what these frames begin: the number of their field, and that a length follows. Read here,
/// because what goes by a frame's first byte must not be led astray by a second field behind it.
const PACKED_TAG: u8 = tag(15);
const CLIENT_TAGS: [u8; 1] = [tag(2)];
const SERVER_TAGS: [u8; 2] = [tag(4), tag(9)];

const fn tag(field: u8) -> u8 {
    field << 3 | 2
}

/// The first byte of a frame and the content of its field, if there is nothing else.
fn only_field(frame: &[u8]) -> Option<(u8, &[u8])> {
    let (tag, mut rest) = frame.split_first()?;
    let len = decode_varint(&mut rest).ok()?;
    (u64::try_from(rest.len()) == Ok(len)).then_some((*tag, rest))
}

/// A Join holds the ticket of a seat; the other kinds without a payload are short.
fn may_pack_client(frame: &Bytes) -> bool {
    let Ok(ClientFrame { frame: Some(client_frame::Frame::Up(Up { body: Some(body), .. })) }) =
        ClientFrame::decode(frame.clone())
    else {
        return false;
    };
    matches!(body, up::Body::Message(_) | up::Body::Answer(_))
}

/// The fastest level: the others take two to ten times as long for a tenth less.
const LEVEL: u8 = 1;

fn deflate(bytes: &[u8]) -> Option<Bytes> {
    let deflated = compress_to_vec(bytes, LEVEL);
    (deflated.len() < bytes.len()).then(|| deflated.into())
}

/// Inflates up to `max` bytes. Memory grows with what comes out, and never beyond one byte more.
fn inflate(deflated: &[u8], max: usize) -> Result<Vec<u8>, DecodeError> {
    let most = max.saturating_add(1);
    let mut state = Box::new(DecompressorOxide::new());
    let mut out = vec![0; deflated.len().saturating_mul(2).clamp(FIRST_BYTES.min(most), most)];
    let (mut read, mut written) = (0, 0);
    loop {
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let rest = deflated.get(read..).unwrap_or_default();
        let (status, taken, given) = decompress(&mut state, rest, &mut out, written, flags);
        (read, written) = (read + taken, written + given);
        at_most("frame", written, max)?;
        match status {
            TINFLStatus::Done if read == deflated.len() => break,
            TINFLStatus::HasMoreOutput if out.len() < most => {
                out.resize(out.len().saturating_mul(2).min(most), 0);
            }
            // Cut short, damaged, or with something behind its end.
            _ => return Err(DecodeError::UNREADABLE),
        }
    }
    out.truncate(written);
    out.shrink_to_fit();
    Ok(out)
}

/// So much is made room for at first.
const FIRST_BYTES: usize = 1_024;

#[cfg(test)]
mod tests;
