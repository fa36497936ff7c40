//! Fingerprints: how a store knows that a row is the one that was written, and a batch the one that
//! came before. They guard against accidents of disks and bugs, not against somebody who writes into
//! the folder.

use rejoin_core::id::Revision;
use rejoin_core::scope::{Batch, Change};

/// 64 bits of BLAKE3: among a billion rows a damaged one passes with a chance of 1 in 10^10.
pub type Print = u64;

/// The fingerprint of a row. It covers scope, key, revision and value, so that a row in the place of another
/// does not match.
#[must_use]
pub fn of_row(scope: &[u8], key: &[u8], revision: Revision, value: &[u8]) -> Print {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(scope.len() as u64).to_le_bytes());
    hasher.update(scope);
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(&revision.0.to_le_bytes());
    hasher.update(value);
    first(&hasher)
}

/// The fingerprint of a batch, without its scope, owner and revision.
#[must_use]
pub fn of_batch(batch: &Batch) -> Print {
    let mut hasher = blake3::Hasher::new();
    let mut part = |tag: u8, bytes: &[u8]| {
        hasher.update(&[tag]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for change in &batch.changes {
        match change {
            Change::Put(key, value) => {
                part(1, key);
                part(2, value);
            }
            Change::Delete(key) => part(3, key),
            Change::DeletePrefix(prefix) => part(4, prefix),
        }
    }
    if batch.delete_scope {
        part(5, &[]);
    }
    first(&hasher)
}

/// The fingerprint of some bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> Print {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes);
    first(&hasher)
}

pub(crate) fn first(hasher: &blake3::Hasher) -> Print {
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
