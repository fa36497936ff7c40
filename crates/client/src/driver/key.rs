//! The player's key: 32 secret bytes that are made once and kept. Shows them to its storage only.

use std::fmt;
use std::io;
use std::sync::Arc;

use ed25519_dalek::{Signer as _, SigningKey};

use super::storage::{Slot, Storage};
use crate::identity::{Secret, Signer};

/// An Ed25519 key. Whoever has it is the player, on every server. Clones share its bytes, which are
/// wiped with the last of them.
#[derive(Clone)]
pub struct Key(Arc<SigningKey>);

impl Key {
    /// A new key.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn generate() -> io::Result<Self> {
        chance().map(|seed| Self::from_seed(&Secret::new(seed)))
    }

    /// The key that a storage holds; where it holds none, a new one that is stored at once.
    ///
    /// # Errors
    /// When a key is there and cannot be used (it is never replaced), or a new one cannot be stored.
    pub fn load_or_create(storage: &dyn Storage) -> io::Result<Self> {
        if let Some(key) = Self::load(storage)? {
            return Ok(key);
        }
        let key = Self::generate()?;
        key.store(storage)?;
        Ok(key)
    }

    /// The key that these secret bytes are.
    #[must_use]
    pub fn from_seed(seed: &Secret) -> Self {
        Self(Arc::new(SigningKey::from_bytes(seed.expose())))
    }

    /// The secret bytes, for a store of the game's own. They belong in no log.
    #[must_use]
    pub fn seed(&self) -> Secret {
        Secret::new(self.0.to_bytes())
    }

    pub(super) fn load(storage: &dyn Storage) -> io::Result<Option<Self>> {
        let Some(bytes) = storage.load(Slot::Key)? else {
            return Ok(None);
        };
        let seed = Secret::from_slice(&bytes).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a key is 32 bytes; this is not one")
        })?;
        Ok(Some(Self::from_seed(&seed)))
    }

    pub(super) fn store(&self, storage: &dyn Storage) -> io::Result<()> {
        storage.store(Slot::Key, self.seed().expose())
    }
}

impl Signer for Key {
    fn public_key(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    fn sign(&self, text: &[u8]) -> [u8; 64] {
        self.0.sign(text).to_bytes()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// 32 bytes that nobody can guess.
pub(super) fn chance() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
