//! Why a request was refused. Every refusal is typed, says what was wrong and, where it helps, what
//! to do; a translator to another protocol needs nothing but the type.

use std::fmt;

use rejoin_core::id::SeatId;

use crate::game::{EndCause, Status};
use crate::search::FilterError;

/// What a name stood for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A fleet.
    Fleet,
    /// An alias.
    Alias,
    /// A Game.
    Game,
    /// A seat.
    Seat,
    /// A host.
    Host,
    /// A queue.
    Queue,
    /// A placement.
    Placement,
    /// A subscription.
    Subscription,
    /// A location of a fleet.
    Location,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fleet => "fleet",
            Self::Alias => "alias",
            Self::Game => "game",
            Self::Seat => "seat",
            Self::Host => "host",
            Self::Queue => "queue",
            Self::Placement => "placement",
            Self::Subscription => "subscription",
            Self::Location => "location",
        })
    }
}

/// Why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is none of that name, or none any more.
    NotFound(What),
    /// A field is not what it may be.
    Invalid {
        /// Which field.
        field: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// The Game is in a state in which this cannot be.
    WrongStatus(Status),
    /// The Game takes no new players.
    NotAccepting,
    /// The Game's host is away; it may return.
    HostAway,
    /// The Game's host does not report healthy; no new joins until it does.
    HostUnhealthy,
    /// There are fewer free seats than were asked for; none was taken.
    GameFull {
        /// How many are free.
        free: u32,
    },
    /// The idempotency key was used before with other parameters.
    KeyReused,
    /// The seat is over: used up, given back or timed out.
    SeatEnded,
    /// Somebody else is claiming or using the seat.
    SeatTaken,
    /// The seat belongs to another player.
    WrongPlayer,
    /// The secret of the reservation or the placement was not shown.
    WrongSecret,
    /// The player has a seat of this Game already.
    AlreadySeated {
        /// Which. It is good for this player, whoever reserved it.
        seat: SeatId,
    },
    /// No host of the fleet runs Games with so many seats.
    TooManySeats {
        /// How many the largest has.
        most: u32,
    },
    /// The server's own host is not drained: its fleet would be left without one.
    OwnHost,
    /// There is no such claim: it ran out, or never was.
    NotClaimed,
    /// No host of the fleet and location has room.
    NoHost,
    /// The alias leads nowhere on purpose; its own words.
    TerminalAlias(String),
    /// A limit of the directory is reached.
    LimitReached {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// Something of this name is there already.
    Exists(What),
    /// It is still used by others.
    InUse(What),
    /// Too much waits for the store; again in a moment.
    Busy,
    /// Another process speaks for this host now.
    StaleLease,
    /// A host must set its hooks before it says that it is ready.
    HooksNotSet,
    /// The host has ended; register again.
    HostEnded,
    /// The Game is not one of this host's.
    NotYours,
    /// The host's hook said no: its words.
    Vetoed(String),
    /// The host did not answer in time; nothing was changed.
    HostSilent,
    /// The Game ended while this was under way.
    GameEnded(EndCause),
    /// The placement has ended already.
    PlacementEnded,
    /// The filter cannot be read.
    Filter(FilterError),
    /// The sort expression cannot be read.
    Sort(FilterError),
    /// The search would look at more Games than it may. Narrow it, or sort and filter by fields and
    /// declared properties.
    TooBroad {
        /// How many it may look at.
        work_max: usize,
    },
    /// The cursor belongs to another search.
    WrongCursor,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(what) => write!(f, "no such {what}"),
            Self::Invalid { field, must } => write!(f, "{field} must be {must}"),
            Self::WrongStatus(status) => write!(f, "the game is {}", status.name()),
            Self::NotAccepting => f.write_str("the game takes no new players"),
            Self::HostAway => f.write_str("the game's host is away"),
            Self::HostUnhealthy => f.write_str("the game's host is not healthy"),
            Self::GameFull { free } => write!(f, "the game has {free} free seats"),
            Self::KeyReused => {
                f.write_str("the idempotency key was used before with other parameters")
            }
            Self::SeatEnded => f.write_str("the seat is over"),
            Self::SeatTaken => f.write_str("the seat is in use"),
            Self::WrongPlayer => f.write_str("the seat belongs to another player"),
            Self::WrongSecret => {
                f.write_str("show the secret that the reservation or the placement was given")
            }
            Self::AlreadySeated { seat } => write!(f, "the player has the seat {seat} already"),
            Self::TooManySeats { most } => write!(f, "capacity must be at most {most} here"),
            Self::OwnHost => f.write_str(
                "this host is the server itself: stop the server, or switch its games off",
            ),
            Self::NotClaimed => f.write_str("the seat is not claimed by this session"),
            Self::NoHost => f.write_str("no host has room"),
            Self::TerminalAlias(words) => f.write_str(words),
            Self::LimitReached { what, limit } => write!(f, "there are {limit} {what} already"),
            Self::Exists(what) => write!(f, "there is a {what} of this name already"),
            Self::InUse(what) => write!(f, "the {what} is in use"),
            Self::Busy => f.write_str("too much waits for the store, try again in a moment"),
            Self::StaleLease => f.write_str("another process speaks for this host now"),
            Self::HooksNotSet => f.write_str("set the hooks before saying ready"),
            Self::HostEnded => f.write_str("the host has ended, register again"),
            Self::NotYours => f.write_str("the game is not one of this host's"),
            Self::Vetoed(words) => write!(f, "the host refused: {}", words.escape_debug()),
            Self::HostSilent => f.write_str("the host did not answer in time"),
            Self::GameEnded(cause) => write!(f, "the game ended: {}", cause.name()),
            Self::PlacementEnded => f.write_str("the placement has ended already"),
            Self::Filter(error) | Self::Sort(error) => error.fmt(f),
            Self::TooBroad { work_max } => write!(
                f,
                "the search would look at more than {work_max} games: narrow it, or use fields and \
                 declared properties"
            ),
            Self::WrongCursor => f.write_str("the cursor belongs to another search"),
        }
    }
}

impl std::error::Error for Refusal {}
