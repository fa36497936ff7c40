//! From bytes to frames and back, in either encoding.
//!
//! Owns the errors of both ways. A decoded frame has been held against every limit, so those who
//! read it later need not ask again. Decoding never panics and never allocates by a length that a
//! peer wrote: memory grows with the bytes that really came, which are bounded first.
//!
//! An enum value that this version does not know becomes `Unspecified`, in both encodings: enums
//! stand only in frames of a server, and a client of yesterday must survive the server of tomorrow.
//! Unknown fields are skipped for the same reason.

use std::fmt;

use bytes::Bytes;
use prost::Message as _;

use crate::Encoding;
use crate::check::{check_client, check_server, settle_enums};
use crate::limits::Limits;
use crate::v1::{ClientFrame, CloseCode, ServerFrame, client_frame};

/// Reads one frame of a client. Payloads of a protobuf frame are slices of `bytes`.
pub fn decode_client(
    encoding: Encoding,
    bytes: Bytes,
    limits: &Limits,
) -> Result<ClientFrame, DecodeError> {
    let len = bytes.len();
    at_most("frame", len, limits.client_frame_bytes(encoding))?;
    let frame: ClientFrame = match encoding {
        Encoding::Protobuf => ClientFrame::decode(bytes).map_err(|_| DecodeError::UNREADABLE)?,
        #[cfg(feature = "json")]
        Encoding::Json => serde_json::from_slice(&bytes).map_err(json_error)?,
        #[cfg(not(feature = "json"))]
        Encoding::Json => return Err(DecodeError::Unsupported),
    };
    if let Some(client_frame::Frame::Hello(_)) = &frame.frame {
        at_most("hello", len, limits.hello_bytes_max)?;
    }
    check_client(&frame, limits)?;
    Ok(frame)
}

/// Reads one frame of a server. Payloads of a protobuf frame are slices of `bytes`.
pub fn decode_server(
    encoding: Encoding,
    bytes: Bytes,
    limits: &Limits,
) -> Result<ServerFrame, DecodeError> {
    at_most("frame", bytes.len(), limits.server_frame_bytes(encoding))?;
    let mut frame: ServerFrame = match encoding {
        Encoding::Protobuf => ServerFrame::decode(bytes).map_err(|_| DecodeError::UNREADABLE)?,
        #[cfg(feature = "json")]
        Encoding::Json => serde_json::from_slice(&bytes).map_err(json_error)?,
        #[cfg(not(feature = "json"))]
        Encoding::Json => return Err(DecodeError::Unsupported),
    };
    settle_enums(&mut frame);
    check_server(&frame, limits)?;
    Ok(frame)
}

/// Writes one frame of a client.
///
/// Limits are not asked here: whoever builds a frame of foreign parts asks
/// [`check_client`](crate::check_client) first.
pub fn encode_client(encoding: Encoding, frame: &ClientFrame) -> Result<Bytes, EncodeError> {
    match encoding {
        Encoding::Protobuf => Ok(frame.encode_to_vec().into()),
        #[cfg(feature = "json")]
        Encoding::Json => json(frame),
        #[cfg(not(feature = "json"))]
        Encoding::Json => Err(EncodeError::Unsupported),
    }
}

/// Writes one frame of a server.
///
/// Limits are not asked here: whoever builds a frame of foreign parts asks
/// [`check_server`](crate::check_server) first.
pub fn encode_server(encoding: Encoding, frame: &ServerFrame) -> Result<Bytes, EncodeError> {
    match encoding {
        Encoding::Protobuf => Ok(frame.encode_to_vec().into()),
        #[cfg(feature = "json")]
        Encoding::Json => json(frame),
        #[cfg(not(feature = "json"))]
        Encoding::Json => Err(EncodeError::Unsupported),
    }
}

