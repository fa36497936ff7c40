//! What members hear from a relay.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rejoin_core::id::PlayerId;
use rejoin_core::zone::{BadPayload, Message};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::line::{self, number};

/// A player, in base64 as in the wire's JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Player(pub PlayerId);

/// A member as others see it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Member {
    #[serde(with = "number")]
    pub member: u64,
    pub player: Player,
    pub connected: bool,
}

/// An object and whose it is.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Object {
    #[serde(with = "number")]
    pub object: u64,
    pub player: Player,
}

/// The room as a joiner and a resynced member are told it. Keys come beside it, as latest values.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Room {
    #[serde(with = "number")]
    pub you: u64,
    #[serde(with = "number::maybe")]
    pub host: Option<u64>,
    #[serde(with = "number")]
    pub term: u64,
    #[serde(rename = "match")]
    pub match_running: bool,
    pub locked: bool,
    pub members: Vec<Member>,
    pub objects: Vec<Object>,
}

/// Why an order was not carried out.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The host may do this, and the sender is not the host, or not in this term.
    NotHost,
    /// There is no host now.
    NoHost,
    /// No member has this number, or it is one that cannot be the host.
    NoSuchMember,
    /// The key has another version: the one that is told.
    Version,
    /// A key is empty or too long, or a message that needs one has none.
    BadKey,
    /// No more keys here.
    TooManyKeys,
    /// The body is larger than a value may be.
    TooLarge,
    /// All values together are as large as they may be.
    Full,
    /// Somebody else owns the object, or nobody.
    NotOwner,
    /// No more objects here.
    TooManyObjects,
    /// This cannot be delivered in this way.
    BadDelivery,
    /// There must be a member, and none is named.
    MemberMissing,
}

/// Something a member is told.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Fact {
    /// The room as it is.
    Room(Room),
    /// A member said the body.
    Said {
        #[serde(with = "number")]
        from: u64,
    },
    /// A member has joined; all members but the joiner itself get this.
    Joined(Member),
    /// A member's connection is gone; its place is kept for as long as the relay's `hold` says.
    Dropped {
        #[serde(with = "number")]
        member: u64,
    },
    /// A dropped member is connected again.
    Back {
        #[serde(with = "number")]
        member: u64,
    },
    /// A member is gone for good, or was sent away; its own keys are deleted.
    Parted {
        #[serde(with = "number")]
        member: u64,
        cause: String,
    },
    /// Who the host is from now on.
    Host {
        #[serde(with = "number::maybe")]
        member: Option<u64>,
        #[serde(with = "number")]
        term: u64,
    },
    /// A key has this value: the body. `of` names its member where it is not shared.
    Value {
        key: String,
        #[serde(default, with = "number::maybe", skip_serializing_if = "Option::is_none")]
        of: Option<u64>,
        #[serde(with = "number")]
        version: u64,
        #[serde(with = "number")]
        by: u64,
    },
    /// Whose an object is from now on.
    Owner {
        #[serde(with = "number")]
        object: u64,
        player: Option<Player>,
    },
    /// A match began or ended.
    Match { running: bool },
    /// Whether others are let in.
    Locked { locked: bool },
    /// The order was carried out; of a key, this is its version now.
    Done {
        #[serde(default, with = "number::maybe", skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
    },
    /// The order of this number was not carried out.
    Refused {
        #[serde(with = "number")]
        to: u64,
        reason: Reason,
        #[serde(default, with = "number::maybe", skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
    },
    /// The answer to an echo.
    Echo {},
    /// Not in JSON: a payload without a header.
    #[serde(skip)]
    Bare,
}

/// A fact and its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    /// What happened: the header of the message. [`Fact::Bare`] is written without one.
    pub fact: Fact,
    /// What was said, a value, or the answer to an echo; empty with all other facts.
    pub body: Bytes,
}

impl From<Fact> for Heard {
    fn from(fact: Fact) -> Self {
        Self { fact, body: Bytes::new() }
    }
}

impl Message for Heard {
    fn encode(&self) -> Bytes {
        match self.fact {
            Fact::Bare => self.body.clone(),
            _ => line::write(&self.fact, &self.body),
        }
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        if payload.first() != Some(&b'{') {
            return Ok(Self { fact: Fact::Bare, body: payload });
        }
        let (fact, body) = line::read(&payload)?;
        Ok(Self { fact, body })
    }
}

impl Serialize for Player {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(self.0.0))
    }
}

impl<'de> Deserialize<'de> for Player {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| serde::de::Error::custom("a player is 16 bytes in base64"));
        bytes.map(|bytes| Self(PlayerId(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_written_as_documented_and_read_again() {
        let player = Player(PlayerId([1; 16]));
        for (fact, text) in [
            (Fact::Said { from: 3 }, r#"{"said":{"from":"3"}}"#),
            (Fact::Host { member: None, term: 2 }, r#"{"host":{"member":null,"term":"2"}}"#),
            (
                Fact::Owner { object: 9, player: Some(player) },
                r#"{"owner":{"object":"9","player":"AQEBAQEBAQEBAQEBAQEBAQ=="}}"#,
            ),
            (Fact::Done { version: None }, r#"{"done":{}}"#),
            (
                Fact::Refused { to: 4, reason: Reason::Version, version: Some(7) },
                r#"{"refused":{"to":"4","reason":"version","version":"7"}}"#,
            ),
            (Fact::Match { running: true }, r#"{"match":{"running":true}}"#),
        ] {
            let heard = Heard::from(fact);
            assert_eq!(heard.encode(), text);
            assert_eq!(Heard::decode(heard.encode()), Ok(heard));
        }
    }
}
