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

    /// Draws one that can be known again without being kept: 128 bits are drawn, the others are a
    /// code over them that only the holder of the key can make.
    pub fn mint_under(key: &[u8; 32], chance: &mut Chance) -> Self {
        let drawn: [u8; 16] = chance.bytes();
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&drawn);
        bytes[16..].copy_from_slice(&code(key, &drawn).as_bytes()[..16]);
        Self(bytes)
    }

    /// Whether it was minted under this key, in a time that does not depend on where it differs.
    #[must_use]
    pub fn is_minted_under(&self, key: &[u8; 32]) -> bool {
        let (drawn, shown) = self.0.split_at(16);
        let (mut wanted, mut padded) = ([0; 32], [0; 32]);
        wanted[..16].copy_from_slice(&code(key, drawn).as_bytes()[..16]);
        padded[..16].copy_from_slice(shown);
        // blake3::Hash compares in constant time.
        blake3::Hash::from_bytes(wanted) == blake3::Hash::from_bytes(padded)
    }

    /// One that was made of drawn bytes.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
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

fn code(key: &[u8; 32], drawn: &[u8]) -> blake3::Hash {
    blake3::keyed_hash(key, drawn)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_minted_under_a_key_is_known_by_it_and_by_no_other() {
        let mut chance = Chance::from_seed([1; 32]);
        let secret = Secret::mint_under(&[7; 32], &mut chance);
        assert!(secret.is_minted_under(&[7; 32]) && !secret.is_minted_under(&[8; 32]));
        for bit in 0..256 {
            let mut bytes = *secret.reveal();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!Secret(bytes).is_minted_under(&[7; 32]), "bit {bit}");
        }
        assert!(!Secret::mint(&mut chance).is_minted_under(&[7; 32]));
    }
}
