//! A storage that lasts as long as the process: for tests, for bots, and for games that keep keys in
//! a store of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Slot, Storage};

/// A storage in memory. Clones share what they hold.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<BTreeMap<Slot, Vec<u8>>>>);

impl Memory {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A map is whole between any two of its calls, so a panic elsewhere does not spoil it.
    fn slots(&self) -> MutexGuard<'_, BTreeMap<Slot, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Memory {
    fn load(&self, slot: Slot) -> io::Result<Option<Vec<u8>>> {
        Ok(self.slots().get(&slot).cloned())
    }

    fn store(&self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        self.slots().insert(slot, bytes.to_vec());
        Ok(())
    }

    fn forget(&self, slot: Slot) -> io::Result<()> {
        self.slots().remove(&slot);
        Ok(())
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory(..)")
    }
}
