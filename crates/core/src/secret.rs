//! Secrets and their hashes. A [`Secret`] has no `Debug` and no equality: it can be hashed, shown
//! to its owner once, and nothing else. What is stored is a [`SecretHash`].
//!
//! Got wrong, an attacker who reads a log, a row or a response time can speak for a player.

use crate::chance::Chance;

/// 256 bits that prove something to us: a resume token, a guest secret, a challenge.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Draws a new one.
    pub fn mint(chance: &mut Chance) -> Self {
        Self(chance.bytes())
    }

    /// Reads one from the wire; any other length than 32 is none.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes, for the one frame that shows them to their owner.
    #[must_use]
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// What is stored instead of the secret.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        SecretHash(blake3::derive_key("rejoin secret hash v1", &self.0))
    }
}

/// The hash of a secret.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Reads one from a row.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes for a row.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are of the same secret, in a time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        // blake3::Hash compares in constant time.
        blake3::Hash::from_bytes(self.0) == blake3::Hash::from_bytes(other.0)
    }
}
