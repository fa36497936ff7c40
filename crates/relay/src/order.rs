//! What members say to a relay.

use std::fmt;

use bytes::Bytes;
use rejoin_core::id::SessionId;
use rejoin_core::zone::{BadPayload, Message, OnPart};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::line::{self, number};

/// Whom a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// All members, the sender included; delivery `latest` is allowed for this only.
    All,
    /// All members but the sender.
    Others,
    /// The member who is the host when the message arrives; without a host it is refused `no_host`.
    Host,
    /// One member, by its number; refused `no_such_member` if it is not in the zone.
    Member(SessionId),
}

/// How a message is delivered.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In order, exactly once.
    #[default]
    Ordered,
    /// Only the newest of its key matters.
    Latest,
    /// It may be lost.
    Unreliable,
}

/// Whose a key is.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Shared: every member may set it.
    #[default]
    All,
    /// The member's own: others only see it. It goes when its member parts.
    Me,
}

/// What becomes of an object when its owner parts.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It waits for its owner.
    #[default]
    Keep,
    /// It goes to the member who has been there longest.
    HandOver,
    /// It is gone.
    Destroy,
}

impl From<Fate> for OnPart {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Keep => Self::Keep,
            Fate::HandOver => Self::HandOver,
            Fate::Destroy => Self::Destroy,
        }
    }
}

/// What a member wants.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Order {
    /// Say the body to somebody.
    Send {
        to: To,
        #[serde(default)]
        delivery: Delivery,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        key: String,
    },
    /// Set a key to the body; with `if`, only while its version is that (0: while it is not set).
    Set {
        key: String,
        #[serde(default)]
        of: Of,
        #[serde(default, rename = "if", with = "number::maybe")]
        only_if: Option<u64>,
    },
    /// Unset a key, on the same condition.
    Delete {
        key: String,
        #[serde(default)]
        of: Of,
        #[serde(default, rename = "if", with = "number::maybe")]
        only_if: Option<u64>,
    },
    /// Own an object that has no owner. Its owner may ask again, to change what becomes of it.
    Own {
        #[serde(with = "number")]
        object: u64,
        #[serde(default)]
        on_part: Fate,
    },
    /// Give an own object to a member.
    Give {
        #[serde(with = "number")]
        object: u64,
        #[serde(with = "number")]
        to: u64,
        #[serde(default)]
        on_part: Fate,
    },
    /// Own an object no longer.
    Release {
        #[serde(with = "number")]
        object: u64,
    },
    /// For the host only; with `term`, only while that is the term.
    Lead(Lead),
    /// Answer with the body. For measuring, and for trying it out.
    Echo {},
    /// Not in JSON: a payload without a header.
    #[serde(skip)]
    Bare,
}

/// What only the host may do.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// What the host wants; `do` in JSON.
    #[serde(rename = "do")]
    pub verb: Verb,
    /// The member it is done to; without it `kick` and `hand_over` are refused `member_missing`.
    #[serde(default, with = "number::maybe", skip_serializing_if = "Option::is_none")]
    pub member: Option<u64>,
    /// The term the sender believes to lead; refused `not_host` if another has begun. None: any term.
    #[serde(default, with = "number::maybe", skip_serializing_if = "Option::is_none")]
    pub term: Option<u64>,
}

/// The host's verbs.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Start the match: from here a drop keeps the player's match data.
    StartMatch,
    /// End the match; if none runs, nothing changes and the order is done.
    EndMatch,
    /// Let nobody else in.
    Lock,
    /// Let others in again.
    Unlock,
    /// Send a member away.
    Kick,
    /// Make a member the host.
    HandOver,
    /// End the zone.
    End,
}

/// An order and its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// What the member wants: the header of the message. [`Order::Bare`] is written without one.
    pub order: Order,
    /// What to send, to set or to echo; orders that need none ignore it.
    pub body: Bytes,
}

impl Message for Said {
    fn encode(&self) -> Bytes {
        match self.order {
            Order::Bare => self.body.clone(),
            _ => line::write(&self.order, &self.body),
        }
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        if payload.first() != Some(&b'{') {
            return Ok(Self { order: Order::Bare, body: payload });
        }
        let (order, body) = line::read(&payload)?;
        Ok(Self { order, body })
    }
}

impl Serialize for To {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => to.serialize_str("all"),
            Self::Others => to.serialize_str("others"),
            Self::Host => to.serialize_str("host"),
            Self::Member(session) => to.collect_str(session),
        }
    }
}

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;

        impl Visitor<'_> for Words {
            type Value = To;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", \"others\", \"host\" or the number of a member")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<To, E> {
                match text {
                    "all" => Ok(To::All),
                    "others" => Ok(To::Others),
                    "host" => Ok(To::Host),
                    _ => {
                        let number = text.parse().map(SessionId).map(To::Member);
                        number
                            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                    }
                }
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<To, E> {
                Ok(To::Member(SessionId(number)))
            }
        }

        from.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Said, BadPayload> {
        Said::decode(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn an_order_is_a_line_and_a_body_of_any_bytes() {
        let said =
            read("{\"send\":{\"to\":\"17\",\"delivery\":\"unreliable\"}}\n{\n\"x\"").expect("good");
        let to = To::Member(SessionId(17));
        let order = Order::Send { to, delivery: Delivery::Unreliable, key: String::new() };
        assert_eq!((said.order, &said.body[..]), (order, &b"{\n\"x\""[..]));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let orders = [
            Order::Send { to: To::All, delivery: Delivery::Latest, key: "pos".to_owned() },
            Order::Set { key: "map".to_owned(), of: Of::All, only_if: Some(u64::MAX) },
            Order::Delete { key: "map".to_owned(), of: Of::Me, only_if: None },
            Order::Own { object: 7, on_part: Fate::HandOver },
            Order::Give { object: 7, to: 2, on_part: Fate::Destroy },
            Order::Release { object: u64::MAX },
            Order::Lead(Lead { verb: Verb::Kick, member: Some(3), term: Some(1) }),
            Order::Lead(Lead { verb: Verb::StartMatch, member: None, term: None }),
            Order::Echo {},
        ];
        for order in orders {
            let said = Said { order, body: Bytes::from_static(b"body") };
            assert_eq!(Said::decode(said.encode()), Ok(said));
        }
    }

    #[test]
    fn wrong_orders_are_refused_with_a_sentence() {
        for (text, word) in [
            ("{", "EOF"),
            ("{\"sendd\":{\"to\":\"all\"}}", "sendd"),
            ("{\"send\":{\"to\":\"nobody\"}}", "nobody"),
            ("{\"send\":{\"to\":\"all\",\"loud\":true}}", "loud"),
            ("{\"set\":{}}", "key"),
            ("{\"own\":{\"object\":\"-1\"}}", "-1"),
            ("{\"lead\":{\"do\":\"dance\"}}", "dance"),
            ("{\"send\":{\"to\":\"all\"}} more", "trailing"),
        ] {
            let BadPayload(sentence) = read(text).expect_err(text);
            assert!(sentence.contains(word), "{text}: {sentence}");
        }
    }

    #[test]
    fn a_payload_without_a_header_is_taken_as_it_is() {
        assert_eq!(read("hello").map(|said| said.order), Ok(Order::Bare));
        assert_eq!(read("").map(|said| said.order), Ok(Order::Bare));
    }
}
