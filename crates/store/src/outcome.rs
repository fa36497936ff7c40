//! How a batch ends, and why a store could not be asked.

use std::fmt;

use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::ScopeId;

/// How a batch ended. Only a committed one counts; of all others nothing was applied, except that
/// nobody knows for [`Outcome::Unknown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is applied and durable.
    Committed,
    /// Another owner has opened the scope since. The writer is done for.
    Fenced {
        /// The epoch of the owner that opened the scope last.
        owner: OwnerEpoch,
    },
    /// There is no room. Submit it again when there is.
    Full,
    /// It may have been applied or not. Submitting it again is safe, and tells.
    Unknown,
    /// A sync has failed: what the disk holds is not known, and nothing is committed any more. The
    /// process must end and start from what it finds.
    Poisoned,
    /// The scope stands at another revision than the batch builds on: its writer has a bug.
    OutOfOrder {
        /// The newest revision of the scope; the next batch must bring the one after it.
        revision: Revision,
    },
    /// A value is larger than a row may be: its writer has a bug.
    TooLarge {
        /// The length of the largest value in the batch; up to `ROW_BYTES_MAX` is allowed.
        bytes: usize,
    },
}

impl Outcome {
    /// Whether the same batch may be committed if it is submitted again.
    #[must_use]
    pub fn is_worth_another_try(self) -> bool {
        matches!(self, Self::Full | Self::Unknown)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committed => f.write_str("committed"),
            Self::Fenced { owner } => write!(f, "the scope belongs to owner {owner} now"),
            Self::Full => f.write_str("there is no room"),
            Self::Unknown => f.write_str("nobody knows whether it was applied"),
            Self::Poisoned => f.write_str("a sync failed, nothing is committed any more"),
            Self::OutOfOrder { revision } => write!(f, "the scope stands at revision {revision}"),
            Self::TooLarge { bytes } => write!(f, "a value of {bytes} bytes does not fit in a row"),
        }
    }
}

/// A scope whose rows are not what was written. It was set aside as it was found, unless it is the
/// hub's own: without that one no session id could be given out, so whoever opens it must refuse to go
/// on, every time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The scope whose rows are damaged; [`ScopeId::Hub`] is the one that is never set aside.
    pub scope: ScopeId,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            ScopeId::Hub => write!(f, "the hub's own rows are damaged: {}", self.why),
            scope => write!(f, "{scope:?} is damaged and was set aside: {}", self.why),
        }
    }
}

/// Why a store could not be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// The one scope that was asked for is damaged.
    Damaged(Damaged),
    /// There is no room for what opening writes.
    Full,
    /// A sync has failed: see [`Outcome::Poisoned`].
    Poisoned,
    /// What is kept cannot be read: why.
    Unreadable(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(damaged) => damaged.fmt(f),
            Self::Full => f.write_str("the disk is full"),
            Self::Poisoned => f.write_str("a sync failed, nothing is committed any more"),
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}
