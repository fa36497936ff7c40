//! What the book says about who is there and what the hub has kept, at any moment and at rest.

use rejoin_core::id::PlayerId;

use super::{AccountBook, Found, OLD, TRUE, Tried};

impl AccountBook {
    /// Judges who is there: a session that an order has ended, and one of a locked account, is not.
    #[must_use]
    pub fn check_live(&self, mut live: impl Iterator<Item = (u64, PlayerId)>) -> Option<Found> {
        let locked = |player: PlayerId| {
            self.entries.iter().find(|entry| entry.is_locked && entry.player == Some(player))
        };
        live.find_map(|(session, player)| match (self.dead.get(&session), locked(player)) {
            (Some(checker), _) => {
                Some((*checker, format!("session {session} goes on, and an order has ended it")))
            }
            (None, Some(entry)) => {
                Some((TRUE, format!("session {session} goes on, and {:?} is locked", entry.holder)))
            }
            (None, None) => None,
        })
    }

    /// Judges who is left once faults have stopped: none of the sessions that an order has ended.
    #[must_use]
    pub fn check_left(&self, mut all: impl Iterator<Item = u64>) -> Option<Found> {
        all.find_map(|session| {
            let checker = self.dead.get(&session)?;
            Some((*checker, format!("session {session} is still there, and an order has ended it")))
        })
    }

    /// Whether there is anything that `check_live` could find.
    #[must_use]
    pub fn judges_live(&self) -> bool {
        !self.dead.is_empty() || self.entries.iter().any(|entry| entry.is_locked)
    }

    /// Judges an account as the hub has it: its keys were linked with its present password.
    #[must_use]
    pub fn check_row(&self, account: usize, password: u64, keys: &[PlayerId]) -> Option<Found> {
        let entry = &self.entries[account];
        if password < entry.floor {
            let text = format!("{:?} has password {password} again", entry.holder);
            return Some((OLD, text));
        }
        let is_linked = |key: &PlayerId| {
            let fits = |tried: &Tried| {
                (tried.account, tried.password, tried.key) == (account, Some(password), *key)
            };
            self.tried.iter().any(fits)
        };
        let key = keys.iter().find(|key| !is_linked(key))?;
        let text = format!(
            "{:?} has key {key}, which no login with password {password} has linked",
            entry.holder
        );
        Some((OLD, text))
    }
}
