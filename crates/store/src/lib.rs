//! Where scopes are kept.
//!
//! A store applies whole batches or nothing, checks the owner's epoch and the revision where it
//! writes, and raises the owner's epoch whenever a scope is opened: whoever had it before can write
//! nothing any more. [`memory::Memory`] keeps everything for as long as the process lives.

pub mod memory;

use std::fmt;

use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Opened, ScopeId};

pub use memory::Memory;

/// Why a batch was not applied. Nothing of it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another owner has opened the scope since.
    Fenced {
        /// Who owns it.
        owner: OwnerEpoch,
    },
    /// The scope stands at another revision than the batch builds on: its writer has a bug, or the
    /// batch had been applied before.
    OutOfOrder {
        /// Where it stands.
        revision: Revision,
    },
    /// A value is larger than a row may be.
    TooLarge {
        /// How large.
        bytes: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced { owner } => write!(f, "the scope belongs to owner {owner} now"),
            Self::OutOfOrder { revision } => write!(f, "the scope stands at revision {revision}"),
            Self::TooLarge { bytes } => write!(f, "a value of {bytes} bytes does not fit in a row"),
        }
    }
}

impl std::error::Error for Refused {}

/// The contract of every store.
pub trait Store {
    /// Opens a scope for a new owner, making it if there is none. Earlier owners are fenced.
    fn open(&mut self, scope: ScopeId) -> Opened;

    /// Applies a batch, whole or not at all.
    ///
    /// # Errors
    /// Says why nothing was applied.
    fn apply(&mut self, batch: &Batch) -> Result<(), Refused>;

    /// All scopes there are, in order.
    fn scopes(&self) -> Vec<ScopeId>;
}
