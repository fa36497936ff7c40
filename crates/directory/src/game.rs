//! Games: joinable games of the directory, each a scope of its own with its seats.

pub(crate) mod core;
pub(crate) mod life;
pub(crate) mod row;
pub mod seat;
pub(crate) mod seats;
pub mod spec;

use std::sync::Arc;
use std::time::Duration;

pub use rejoin_core::game::{GameEnd as EndCause, SeatEnd};
use rejoin_core::id::{GameId, HostId, QueueId, SeatId};
use rejoin_core::time::WallTime;

use crate::caller::{Caller, Secret};
use crate::planted::{Bug, is_armed};

pub use self::seat::{Entry, Guest, Holder, SeatFilter, SeatState, SeatStatus, SeatView};
pub use self::spec::{GameChange, GameSpec};

/// Where a Game is in its life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// Its host is preparing it.
    Activating,
    /// Its host has begun it; only now can seats be reserved.
    Active,
    /// Its host is ending it.
    Terminating,
    /// It is over as it should be.
    Terminated,
    /// It is over because its host failed.
    Error,
}

impl Status {
    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Activating => "activating",
            Self::Active => "active",
            Self::Terminating => "terminating",
            Self::Terminated => "terminated",
            Self::Error => "error",
        }
    }

    /// What a Game that ended so is called.
    #[must_use]
    pub fn of_end(cause: EndCause) -> Self {
        if cause.is_failure() { Self::Error } else { Self::Terminated }
    }

    /// Nothing comes after it.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Terminated | Self::Error)
    }
}

/// How a Game's host stands, as the Game last heard it from the host's part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Connected, ready and well.
    Present,
    /// Connected, and not well: no new joins.
    Unhealthy,
    /// Not there: the Game is hidden.
    Away,
}

/// The placement a Game was made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub queue: QueueId,
    pub placement: String,
    pub attempt: u32,
}

/// A Game as others may see it: always a committed state.
#[derive(Clone, PartialEq, Debug)]
pub struct GameView {
    /// Derived from fleet and key, so the same request gives the same Game.
    pub id: GameId,
    /// What it was asked to be, with all updates since.
    pub spec: Arc<GameSpec>,
    /// Where it is in its life.
    pub status: Status,
    /// Why it ended or is ending.
    pub cause: Option<EndCause>,
    /// Host that was chosen when it was made; a Game never moves to another.
    pub host: HostId,
    /// How its host stands.
    pub standing: Standing,
    /// A match runs that closes the Game to new players until it ends.
    pub in_match: bool,
    /// Seats that wait for their players, claimed ones included.
    pub reserved: u32,
    /// Seats in use.
    pub active: u32,
    /// When it was created.
    pub created: WallTime,
    /// When it ended.
    pub ended: Option<WallTime>,
}

impl GameView {
    /// Whether searches show it.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        let is_there = self.standing == Standing::Present || is_armed(Bug::GhostListed);
        self.status == Status::Active && self.spec.visible && is_there
    }

    /// Whether new players may reserve now: the Game's own word, and no match that closes it.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.spec.accepts && !self.in_match
    }

    /// Seats nobody has.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.spec.capacity.saturating_sub(self.reserved + self.active)
    }
}

/// Seats that are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Booking {
    pub guests: Vec<Guest>,
    pub key: String,
    pub hold: Option<Duration>,
    /// Drawn for them, should they get seats.
    pub ids: Vec<SeatId>,
    pub caller: Caller,
    /// Drawn for the caller, should it not have chosen one.
    pub drawn: Secret,
    /// How many more the caller may hold open.
    pub room: usize,
}

/// A question to a Game.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Describe,
    /// The same for a caller from outside, for whom it was just made.
    DescribeNew,
    Seats,
    FindSeats {
        filter: SeatFilter,
        after: Option<u64>,
        limit: usize,
    },
    DescribeSeat {
        seat: SeatId,
    },
    Reserve(Box<Booking>),
    Extend {
        seat: SeatId,
        hold: Duration,
    },
    Release {
        seat: SeatId,
        caller: Caller,
    },
    Claim {
        seat: SeatId,
        player: String,
        holder: Holder,
    },
    Confirm {
        seat: SeatId,
        holder: Holder,
    },
    Abandon {
        seat: SeatId,
        holder: Holder,
    },
    Complete {
        seat: SeatId,
        holder: Holder,
    },
    Accept {
        host: HostId,
        seat: SeatId,
        player: Option<String>,
        entry: Option<Entry>,
    },
    Remove {
        host: HostId,
        seat: SeatId,
    },
    Update {
        change: Box<GameChange>,
    },
    Terminate,
}
