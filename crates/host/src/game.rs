//! Games and seats as a host sees them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rejoin_core::id::{GameId, SeatId};
use serde::Deserialize;

/// A Game that is to run here, or does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Game {
    /// The id that the directory gave it; hooks and calls of the host name the Game by it.
    pub id: GameId,
    /// The fleet it was made in.
    pub fleet: String,
    /// Where it was wanted; empty: anywhere.
    pub location: String,
    /// What people call it.
    pub name: String,
    /// What it can be searched by.
    pub properties: BTreeMap<String, String>,
    /// For the host alone.
    pub data: Bytes,
    /// How many seats it has.
    pub capacity: u32,
    /// Whether seats can be reserved.
    pub accepts: bool,
    /// Whether it is listed.
    pub visible: bool,
    /// Who made it.
    pub creator: String,
    /// Whether it ends when its last player leaves.
    pub ends_when_empty: bool,
}

/// A Game as the line carries it.
#[derive(Deserialize, Debug)]
pub(crate) struct GameBody {
    id: String,
    fleet: String,
    location: String,
    name: String,
    properties: BTreeMap<String, String>,
    #[serde(default)]
    data: String,
    capacity: u32,
    accepts: bool,
    visible: bool,
    creator: String,
    ends_when_empty: bool,
}

impl GameBody {
    /// None if its id or its data are none.
    pub(crate) fn read(self) -> Option<Game> {
        Some(Game {
            id: GameId::from_hex(&self.id)?,
            fleet: self.fleet,
            location: self.location,
            name: self.name,
            properties: self.properties,
            data: STANDARD.decode(self.data).ok()?.into(),
            capacity: self.capacity,
            accepts: self.accepts,
            visible: self.visible,
            creator: self.creator,
            ends_when_empty: self.ends_when_empty,
        })
    }
}

/// How far a seat is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SeatStatus {
    /// Kept for its player, who has not been let in yet.
    Reserved,
    /// In use, whether its player is connected or not.
    Active,
    /// Over: its player left, it was given back, or it ran out. A ticket for it is refused.
    Ended,
}

/// A player's place in a Game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seat {
    /// In which Game.
    pub game: GameId,
    /// Which. It is also the ticket that its player shows.
    pub id: SeatId,
    /// Whose, as the game names its players.
    pub player: String,
    /// What was given along with the reservation.
    pub data: Bytes,
    /// How far it is.
    pub status: SeatStatus,
}

/// A seat as the line carries it.
#[derive(Deserialize, Debug)]
pub(crate) struct SeatBody {
    id: String,
    player: String,
    #[serde(default)]
    data: String,
    status: String,
}

impl SeatBody {
    pub(crate) fn read(self, game: GameId) -> Option<Seat> {
        Some(Seat {
            game,
            id: SeatId::from_hex(&self.id)?,
            player: self.player,
            data: STANDARD.decode(self.data).ok()?.into(),
            status: match self.status.as_str() {
                "reserved" | "claimed" => SeatStatus::Reserved,
                "active" => SeatStatus::Active,
                _ => SeatStatus::Ended,
            },
        })
    }
}
