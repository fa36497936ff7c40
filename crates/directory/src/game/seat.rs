//! A seat: a player's place in a Game.
//!
//! It is reserved for a while; claimed by a session that is about to join; active from the moment
//! the join is confirmed; and over when the stay is. A drop changes nothing here: whoever may come
//! back still has the seat, and only the end of the stay frees it.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::game::SeatEnd;
use rejoin_core::id::{SeatId, SessionId};
use rejoin_core::time::{Time, WallTime};

use crate::caller::{Lock, Payer};
use crate::limits;
use crate::print::Print;
use crate::refusal::Refusal;

/// A player that a seat is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Guest {
    /// The game's name for the player, 1 to 1024 characters; once each in a party.
    pub player: String,
    /// At most 2048 bytes for the Game's host, kept with the seat and never interpreted here.
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

    /// Of the party and, where it was asked for, the hold.
    pub(crate) fn print(party: &[Self], hold: Option<Duration>) -> Print {
        let hold = hold.map(|hold| hold.as_millis().to_be_bytes());
        let party = party.iter().flat_map(|guest| [guest.player.as_bytes(), &guest.data[..]]);
        Print::of(party.chain(hold.iter().map(|hold| &hold[..])))
    }
}

/// Which stay of which session uses a seat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Holder {
    /// The session, as the hub names it when it claims the seat.
    pub session: SessionId,
    /// Number of its stay; the session raises it with every join, part and transfer.
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

/// State of a seat, from its reservation to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeatState {
    /// Kept for its player.
    Reserved {
        /// When the reservation runs out and the seat ends as timed out; an extension moves it.
        until: WallTime,
    },
    /// A session is on its way in.
    Claimed {
        /// Stay that claimed it; confirming, abandoning or completing by any other is refused.
        holder: Holder,
        /// The reservation goes on until then, should the claim come to nothing.
        until: WallTime,
        /// When an unconfirmed claim becomes a reservation again; after a restart the time starts anew.
        by: Time,
    },
    /// In use, whether its player is connected or not.
    Active {
        /// By which stay; none where the Game's host keeps count itself.
        holder: Option<Holder>,
    },
    /// No longer usable; kept for look-ups until more than `seats_kept_max` seats have ended.
    Ended {
        /// Cause of the end, set once: later requests to end the seat do not change it.
        how: SeatEnd,
        /// When it ended, by the wall clock; ended seats are forgotten by number, not by age.
        at: WallTime,
    },
}

/// A seat as its Game keeps it, with what views leave out: key, fingerprint, lock and payer.
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
    /// What it takes to give it back.
    pub lock: Lock,
    /// Who pays while it is held open; not kept.
    pub payer: Option<Payer>,
}

impl Seat {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, SeatState::Ended { .. })
    }

    pub(crate) fn view(&self) -> SeatView {
        SeatView {
            id: self.id,
            number: self.number,
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
    /// Drawn by chance for the reservation; it is also the ticket that its player shows.
    pub id: SeatId,
    /// Seats of a Game are numbered in the order of their reservation, from 1.
    pub number: u64,
    /// Player that it was reserved for; a claim by any other is refused.
    pub player: String,
    /// Bytes from the reservation for the Game's host; may be empty.
    pub data: Bytes,
    /// When it was reserved, by the wall clock; for a placement, when its Game became active.
    pub created: WallTime,
    /// Present state, with its deadlines, its holder or the cause of its end.
    pub state: SeatState,
}

/// State of a seat without its data, as filters and messages name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeatStatus {
    /// See [`SeatState::Reserved`].
    Reserved,
    /// See [`SeatState::Claimed`].
    Claimed,
    /// See [`SeatState::Active`].
    Active,
    /// See [`SeatState::Ended`].
    Ended,
}

impl SeatStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reserved, Self::Claimed, Self::Active, Self::Ended];

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Claimed => "claimed",
            Self::Active => "active",
            Self::Ended => "ended",
        }
    }
}

impl SeatState {
    /// The state without its data.
    #[must_use]
    pub fn status(&self) -> SeatStatus {
        match self {
            Self::Reserved { .. } => SeatStatus::Reserved,
            Self::Claimed { .. } => SeatStatus::Claimed,
            Self::Active { .. } => SeatStatus::Active,
            Self::Ended { .. } => SeatStatus::Ended,
        }
    }
}

/// Which seats of a Game are wanted; what is none does not matter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeatFilter {
    /// Those of this player.
    pub player: Option<String>,
    /// Those in this state.
    pub status: Option<SeatStatus>,
}

impl SeatFilter {
    pub(crate) fn matches(&self, seat: &Seat) -> bool {
        self.player.as_ref().is_none_or(|player| *player == seat.player)
            && self.status.is_none_or(|status| status == seat.state.status())
    }
}
