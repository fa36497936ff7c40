//! What commits together, and how a machine asks for it. A scope is owned by one process at a
//! time: every batch names the owner's epoch and the revision it builds on, and the place that is
//! written checks both. Indexes and views are never scopes; they are rebuilt.
//!
//! Here is only the shape of a batch. Stores live elsewhere and pass one contract suite.

use bytes::Bytes;

use crate::id::{
    AccountId, GameId, HostId, OwnerEpoch, PlayerId, QueueId, Revision, SessionId, ZoneId,
};

/// The name of a scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ScopeId {
    /// The hub's own counters: which session ids have been given out.
    Hub,
    /// One session: epoch, tokens, hold, stay, place, outbox, timeline.
    Session(SessionId),
    /// One zone: state, applied numbers, ring, outboxes, latest values, members.
    Zone(ZoneId),
    /// One player: the hash of a guest secret, bans.
    Player(PlayerId),
    /// The directory's fleets and aliases.
    Catalogue,
    /// One Game with its seats.
    Game(GameId),
    /// One host: its lease, and the Games it runs.
    Host(HostId),
    /// One queue with its placements.
    Queue(QueueId),
    /// One account: its name, the hash of its password, its player and the keys that belong to it.
    Account(AccountId),
}

impl ScopeId {
    /// Whether the directory owns it; all others are the hub's and its zones'.
    #[must_use]
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Catalogue | Self::Game(_) | Self::Host(_) | Self::Queue(_))
    }
}

/// The largest value a row may hold.
pub const ROW_BYTES_MAX: usize = 1 << 20;

/// One change of one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The row has this value from now on; at most [`ROW_BYTES_MAX`].
    Put(Bytes, Bytes),
    /// The row is gone.
    Delete(Bytes),
    /// All rows whose key starts so are gone.
    DeletePrefix(Bytes),
}

impl Change {
    /// How many bytes it carries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Put(key, value) => key.len() + value.len(),
            Self::Delete(key) | Self::DeletePrefix(key) => key.len(),
        }
    }
}

/// One cut of one scope: all of its changes, in order, or none.
///
/// A batch whose `revision` is 1 creates its scope when there is none yet, owned by `owner`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// What is written.
    pub scope: ScopeId,
    /// Who writes. A store that knows a higher owner answers that the batch is fenced.
    pub owner: OwnerEpoch,
    /// The revision after this batch; the scope must stand one below.
    pub revision: Revision,
    /// What changes, applied in this order.
    pub changes: Vec<Change>,
    /// The scope is deleted with this batch, once its changes are in.
    pub delete_scope: bool,
}

/// A row that a restored backup adds to the scopes of the hub and of sessions. Their owner deletes it once nobody
/// can be misled any more by what was committed after the backup and is gone.
pub const RESTORED: &[u8] = b"restored";

/// Whether a scope holds all that was ever committed to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum History {
    /// Nothing is known to be missing.
    #[default]
    Whole,
    /// It was put back to an earlier state: numbers that were given out since may be given out again.
    RolledBack,
}

/// A scope as it was found when it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opened {
    /// The epoch that the opening raised.
    pub owner: OwnerEpoch,
    /// The last revision that is committed.
    pub revision: Revision,
    /// All rows in the order of their keys.
    pub rows: Vec<(Bytes, Bytes)>,
}

impl Opened {
    /// Whether a backup was restored since its owner last took that into account.
    #[must_use]
    pub fn history(&self) -> History {
        match self.rows.iter().any(|(key, _)| key == RESTORED) {
            true => History::RolledBack,
            false => History::Whole,
        }
    }
}