/// Why bytes are not a frame. Holds nothing that the peer wrote, so it is safe to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// Not a frame in this encoding at all.
    Malformed {
        /// The column of the JSON text where reading stopped; 0 when it is not known.
        column: usize,
    },
    /// A frame, list, string or payload is longer than its limit.
    TooLarge {
        /// What is too long.
        field: &'static str,
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// A field of fixed length has another one.
    WrongLength {
        /// The frame and the field, as the contract spells them: `resume.token`.
        field: &'static str,
        /// How long it is.
        len: usize,
        /// How long it must be.
        expected: usize,
    },
    /// Nothing is set where one thing must be: a frame without content, a hello without purpose.
    Empty {
        /// What is missing.
        field: &'static str,
    },
    /// A numbered frame has the number 0; numbers start at 1.
    ZeroSeq,
    /// A compressed frame where none was agreed on.
    NotAgreed,
    /// This build does not speak the encoding. Not the peer's fault: it should not have been offered.
    Unsupported,
}

impl DecodeError {
    pub(crate) const UNREADABLE: DecodeError = DecodeError::Malformed { column: 0 };

    /// The code with which the connection is closed.
    pub const fn close_code(&self) -> CloseCode {
        match self {
            DecodeError::TooLarge { .. } => CloseCode::TooLarge,
            DecodeError::NotAgreed => CloseCode::OutOfState,
            DecodeError::Malformed { .. }
            | DecodeError::WrongLength { .. }
            | DecodeError::Empty { .. }
            | DecodeError::ZeroSeq
            | DecodeError::Unsupported => CloseCode::Malformed,
        }
    }

    /// The word for this error in metrics and in the vectors: always the same, few in number.
    pub const fn kind(&self) -> &'static str {
        match self {
            DecodeError::Malformed { .. } => "malformed",
            DecodeError::TooLarge { .. } => "too_large",
            DecodeError::WrongLength { .. } => "wrong_length",
            DecodeError::Empty { .. } => "empty",
            DecodeError::ZeroSeq => "zero_seq",
            DecodeError::NotAgreed => "not_agreed",
            DecodeError::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Malformed { column: 0 } => write!(f, "the bytes are not a frame"),
            DecodeError::Malformed { column } => {
                write!(f, "the text is not a frame: reading stopped at column {column}")
            }
            DecodeError::TooLarge { field, len, max } => {
                write!(f, "{field} is {len} long; at most {max} is allowed")
            }
            DecodeError::WrongLength { field, len, expected } => {
                write!(f, "{field} is {len} bytes long; it must be {expected}")
            }
            DecodeError::Empty { field } => write!(f, "{field} is not set"),
            DecodeError::ZeroSeq => write!(f, "a numbered frame has the number 0"),
            DecodeError::NotAgreed => {
                write!(f, "the frame is compressed; that was not agreed on this connection")
            }
            DecodeError::Unsupported => write!(f, "this build does not speak the encoding"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Why a frame could not be written. Always this side's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// This build does not speak the encoding; enable the feature `json`.
    Unsupported,
    /// The frame has no JSON: an enum holds a number that has no name, or bytes that were taken for
    /// an encoded frame are none.
    Unwritable,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Unsupported => write!(f, "this build does not speak the encoding"),
            EncodeError::Unwritable => write!(f, "the frame cannot be written in the encoding"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Ok when `len` is within `max`; otherwise the error that names `field`.
pub(crate) fn at_most(field: &'static str, len: usize, max: usize) -> Result<(), DecodeError> {
    if len <= max { Ok(()) } else { Err(DecodeError::TooLarge { field, len, max }) }
}

#[cfg(feature = "json")]
fn json(frame: &impl serde::Serialize) -> Result<Bytes, EncodeError> {
    serde_json::to_vec(frame).map(Bytes::from).map_err(|_| EncodeError::Unwritable)
}

/// Keeps the place and drops the words: they quote the peer.
#[cfg(feature = "json")]
fn json_error(error: serde_json::Error) -> DecodeError {
    DecodeError::Malformed { column: error.column() }
}

#[cfg(test)]
mod tests;
