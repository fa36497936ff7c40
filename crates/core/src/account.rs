//! Accounts: a name that a person remembers, or what another service calls that person, and the
//! player that belongs to it. Keys and guest secrets can belong to an account as well: whoever shows
//! one is its player. Passwords come here as hashes only, and who has proven one is told from outside.
//!
//! Bans are the player's, not the account's: they are kept and read where guests have theirs.

mod core;
mod row;
mod table;

use std::fmt;

use crate::id::{AccountId, PlayerId};
use crate::mark::{Mark, hit};
use crate::time::WallTime;

pub(crate) use self::core::AccountOutput;
pub(crate) use self::table::Accounts;

/// The shortest and the longest name, in characters, which are bytes.
pub const NAME_BYTES: (usize, usize) = (3, 32);
/// Keys and guest secrets that one account can have.
pub const KEYS_MAX: usize = 16;
/// The longest issuer and the longest subject of another service.
pub const SUBJECT_BYTES_MAX: usize = 255;
/// The longest reason of a ban, in characters: it fits into a refusal, whatever the alphabet.
pub const REASON_CHARS_MAX: usize = 100;

/// A name as accounts have it: 3 to 32 letters and digits of ASCII, dots, hyphens and underscores, of
/// which the first is a letter or a digit. Capitals are the same as small letters. No other alphabet:
/// two names that look alike are two persons who can be mistaken for each other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(String);

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// It is none; what is wrong with it, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (shortest, longest) = NAME_BYTES;
        if !(shortest..=longest).contains(&text.len()) {
            return Err("a name has 3 to 32 characters");
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if !text.chars().all(is_plain) {
            return Err("a name has letters from a to z, digits, dots, hyphens and underscores");
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err("a name begins with a letter or a digit");
        }
        if PlayerId::from_hex(text).is_some() {
            return Err("a name is not 32 hexadecimal digits: that is a player's id");
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// In small letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose account it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    /// A name, with a password once one is set.
    Name(Name),
    /// A person known by the tokens of another service.
    Subject {
        /// The `iss` of its tokens, 1 to [`SUBJECT_BYTES_MAX`] bytes.
        issuer: String,
        /// The `sub` of its tokens, under the same bound.
        subject: String,
    },
}

impl Holder {
    /// The account's id.
    #[must_use]
    pub fn id(&self) -> AccountId {
        match self {
            Self::Name(name) => AccountId::of_name(name.as_str()),
            Self::Subject { issuer, subject } => AccountId::of_subject(issuer, subject),
        }
    }
}

/// What an account may do, as permissions of its sessions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Role {
    /// The default, with no permission bits. A row with an unknown role is read as this one.
    #[default]
    Player,
    /// Keeps order among players.
    Moderator,
    /// The permission bits of a moderator, and bit 1.
    Admin,
}

impl Role {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Player, Self::Moderator, Self::Admin];

    /// The bits of a session's permissions: a higher role has those of the lower ones.
    #[must_use]
    pub fn permissions(self) -> u32 {
        match self {
            Self::Player => 0,
            Self::Moderator => 1,
            Self::Admin => 3,
        }
    }

    /// As people write it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Moderator => "moderator",
            Self::Admin => "admin",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.label() == label)
    }
}

/// What becomes of a guest's key at a login to an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// The guest stays the same player: the account takes this player for its own. Only for an account
    /// that nobody has played with.
    Bring,
    /// The key belongs to the account's player from now on; the player that the guest was is left.
    Join,
}

impl Link {
    /// Reads the word that clients write.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        match label {
            "bring" => Some(Self::Bring),
            "join" => Some(Self::Join),
            _ => None,
        }
    }
}

/// What is kept of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// The name or foreign subject that logs in to it. The account's id is derived from this.
    pub holder: Holder,
    /// The hash of the password, in the form that its verifier reads; none: there is no login by one.
    pub password: Option<String>,
    /// Drawn when the account is made and raised with every password, so that what was proven by the
    /// last one, or to an account of the same name that was deleted, is worth nothing.
    pub version: u32,
    /// Gives the permissions of its player's sessions.
    pub role: Role,
    /// Every login to it is refused.
    pub locked: bool,
    /// It is being deleted; no other change is taken.
    pub leaving: bool,
    /// The player that its logins get. Only its first login may replace it, see [`Link::Bring`].
    pub player: PlayerId,
    /// It has been logged in to, so its player can no longer be replaced.
    pub used: bool,
    /// Keys and guest secrets that belong to it, by the player that each would be alone.
    pub keys: Vec<PlayerId>,
    /// When it was made, by the wall clock of the server that made it.
    pub created: WallTime,
}

/// Without the hash.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({:?}, {})", self.holder, self.player)
    }
}

