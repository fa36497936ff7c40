//! What players and the arena say to each other, as JSON. One message is one value; its only key is
//! what it is about. Places are in units from the upper left corner.

use bytes::Bytes;
use rejoin_core::zone::{BadPayload, Message};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a player wants. The arena decides what comes of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// `{"go":[x,y]}`: go this way until told otherwise; a vector of length 100 is full speed.
    Go([i32; 2]),
    /// `"zap"`: hurt whoever is near.
    Zap,
    /// `{"name":"Ann"}`: be called so.
    Name(String),
    /// `"look"`: show everything, as after a join. For bots.
    Look,
}

/// What a player says when it joins: `{"name":"Ann"}`, or nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Joining {
    /// What it wants to be called.
    #[serde(default)]
    pub name: String,
}

/// What the arena tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// Where everybody is: `[id, x, y, health]` each. Told as the latest value of `where`, and only
    /// when something moved.
    Where(Vec<[i32; 4]>),
    /// Everything, for a bot that asked to look.
    Scene(Box<Scene>),
    /// A hero has joined; its own player gets the [`Scene`] instead.
    Came(Figure),
    /// A hero is gone for good, for whatever reason its member parted.
    Left(Id),
    /// A player's connection is gone; its hero stays as a ghost.
    Away {
        /// The hero whose player is away.
        id: u32,
        /// Milliseconds for which the player can return, at most.
        ms: u64,
    },
    /// The player of a ghost is connected again.
    Back(Id),
    /// A hero has another name.
    Named {
        /// The hero that is called so from now on.
        id: u32,
        /// 1 to 16 characters, none of them invisible. Any text: escape it.
        name: String,
    },
    /// A coin appeared: `[coin, x, y, worth]`.
    Coin([i32; 4]),
    /// A hero took a coin, which is gone then.
    Took {
        /// The hero that took it.
        id: u32,
        /// The number of the coin, as [`News::Coin`] named it.
        coin: u32,
        /// The hero's whole score after it.
        score: u32,
    },
    /// A hero zapped; also sent if it hurt none.
    Zap {
        /// The hero that zapped.
        id: u32,
        /// The heroes it hurt; ghosts and heroes that have just come are never among them.
        hit: Vec<u32>,
    },
    /// A hero had no health left, and starts again elsewhere.
    Fell {
        /// The hero that starts again.
        id: u32,
        /// The hero whose zap it was; never the same one.
        by: u32,
        /// The whole score of that other hero after it.
        score: u32,
    },
}

/// One of the heroes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Id {
    /// The number that the arena gave it, from 1; it is never given again in this arena.
    pub id: u32,
}

/// A hero as others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The number that the arena gave it, as in [`Id`].
    pub id: u32,
    /// What it is called. Any text: escape it.
    pub name: String,
    /// Units from the left edge to its centre; at least a hero's radius.
    pub x: i32,
    /// Units from the upper edge to its centre; at least a hero's radius.
    pub y: i32,
    /// From 1 to 100; it grows back by itself.
    pub health: i32,
    /// Coins, and more for zaps.
    pub score: u32,
    /// Whether the server plays it.
    #[serde(default)]
    pub bot: bool,
    /// It is away, and is waited for so many milliseconds more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<u64>,
}

/// The whole arena: sent with a join, and to whoever could not go on where it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Scene {
    /// The number of the hero of the player who gets this; 0 if it has none.
    pub you: u32,
    /// Width of the ground in units.
    pub width: i32,
    /// Height of the ground in units.
    pub height: i32,
    /// How far a zap reaches, in units.
    pub reach: i32,
    /// All heroes, also bots, ghosts and the one of the player who gets this.
    pub heroes: Vec<Figure>,
    /// `[coin, x, y, worth]` each.
    pub coins: Vec<[i32; 4]>,
}

impl Message for Order {
    fn encode(&self) -> Bytes {
        write(self)
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        read(&payload)
    }
}

impl Message for News {
    fn encode(&self) -> Bytes {
        write(self)
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        read(&payload)
    }
}

/// # Panics
/// Never: what is written here has no keys but strings and no numbers but whole ones.
pub(crate) fn write(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("plain values become JSON").into()
}

pub(crate) fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, BadPayload> {
    serde_json::from_slice(payload).map_err(|error| BadPayload(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &impl Message) -> String {
        String::from_utf8(message.encode().to_vec()).expect("JSON is text")
    }

    #[test]
    fn messages_are_as_documented() {
        assert_eq!(line(&Order::Go([100, -7])), r#"{"go":[100,-7]}"#);
        assert_eq!(line(&Order::Zap), r#""zap""#);
        assert_eq!(line(&Order::Name("Ann".to_owned())), r#"{"name":"Ann"}"#);
        assert_eq!(line(&News::Where(vec![[1, 2, 3, 100]])), r#"{"where":[[1,2,3,100]]}"#);
        let took = News::Took { id: 1, coin: 2, score: 3 };
        assert_eq!(line(&took), r#"{"took":{"id":1,"coin":2,"score":3}}"#);
        assert_eq!(line(&News::Left(Id { id: 4 })), r#"{"left":{"id":4}}"#);
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for nonsense in ["", "{}", "zap", r#"{"fly":1}"#, r#"{"go":[1]}"#, r#"{"go":["a",1]}"#] {
            assert!(Order::decode(nonsense.into()).is_err(), "{nonsense}");
        }
        assert!(Order::decode(Bytes::from_static(&[0xFF, 0xFE])).is_err());
        let deep = format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000));
        assert!(Order::decode(deep.into()).is_err());
    }
}
