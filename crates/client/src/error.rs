//! What goes wrong: on the game's side, a send that is not taken; on the server's, a frame that may
//! not be. Neither ends the client.

use std::fmt;

use rejoin_wire::DecodeError;
use rejoin_wire::v1::CloseCode;

/// Why a send was not taken. Nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The buffer is full: the server has not acknowledged enough. Send less, or later.
    Full,
    /// Too many requests have not ended.
    TooManyRequests,
    /// The payload or a name is over its limit.
    TooLarge {
        /// What is too long.
        field: &'static str,
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// A latest value needs a key.
    EmptyKey,
    /// Unreliable messages are not kept, and there is no connection.
    NotConnected,
    /// The player is leaving: nothing comes after that.
    Leaving,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full => write!(f, "the send buffer is full"),
            SendError::TooManyRequests => write!(f, "too many requests are open"),
            SendError::TooLarge { field, len, max } => {
                write!(f, "{field} is {len} long; at most {max} is allowed")
            }
            SendError::EmptyKey => write!(f, "a latest value needs a key"),
            SendError::NotConnected => write!(f, "there is no connection"),
            SendError::Leaving => write!(f, "the player is leaving"),
        }
    }
}

impl std::error::Error for SendError {}

/// What a server did that it may not. The connection is closed and the client comes back; it does
/// not go on from a position that the server contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The bytes are not a frame, or one over its limits.
    Undecodable(DecodeError),
    /// A frame came that may not stand where the connection is.
    OutOfState,
    /// A welcome on no rung, for another session than was asked for, or of an epoch gone by.
    BadWelcome,
    /// A leg went backwards, or a replay starts in another leg than the client's.
    LegBackwards {
        /// The leg that was named.
        leg: u64,
    },
    /// More was acknowledged than was ever sent.
    AppliedAhead {
        /// What was acknowledged.
        applied: u64,
    },
    /// Less is acknowledged than before, and what is between is gone.
    AppliedBehind {
        /// What was acknowledged.
        applied: u64,
    },
}

impl Violation {
    /// The code with which the connection is closed.
    #[must_use]
    pub const fn close_code(&self) -> CloseCode {
        match self {
            Violation::Undecodable(error) => error.close_code(),
            Violation::AppliedAhead { .. } | Violation::AppliedBehind { .. } => {
                CloseCode::NumberGap
            }
            Violation::OutOfState | Violation::BadWelcome | Violation::LegBackwards { .. } => {
                CloseCode::OutOfState
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Undecodable(error) => error.fmt(f),
            Violation::OutOfState => write!(f, "the frame may not stand here"),
            Violation::BadWelcome => write!(f, "the welcome does not answer the hello"),
            Violation::LegBackwards { leg } => write!(f, "leg {leg} does not follow"),
            Violation::AppliedAhead { applied } => write!(f, "{applied} was never sent"),
            Violation::AppliedBehind { applied } => write!(f, "{applied} is less than before"),
        }
    }
}

impl std::error::Error for Violation {}

impl From<DecodeError> for Violation {
    fn from(error: DecodeError) -> Self {
        Violation::Undecodable(error)
    }
}