/// A change of an account.
#[derive(Clone, PartialEq, Eq)]
pub enum Change {
    /// There is this one from now on.
    Create(Box<Account>),
    /// This is the hash of its password. Keys have to be linked again: whoever knew the old password
    /// may have linked one.
    Password(String),
    /// Nobody is let in, or they are again.
    Lock(bool),
    /// This is its role from now on.
    SetRole(Role),
    /// Somebody logs in, and may have a key linked.
    Use {
        /// The version of the account to which it was proven; with another it is refused.
        version: u32,
        /// The key to link.
        link: Option<(PlayerId, Link)>,
    },
    /// It is about to be deleted.
    Retire,
}

/// Names the variant only: a change may carry the hash of a password.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create(_) => "Create",
            Self::Password(_) => "Password",
            Self::Lock(true) => "Lock",
            Self::Lock(false) => "Unlock",
            Self::SetRole(_) => "SetRole",
            Self::Use { .. } => "Use",
            Self::Retire => "Retire",
        })
    }
}

/// Why an account is not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is none.
    Unknown,
    /// There is one already.
    Exists,
    /// There are as many as there may be.
    Full,
    /// Too many changes wait for the store.
    Busy,
    /// It is being deleted.
    Leaving,
    /// It is locked.
    Locked,
    /// It has another password than the one that was proven, or is another account of the same name.
    Outdated,
    /// Somebody has played with it, so it cannot take another player.
    InUse,
    /// The key belongs to another account, or is another account's player.
    KeyTaken,
    /// It has as many keys as it may.
    KeysFull,
    /// It has sessions that only a server can end.
    SessionsElsewhere,
    /// There is no account: a guest cannot be locked, nor have a role or a password.
    Guest,
    /// A ban that is over already, by the clock of whoever would have to keep it.
    BanOver,
}

impl Refusal {
    /// A word for programs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Exists => "exists",
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Leaving => "leaving",
            Self::Locked => "locked",
            Self::Outdated => "outdated",
            Self::InUse => "in_use",
            Self::KeyTaken => "key_taken",
            Self::KeysFull => "keys_full",
            Self::SessionsElsewhere => "sessions_elsewhere",
            Self::Guest => "guest",
            Self::BanOver => "ban_over",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "there is no such player",
            Self::Exists => "the name is taken",
            Self::Full => "there are as many accounts as there may be",
            Self::Busy => "too many changes of this account wait; try again in a moment",
            Self::Leaving => "the account is being deleted",
            Self::Locked => "this account is locked",
            Self::Outdated => "the account has changed since the login began",
            Self::InUse => "the account has a player of its own; log in to it without bringing one",
            Self::KeyTaken => "this key belongs to another account",
            Self::KeysFull => "the account has as many keys as it may; a new password clears them",
            Self::SessionsElsewhere => "a guest has sessions to end: delete it while a server runs",
            Self::Guest => "this player has no account; a guest can be banned and deleted",
            Self::BanOver => {
                "this ban is over already by the server's own clock; look at the clocks of both machines, or ban \
                 for longer"
            }
        })
    }
}

impl Account {
    /// What an account is after a change.
    pub(crate) fn changed(known: Option<&Self>, change: &Change) -> Result<Self, Refusal> {
        if let Change::Create(new) = change {
            return if known.is_some() { Err(Refusal::Exists) } else { Ok((**new).clone()) };
        }
        let mut next = known.cloned().ok_or(Refusal::Unknown)?;
        if next.leaving && !matches!(change, Change::Retire) {
            return Err(Refusal::Leaving);
        }
        match change {
            Change::Create(_) => {}
            Change::Password(hash) => {
                next.password = Some(hash.clone());
                next.version = next.version.wrapping_add(1);
                next.keys.clear();
            }
            Change::Lock(locked) => next.locked = *locked,
            Change::SetRole(role) => next.role = *role,
            Change::Use { version, .. } if *version != next.version => {
                return Err(Refusal::Outdated);
            }
            Change::Use { .. } if next.locked => return Err(Refusal::Locked),
            Change::Use { link, .. } => next.use_with(*link)?,
            Change::Retire => {
                next.leaving = true;
                next.locked = true;
            }
        }
        Ok(next)
    }

    fn use_with(&mut self, link: Option<(PlayerId, Link)>) -> Result<(), Refusal> {
        if let Some((key, how)) = link {
            if how == Link::Bring && self.player != key {
                if self.used {
                    return Err(Refusal::InUse);
                }
                self.player = key;
            }
            hit(if how == Link::Bring { Mark::KeyBrought } else { Mark::KeyJoined });
            if !self.keys.contains(&key) {
                if self.keys.len() >= KEYS_MAX {
                    return Err(Refusal::KeysFull);
                }
                self.keys.push(key);
            }
        }
        self.used = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
