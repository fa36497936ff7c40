//! Messages of a game as values. A zone that speaks bytes needs none of this; one that names its
//! own types gets them decoded, and sessions that live in the server get them as they are.

use std::fmt;

use bytes::Bytes;

/// Something that a zone and its members say to each other.
pub trait Message: Sized + Send + Sync + 'static {
    /// The bytes on the wire.
    fn encode(&self) -> Bytes;

    /// Reads them. The bytes come from a peer: anything may be in them.
    ///
    /// # Errors
    /// Refuses what it cannot read. The sender is told `BadPayload` with this text, so nothing secret may
    /// stand in it.
    fn decode(payload: Bytes) -> Result<Self, BadPayload>;
}

/// A payload that is no message of this game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPayload(pub String);

impl fmt::Display for BadPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the payload is no message of this game: {}", self.0)
    }
}

impl std::error::Error for BadPayload {}

impl Message for Bytes {
    fn encode(&self) -> Bytes {
        self.clone()
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        Ok(payload)
    }
}
