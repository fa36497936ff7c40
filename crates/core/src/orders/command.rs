//! What operators can order of players and accounts.

use crate::account::{Name, Role};
use crate::id::PlayerId;
use crate::time::WallTime;

/// A player, as people name one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whom {
    /// By the name of an account.
    Name(Name),
    /// By the player's id.
    Player(PlayerId),
}

/// What operators do with players.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayerCommand {
    /// Make an account.
    Add {
        /// The name to log in with; one that is taken is refused as `Exists`.
        name: Name,
        /// Its first role, which `SetRole` may change.
        role: Role,
        /// The hash of its password; none: nobody can log in by password yet.
        password: Option<PasswordHash>,
    },
    /// Give an account another password. Its sessions end, and keys have to be linked again.
    SetPassword(Whom, PasswordHash),
    /// Let nobody in, and end the sessions; or let them in again.
    Lock(Whom, bool),
    /// Say what an account may do.
    SetRole(Whom, Role),
    /// Keep a player out until then, for this reason, and end the sessions.
    Ban(Whom, WallTime, String),
    /// Let a player in again.
    Unban(Whom),
    /// Delete an account, and what is kept of a guest. A ban stays until it ends.
    Delete(Whom),
}

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

/// Prints the name of the type only: the hash must not get into a log.
impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash")
    }
}
