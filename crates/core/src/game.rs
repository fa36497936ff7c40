//! How Games, seats, hosts and placements end. The directory decides it; events, metrics and protocols
//! say it on, so the words are here.

use crate::id::{GameId, SeatId};

/// Why a Game ended, or is ending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GameEnd {
    /// Somebody asked for it.
    Asked,
    /// The last player left.
    LastLeft,
    /// Nobody ever came.
    NobodyCame,
    /// Its host did not start it in time.
    ActivationTimeout,
    /// Its host's begin hook said no.
    Vetoed,
    /// Its host could not take it.
    HostRefused,
    /// Its host was away for too long.
    HostLost,
    /// Its host did not report healthy for too long.
    HostUnhealthy,
    /// Its host came back without it.
    HostForgot,
    /// Its host ended as it should.
    HostEnded,
    /// Its host is being emptied.
    HostDrained,
    /// The placement it was made for ended otherwise.
    PlacementOver,
}

impl GameEnd {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Asked,
        Self::LastLeft,
        Self::NobodyCame,
        Self::ActivationTimeout,
        Self::Vetoed,
        Self::HostRefused,
        Self::HostLost,
        Self::HostUnhealthy,
        Self::HostForgot,
        Self::HostEnded,
        Self::HostDrained,
        Self::PlacementOver,
    ];

    /// Its name in messages and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::LastLeft => "last_left",
            Self::NobodyCame => "nobody_came",
            Self::ActivationTimeout => "activation_timeout",
            Self::Vetoed => "vetoed",
            Self::HostRefused => "host_refused",
            Self::HostLost => "host_lost",
            Self::HostUnhealthy => "host_unhealthy",
            Self::HostForgot => "host_forgot",
            Self::HostEnded => "host_ended",
            Self::HostDrained => "host_drained",
            Self::PlacementOver => "placement_over",
        }
    }

    /// Whether its host failed.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::HostRefused | Self::HostLost | Self::HostUnhealthy | Self::HostForgot)
    }

    /// Whether the host's hook is asked and may say no.
    #[must_use]
    pub fn may_be_refused(self) -> bool {
        matches!(self, Self::Asked | Self::LastLeft | Self::NobodyCame)
    }
}

/// How a seat came to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeatEnd {
    /// The player left.
    Left,
    /// It was given back before anybody came.
    Released,
    /// Nobody came in time.
    TimedOut,
    /// Its Game ended.
    GameEnded,
}

impl SeatEnd {
    /// All of them, in the order in which rows number them.
    pub const ALL: [Self; 4] = [Self::Left, Self::Released, Self::TimedOut, Self::GameEnded];

    /// Its name in messages and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Released => "released",
            Self::TimedOut => "timed_out",
            Self::GameEnded => "game_ended",
        }
    }
}

/// How a host ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HostEnd {
    /// It said so.
    Ended,
    /// Its only Game is over.
    Spent,
    /// It was away for too long.
    Lost,
    /// It did not report healthy for too long.
    Unhealthy,
    /// It was emptied.
    Drained,
}

impl HostEnd {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Ended, Self::Spent, Self::Lost, Self::Unhealthy, Self::Drained];

    /// Its name in messages and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Spent => "spent",
            Self::Lost => "lost",
            Self::Unhealthy => "unhealthy",
            Self::Drained => "drained",
        }
    }
}

/// How a placement ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlacementEnd {
    /// The Game runs, and everybody has a seat.
    Fulfilled {
        /// The Game that was made for the placement.
        game: GameId,
        /// Each player, as the placement named it, with its seat.
        seats: Vec<(String, SeatId)>,
    },
    /// No host was found in time.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// It was tried too often; why the last Game did not come to run.
    Failed(GameEnd),
}

impl PlacementEnd {
    /// Its name in messages and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fulfilled { .. } => "fulfilled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}
