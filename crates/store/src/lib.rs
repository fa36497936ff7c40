//! Where scopes are kept.
//!
//! A store applies whole batches or nothing, checks the owner's epoch and the revision where it
//! writes, and raises the owner's epoch whenever a scope is opened: whoever had it before can write
//! nothing any more. [`memory::Memory`] keeps everything for as long as the process lives,
//! `embedded::Embedded` in a folder. All stores pass one suite, `contract`.

#[cfg(feature = "contract")]
pub mod contract;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "contract")]
pub mod faulty;
pub mod memory;
pub mod outcome;
#[cfg(all(feature = "contract", feature = "embedded"))]
pub mod platter;
pub mod print;

use rejoin_core::scope::{Batch, Opened, ScopeId};

#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use memory::Memory;
pub use outcome::{Damaged, Outcome, StoreError};

/// The kinds of scope, to list them by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ScopeKind {
    /// The hub's own.
    Hub,
    /// One scope for each session: its epoch, tokens, hold, place and outbox.
    Session,
    /// One scope for each zone: its state, members, latest values and outboxes.
    Zone,
    /// One scope for each player of whom something is kept: the hash of a guest secret, a ban.
    Player,
    /// The directory's fleets and aliases.
    Catalogue,
    /// One scope for each Game, with its seats.
    Game,
    /// One scope for each host: its lease and the Games it runs.
    Host,
    /// One scope for each queue, with its placements.
    Queue,
    /// One scope for each account: its name, the hash of its password, its player and its keys.
    Account,
}

impl ScopeKind {
    /// All of them, in the order in which scopes are listed.
    pub const ALL: [Self; 9] = [
        Self::Hub,
        Self::Session,
        Self::Zone,
        Self::Player,
        Self::Catalogue,
        Self::Game,
        Self::Host,
        Self::Queue,
        Self::Account,
    ];

    /// The kind of a scope.
    #[must_use]
    pub fn of(scope: ScopeId) -> Self {
        match scope {
            ScopeId::Hub => Self::Hub,
            ScopeId::Session(_) => Self::Session,
            ScopeId::Zone(_) => Self::Zone,
            ScopeId::Player(_) => Self::Player,
            ScopeId::Catalogue => Self::Catalogue,
            ScopeId::Game(_) => Self::Game,
            ScopeId::Host(_) => Self::Host,
            ScopeId::Queue(_) => Self::Queue,
            ScopeId::Account(_) => Self::Account,
        }
    }
}

/// The contract of every store. A store belongs to one process at a time, the one that opened it.
pub trait Store {
    /// Opens scopes for a new owner, making those that there are not. Earlier owners are fenced, also those
    /// of a scope of the same name that was deleted or set aside: its next life begins above their epochs.
    /// A scope that is damaged is set aside as it was found and reported, and the others are opened.
    ///
    /// # Errors
    /// Nothing can be opened; nothing was.
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError>;

    /// Commits many batches at once. Each is applied whole or not at all, in this order within a
    /// scope, and one that is refused leaves the others alone. There is one outcome for each batch,
    /// in the order of the batches. What ends [`Outcome::Committed`] is durable.
    ///
    /// A batch that comes again from its owner changes nothing and is told to be committed.
    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome>;

    /// All scopes there are, or those of a kind, in order.
    ///
    /// # Errors
    /// The store cannot be read.
    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError>;

    /// Scopes that were damaged and set aside, now or at an earlier opening.
    ///
    /// # Errors
    /// The store cannot be read.
    fn set_aside(&self) -> Result<Vec<ScopeId>, StoreError> {
        Ok(Vec::new())
    }

    /// Why nothing is committed any more, for people; none while all is well.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Opens one scope.
    ///
    /// # Errors
    /// It cannot be opened, or is damaged.
    fn open_one(&mut self, scope: ScopeId) -> Result<Opened, StoreError> {
        match self.open(&[scope])?.pop() {
            Some(Ok(opened)) => Ok(opened),
            Some(Err(damaged)) => Err(StoreError::Damaged(damaged)),
            None => Err(StoreError::Unreadable("the store gave no answer".to_owned())),
        }
    }

    /// Commits one batch.
    fn apply(&mut self, batch: &Batch) -> Outcome {
        self.commit(std::slice::from_ref(batch)).pop().unwrap_or(Outcome::Unknown)
    }
}
