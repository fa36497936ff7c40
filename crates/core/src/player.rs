//! Players: what is kept of one beyond its sessions, and all of them together. A player is an identity; it may
//! have no session, one or several. Bans are the player's, so that an account and a guest are kept out alike.

mod core;
mod login;
mod row;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use self::core::{Ban, PlayerOutput};
pub(crate) use self::login::{Findable, LoginChoice};
pub(crate) use self::table::{GuestLimits, Players};
