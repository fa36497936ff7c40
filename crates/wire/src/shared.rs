//! A frame for many receivers: encoded at most once per encoding, and cheap to clone.
//!
//! Owns the protobuf bytes, and the JSON text and the compressed bytes once somebody asked for them.
//! The frame itself is not kept: it is as large as its bytes, and only the first JSON reader needs it
//! again. Never changes after it is made.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use prost::Message as _;

use crate::Encoding;
use crate::codec::{EncodeError, encode_server};
use crate::compression::pack_server;
use crate::v1::{Refusal, ServerFrame, server_frame};

/// The first byte of a frame with a refusal: field 3, with a length.
const REFUSAL_TAG: u8 = 3 << 3 | 2;
/// The first byte of a frame with a farewell: field 11, with a length.
const FAREWELL_TAG: u8 = 11 << 3 | 2;

/// An encoded frame of a server, shared by all who receive or keep it.
#[derive(Clone)]
pub struct SharedFrame(Arc<Shared>);

struct Shared {
    protobuf: Bytes,
    /// Boxed like `packed`: most frames are never asked for either.
    json: OnceLock<Box<Result<Bytes, EncodeError>>>,
    /// None: it stays as it is.
    packed: OnceLock<Option<Box<Bytes>>>,
    /// Whether the protobuf bytes were written here, and not read from a store.
    encoded_here: bool,
}

impl SharedFrame {
    /// Encodes a frame as protobuf, now; as JSON when somebody asks.
    pub fn new(frame: &ServerFrame) -> SharedFrame {
        SharedFrame::with(frame.encode_to_vec().into(), true)
    }

    /// Takes a frame that is already encoded as protobuf, as recovery reads it from a store.
    ///
    /// The bytes are not read before JSON is asked for; if they are no frame, that asking fails.
    pub fn from_encoded(protobuf: Bytes) -> SharedFrame {
        SharedFrame::with(protobuf, false)
    }

    /// The frame in this encoding. The first call for JSON writes it; all later ones share it.
    pub fn bytes(&self, encoding: Encoding) -> Result<Bytes, EncodeError> {
        match encoding {
            Encoding::Protobuf => Ok(self.0.protobuf.clone()),
            Encoding::Json => {
                let json = self.0.json.get_or_init(|| Box::new(json(&self.0.protobuf)));
                json.as_ref().clone()
            }
        }
    }

    /// The frame as protobuf for whoever agreed to compressed ones: compressed, if it has at least
    /// `bytes_min` and becomes shorter by it. The first call compresses; all later ones share it.
    pub fn packed(&self, bytes_min: usize) -> Bytes {
        if self.len() < bytes_min {
            return self.0.protobuf.clone();
        }
        let packed = self.0.packed.get_or_init(|| pack_server(&self.0.protobuf).map(Box::new));
        packed.as_deref().unwrap_or(&self.0.protobuf).clone()
    }

    /// The frame as protobuf, without asking for an encoding: what a store keeps.
    pub fn protobuf(&self) -> &Bytes {
        &self.0.protobuf
    }

    /// The length as protobuf: what counts against every bound.
    pub fn len(&self) -> usize {
        self.0.protobuf.len()
    }

    /// Whether the frame has no bytes; no valid frame has none.
    pub fn is_empty(&self) -> bool {
        self.0.protobuf.is_empty()
    }

    /// The refusal in it, if the frame is one. Looks at the first byte of all others only.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.0.protobuf.first() != Some(&REFUSAL_TAG) {
            return None;
        }
        match ServerFrame::decode(self.0.protobuf.clone()).ok()?.frame {
            Some(server_frame::Frame::Refusal(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the frame is a farewell: nothing may follow it on its connection. Looks at the first byte only.
    pub fn is_farewell(&self) -> bool {
        self.0.protobuf.first() == Some(&FAREWELL_TAG)
    }

    /// How many times this frame has been encoded so far, however many receivers it has.
    pub fn encodings(&self) -> u32 {
        u32::from(self.0.encoded_here) + u32::from(self.0.json.get().is_some())
    }

    fn with(protobuf: Bytes, encoded_here: bool) -> SharedFrame {
        let (json, packed) = (OnceLock::new(), OnceLock::new());
        SharedFrame(Arc::new(Shared { protobuf, json, packed, encoded_here }))
    }
}

impl From<&ServerFrame> for SharedFrame {
    fn from(frame: &ServerFrame) -> SharedFrame {
        SharedFrame::new(frame)
    }
}

/// Two shared frames are equal when their bytes are.
impl PartialEq for SharedFrame {
    fn eq(&self, other: &SharedFrame) -> bool {
        self.0.protobuf == other.0.protobuf
    }
}

impl Eq for SharedFrame {}

/// Shows the length only: payloads do not belong in logs.
impl fmt::Debug for SharedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedFrame({} bytes)", self.len())
    }
}

fn json(protobuf: &Bytes) -> Result<Bytes, EncodeError> {
    if !Encoding::Json.is_supported() {
        return Err(EncodeError::Unsupported);
    }
    let frame = ServerFrame::decode(protobuf.clone()).map_err(|_| EncodeError::Unwritable)?;
    encode_server(Encoding::Json, &frame)
}

#[cfg(test)]
mod tests;
