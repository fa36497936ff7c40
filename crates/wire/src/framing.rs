//! Cuts a byte stream into frames, for transports that have no messages of their own.
//!
//! A frame is a length of four bytes, highest first, and then as many bytes. Owns what has come and
//! is not yet a frame; that never grows beyond one frame of the allowed length. Knows nothing of
//! what is inside a frame.

use std::fmt;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// How many bytes stand before each frame.
pub const PREFIX_BYTES: usize = 4;

/// Collects the bytes of one stream and gives the frames in it.
///
/// ```
/// # use rejoin_wire::{Framer, FramingError};
/// # fn receive(framer: &mut Framer, mut chunk: &[u8]) -> Result<(), FramingError> {
/// while !chunk.is_empty() {
///     let taken = framer.push(chunk);
///     chunk = &chunk[taken..];
///     while let Some(frame) = framer.next()? {
///         // decode it
///         # drop(frame);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Framer {
    pending: BytesMut,
    frame_bytes_max: usize,
    /// A stream that broke stays broken: nobody knows where its next frame would start.
    broken: Option<FramingError>,
}

impl Framer {
    /// A framer for a stream whose frames are at most `frame_bytes_max` long.
    pub fn new(frame_bytes_max: usize) -> Framer {
        Framer { pending: BytesMut::new(), frame_bytes_max, broken: None }
    }

    /// Allows frames of another length from here on: a client that has said hello may send more.
    pub fn allow(&mut self, frame_bytes_max: usize) {
        self.frame_bytes_max = frame_bytes_max;
    }

    /// Takes bytes of the stream and tells how many; the rest waits until [`Framer::next`] has been
    /// drained. Takes at least one unless a frame is ready, the stream is broken, or `bytes` is empty.
    #[must_use = "the bytes that were not taken must be pushed again"]
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        if self.broken.is_some() {
            return 0;
        }
        let room = self.capacity().saturating_sub(self.pending.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.pending.extend_from_slice(taken);
        taken.len()
    }

    /// The next whole frame; `None` when it is not complete.
    ///
    /// The frame owns its bytes alone, so keeping a small one does not keep the stream's buffer.
    #[allow(clippy::should_implement_trait)] // An error is not an end, as it would be to an iterator.
    pub fn next(&mut self) -> Result<Option<Bytes>, FramingError> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        let Some(prefix) = self.pending.first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(*prefix);
        let len = match usize::try_from(len) {
            Ok(0) => return Err(self.broke(FramingError::ZeroLength)),
            Ok(len) if len <= self.frame_bytes_max => len,
            _ => {
                let max = self.frame_bytes_max;
                return Err(self.broke(FramingError::TooLarge { len: u64::from(len), max }));
            }
        };
        let Some(frame) = self.pending.get(PREFIX_BYTES..PREFIX_BYTES.saturating_add(len)) else {
            return Ok(None);
        };
        let frame = Bytes::copy_from_slice(frame);
        self.pending.advance(PREFIX_BYTES.saturating_add(len));
        if self.pending.is_empty() && self.pending.capacity() > IDLE_BYTES_MAX {
            self.pending = BytesMut::new();
        }
        Ok(Some(frame))
    }

    /// How many bytes wait for the rest of their frame.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The most that is ever pending: one frame and its prefix.
    fn capacity(&self) -> usize {
        self.frame_bytes_max.saturating_add(PREFIX_BYTES)
    }

    fn broke(&mut self, error: FramingError) -> FramingError {
        self.broken = Some(error);
        self.pending = BytesMut::new();
        error
    }
}

/// Appends a frame with its length before it.
pub fn prefix(frame: &[u8], out: &mut BytesMut) -> Result<(), FramingError> {
    if frame.is_empty() {
        return Err(FramingError::ZeroLength);
    }
    let len = u32::try_from(frame.len()).map_err(|_| FramingError::TooLarge {
        len: u64::try_from(frame.len()).unwrap_or(u64::MAX),
        max: u32::MAX as usize,
    })?;
    out.reserve(PREFIX_BYTES.saturating_add(frame.len()));
    out.put_u32(len);
    out.put_slice(frame);
    Ok(())
}

/// Why a stream is not frames. The connection cannot go on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingError {
    /// A frame of no bytes. No frame is empty.
    ZeroLength,
    /// A frame says it is longer than allowed. Nothing was allocated for it.
    TooLarge {
        /// How long it says it is.
        len: u64,
        /// How long it may be.
        max: usize,
    },
}

impl FramingError {
    /// The code with which the connection is closed.
    pub const fn close_code(&self) -> crate::v1::CloseCode {
        match self {
            FramingError::ZeroLength => crate::v1::CloseCode::Malformed,
            FramingError::TooLarge { .. } => crate::v1::CloseCode::TooLarge,
        }
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FramingError::ZeroLength => write!(f, "a frame has no bytes"),
            FramingError::TooLarge { len, max } => {
                write!(f, "a frame says it is {len} bytes long; at most {max} are allowed")
            }
        }
    }
}

impl std::error::Error for FramingError {}

/// A stream with nothing pending keeps no larger buffer than this: many connections are quiet, and
/// one large message an hour ago should not cost them 64 KiB each for the rest of their lives.
const IDLE_BYTES_MAX: usize = 4_096;

#[cfg(test)]
mod tests;
