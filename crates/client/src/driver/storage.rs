//! Where a player keeps what leads back: its key, its guest secret and its resume token. The
//! contract, and the two implementations that come with it.

mod folder;
mod memory;

use std::fmt;
use std::io;

pub use folder::Folder;
pub use memory::Memory;

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The secret bytes of the player's key.
    Key,
    /// The guest secret that the server minted.
    Secret,
    /// The session and its resume token.
    Session,
    /// The key that the server showed, where the transport is encrypted by it.
    ServerKey,
}

impl Slot {
    /// All slots, for an implementation that lists or clears what it keeps for a player.
    pub const ALL: [Slot; 4] = [Slot::Key, Slot::Secret, Slot::Session, Slot::ServerKey];

    /// Its name, for files and for keys of a store.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Slot::Key => "key",
            Slot::Secret => "secret",
            Slot::Session => "session",
            Slot::ServerKey => "server-key",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Keeps a few hundred bytes a slot for the next start of the program. Calls may block; they run
/// where that hurts nobody, one after the other for one player.
///
/// An attacker who reads what is stored is the player: with the key for ever, with the token until
/// the session ends. An implementation keeps others of the same machine out, and writes a slot
/// whole or not at all: half a key is a lost player.
pub trait Storage: Send + Sync {
    /// What was stored last; none if nothing was, or it was forgotten.
    ///
    /// # Errors
    /// When there may be something and it cannot be read.
    fn load(&self, slot: Slot) -> io::Result<Option<Vec<u8>>>;

    /// Stores this instead of what was there. When it returns, the bytes survive a crash.
    ///
    /// # Errors
    /// When they do not; what was there before still is.
    fn store(&self, slot: Slot, bytes: &[u8]) -> io::Result<()>;

    /// Forgets what was stored; nothing stored is no error.
    ///
    /// # Errors
    /// When it is still there.
    fn forget(&self, slot: Slot) -> io::Result<()>;
}
