//! The names of things. Each is its own type, so that a connection cannot be passed for a session
//! nor one epoch for the other. Ids carry no authority: who may do what is decided by secrets and
//! epochs, never by knowing an id.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number! {
    /// One live transport link. Never reused, worthless after its close.
    ConnectionId
}
number! {
    /// A player's presence on the service. Positive, public, never reused.
    SessionId
}
number! {
    /// A running zone, derived from its kind and name.
    ZoneId
}
number! {
    /// An object of a zone that a player can own.
    ObjectId
}
number! {
    /// Which connection may speak for a session: every takeover raises it.
    SessionEpoch
}
number! {
    /// Which process may write a scope: every opening raises it.
    OwnerEpoch
}
number! {
    /// How many cuts a scope has seen.
    Revision
}
number! {
    /// An open question to a peer.
    CallId
}
number! {
    /// A piece of outside work that a zone has asked for.
    JobId
}

impl SessionEpoch {
    /// The epoch after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Revision {
    /// The revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CallId {
    /// Calls of the hub are told from those of a zone by this bit: a session's calls come from both.
    pub const HUB: u64 = 1 << 63;

    /// Whether the hub opened it.
    #[must_use]
    pub fn is_hub(self) -> bool {
        self.0 & Self::HUB != 0
    }
}

impl ZoneId {
    /// The id of the zone of this kind and name: the same on every run and every node.
    #[must_use]
    pub fn of(kind: &str, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("rejoin zone id v1");
        hasher.update(&(kind.len() as u64).to_be_bytes());
        hasher.update(kind.as_bytes());
        hasher.update(name.as_bytes());
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        // Zero is never an id, so that a row without one is seen.
        Self(u64::from_be_bytes(first).max(1))
    }
}

/// Who: an identity that lasts over connections, sessions and restarts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PlayerId(pub [u8; 16]);

impl PlayerId {
    /// The player that holds this public key.
    #[must_use]
    pub fn of_key(public_key: &[u8]) -> Self {
        Self::derive("rejoin player by key v1", public_key)
    }

    /// The player that holds this guest secret.
    #[must_use]
    pub fn of_secret(secret: &[u8]) -> Self {
        Self::derive("rejoin player by secret v1", secret)
    }

    /// Reads an id from the wire or a row; any other length than 16 is none.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Reads an id as it is printed: 32 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        AccountId::from_hex(text).map(|AccountId(id)| Self(id))
    }

    fn derive(context: &str, secret: &[u8]) -> Self {
        let mut id = [0; 16];
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(secret);
        hasher.finalize_xof().fill(&mut id);
        Self(id)
    }
}

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlayerId({self})")
    }
}

macro_rules! wide {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// Reads an id from a row; any other length than 16 is none.
            #[must_use]
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// Reads an id as it is printed: 32 hexadecimal digits.
            #[must_use]
            pub fn from_hex(text: &str) -> Option<Self> {
                let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
                let mut id = [0; 16];
                for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
                    let high = char::from(pair[0]).to_digit(16)?;
                    let low = char::from(pair[1]).to_digit(16)?;
                    *byte = u8::try_from(high * 16 + low).ok()?;
                }
                Some(Self(id))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

wide! {
    /// A joinable game of the directory, derived from its fleet and the key it was asked for with.
    GameId
}
wide! {
    /// A player's place in a Game. Drawn by chance, because whoever shows it asks for the place.
    SeatId
}
wide! {
    /// A process that runs Games, derived from its fleet and name.
    HostId
}
wide! {
    /// A queue of placements, derived from its name.
    QueueId
}
wide! {
    /// An account, derived from its name, or from what another service calls its holder.
    AccountId
}

impl AccountId {
    /// The account of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        Self(derived("rejoin account by name v1", "", name))
    }

    /// The account of whoever this issuer calls so.
    #[must_use]
    pub fn of_subject(issuer: &str, subject: &str) -> Self {
        Self(derived("rejoin account by subject v1", issuer, subject))
    }
}

impl GameId {
    /// The Game that this fleet was asked for with this key: the same however often it is asked.
    #[must_use]
    pub fn of(fleet: &str, key: &str) -> Self {
        Self(derived("rejoin game id v1", fleet, key))
    }
}

impl HostId {
    /// The host of this name in this fleet.
    #[must_use]
    pub fn of(fleet: &str, name: &str) -> Self {
        Self(derived("rejoin host id v1", fleet, name))
    }
}

impl QueueId {
    /// The queue of this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self(derived("rejoin queue id v1", "", name))
    }
}

fn derived(context: &str, first: &str, second: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(&(first.len() as u64).to_be_bytes());
    hasher.update(first.as_bytes());
    hasher.update(second.as_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    id
}

/// One stay of one session in one place, and the incarnation of its stream there.
///
/// The session decides the `stay`: every join, part and transfer raises it. The place raises the
/// `turn` when it must abandon what the client has (a resync), without asking the session. A turn
/// starts above anything an earlier owner of the place could have given out, so that a stream that
/// rolled back is never mistaken for the one it replaced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Leg {
    /// Which stay of the session.
    pub stay: u32,
    /// Which incarnation of the stream within the stay.
    pub turn: u32,
}

impl Leg {
    /// The first leg of a stay.
    #[must_use]
    pub fn first(stay: u32) -> Self {
        Self { stay, turn: 0 }
    }

    /// How many resyncs one owner of a place can give a member before the stay must end.
    pub const TURNS_PER_OWNER: u32 = 4096;

    /// The incarnation after this one under `owner`; none when this owner has used up its turns.
    #[must_use]
    pub fn next_turn(self, owner: OwnerEpoch) -> Option<Self> {
        let first = u32::try_from(owner.0).ok()?.checked_mul(Self::TURNS_PER_OWNER)?;
        let end = first.checked_add(Self::TURNS_PER_OWNER)?;
        let turn = self.turn.checked_add(1)?.max(first);
        (turn < end).then_some(Self { stay: self.stay, turn })
    }

    /// The number that stands for this leg on the wire.
    #[must_use]
    pub fn to_wire(self) -> u64 {
        (u64::from(self.stay) << 32) | u64::from(self.turn)
    }

    /// The leg that a number on the wire stands for.
    #[must_use]
    pub fn from_wire(leg: u64) -> Self {
        Self { stay: (leg >> 32) as u32, turn: (leg & 0xffff_ffff) as u32 }
    }
}

impl fmt::Debug for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leg({}.{})", self.stay, self.turn)
    }
}
