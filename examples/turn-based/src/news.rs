//! What players say and hear, as text.

use rejoin::prelude::*;

use crate::board::Mark;

/// What a player says: the cell it wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move(pub u8);

impl Message for Move {
    fn encode(&self) -> Bytes {
        Bytes::from(self.0.to_string())
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        let text = std::str::from_utf8(&payload).ok();
        let cell = text.and_then(|text| text.trim().parse().ok());
        cell.map(Self).ok_or_else(|| BadPayload("a move is a number, 0 to 8".to_owned()))
    }
}

/// What players hear.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// Both are here.
    Begins,
    /// A mark stands on a cell.
    Played {
        /// Whose.
        mark: Mark,
        /// Where.
        cell: u8,
    },
    /// Somebody's connection is gone, and the match waits.
    Away {
        /// Who.
        mark: Mark,
    },
    /// Somebody is back.
    Back {
        /// Who.
        mark: Mark,
    },
    /// Nobody moves any more.
    Over {
        /// Nobody: a draw.
        winner: Option<Mark>,
    },
    /// The own move does not count.
    Refused(String),
}

impl Message for News {
    fn encode(&self) -> Bytes {
        Bytes::from(match self {
            Self::Begins => "begins".to_owned(),
            Self::Played { mark, cell } => format!("{mark} plays {cell}"),
            Self::Away { mark } => format!("{mark} is away"),
            Self::Back { mark } => format!("{mark} is back"),
            Self::Over { winner: Some(mark) } => format!("{mark} wins"),
            Self::Over { winner: None } => "draw".to_owned(),
            Self::Refused(why) => format!("no: {why}"),
        })
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        let text = String::from_utf8_lossy(&payload).into_owned();
        let mark = |word: &str| match word {
            "x" => Some(Mark::Cross),
            "o" => Some(Mark::Nought),
            _ => None,
        };
        let words: Vec<&str> = text.split(' ').collect();
        let known = match words[..] {
            ["begins"] => Some(Self::Begins),
            ["draw"] => Some(Self::Over { winner: None }),
            ["no:", ..] => Some(Self::Refused(text[4..].to_owned())),
            [who, "wins"] => mark(who).map(|mark| Self::Over { winner: Some(mark) }),
            [who, "is", "away"] => mark(who).map(|mark| Self::Away { mark }),
            [who, "is", "back"] => mark(who).map(|mark| Self::Back { mark }),
            [who, "plays", cell] => {
                let cell = cell.parse().ok();
                mark(who).zip(cell).map(|(mark, cell)| Self::Played { mark, cell })
            }
            _ => None,
        };
        known.ok_or_else(|| BadPayload("no news of this game".to_owned()))
    }
}
