//! A seat: a player's place in a Game.
//!
//! It is reserved for a while; claimed by a session that is about to join; active from the moment
//! the join is confirmed; and over when the stay is. A drop changes nothing here: whoever may come
//! back still has the seat, and only the end of the stay frees it.

use bytes::Bytes;
use rejoin_core::game::SeatEnd;
use rejoin_core::id::{SeatId, SessionId};
use rejoin_core::time::{Time, WallTime};

use crate::limits;
use crate::print::Print;
use crate::refusal::Refusal;

/// Somebody a seat is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Guest {
    /// Who, as the game names its players.
    pub player: String,
    /// For the Game's host.
    pub data: Bytes,
}

impl Guest {
    pub(crate) fn check_party(party: &[Self]) -> Result<(), Refusal> {
        if !(1..=limits::PARTY_MAX).contains(&party.len()) {
            return Err(Refusal::Invalid { field: "players", must: "1 to 25" });
        }
        for (index, guest) in party.iter().enumerate() {
            limits::player(&guest.player)?;
            let must = "at most 2048 bytes";
            limits::data("player data", &guest.data, limits::SEAT_DATA_MAX, must)?;
            if party[..index].iter().any(|other| other.player == guest.player) {
                return Err(Refusal::Invalid { field: "players", must: "named once each" });
            }
        }
        Ok(())
    }

    pub(crate) fn print(party: &[Self]) -> Print {
        Print::of(party.iter().flat_map(|guest| [guest.player.as_bytes(), &guest.data[..]]))
    }
}

/// Which stay of which session uses a seat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Holder {
    /// The session.
    pub session: SessionId,
    /// Its stay in the Game's zone.
    pub stay: u32,
}

/// Which process of a host let a player in, and with which of its questions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// A number that the process drew when it started.
    pub process: u64,
    /// Its own count of those it lets in, from 1.
    pub number: u32,
}

/// Where a seat is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeatState {
    /// Kept for its player.
    Reserved {
        /// Until then.
        until: WallTime,
    },
    /// A session is on its way in.
    Claimed {
        /// Whose.
        holder: Holder,
        /// The reservation goes on until then, should the claim come to nothing.
        until: WallTime,
        /// The claim must be confirmed before.
        by: Time,
    },
    /// In use, whether its player is connected or not.
    Active {
        /// By which stay; none where the Game's host keeps count itself.
        holder: Option<Holder>,
    },
    /// Over.
    Ended {
        /// How.
        how: SeatEnd,
        /// Since when.
        at: WallTime,
    },
}

/// A seat.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seat {
    pub id: SeatId,
    /// Seats of a Game are numbered in the order of their reservation.
    pub number: u64,
    pub player: String,
    pub data: Bytes,
    /// The key of the reservation, and what it was for.
    pub key: String,
    pub print: Print,
    pub created: WallTime,
    pub state: SeatState,
    /// By which entry its player came in, where the Game's host counts them.
    pub entry: Option<Entry>,
}

impl Seat {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, SeatState::Ended { .. })
    }

    pub(crate) fn view(&self) -> SeatView {
        SeatView {
            id: self.id,
            player: self.player.clone(),
            data: self.data.clone(),
            created: self.created,
            state: self.state,
        }
    }
}

/// A seat as others may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct SeatView {
    /// Which. It is also the ticket that its player shows.
    pub id: SeatId,
    /// Whose.
    pub player: String,
    /// What was given along.
    pub data: Bytes,
    /// Since when.
    pub created: WallTime,
    /// Where it is.
    pub state: SeatState,
}
