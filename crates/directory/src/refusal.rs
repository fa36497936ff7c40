//! Why a request was refused. Every refusal is typed, says what was wrong and, where it helps, what
//! to do; a translator to another protocol needs nothing but the type.

use std::fmt;

use rejoin_core::id::SeatId;

use crate::game::{EndCause, Status};
use crate::search::FilterError;

/// The kind of thing that a refusal is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A fleet; in use while a host, an alias, a queue or a Game, one that has ended included, names it.
    Fleet,
    /// An alias; names of fleets are not tried in its place.
    Alias,
    /// A Game; unknown again when `retention` has passed since its end.
    Game,
    /// A seat of the Game that was asked; forgotten seats are unknown.
    Seat,
    /// A host; once it is over and its Games have ended, only `DescribeHost` knows it.
    Host,
    /// A queue; in use while a placement of it is under way.
    Queue,
    /// A placement of the queue that was asked; forgotten placements are unknown.
    Placement,
    /// A subscription of either kind; one that was cut is unknown.
    Subscription,
    /// A location of a fleet; in use while a host is there.
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

/// Why a request was refused; what was asked for has not been done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is none of that name, or none any more.
    NotFound(What),
    /// A field is not what it may be.
    Invalid {
        /// Name of the field or parameter, for the message and for the `field` of a problem.
        field: &'static str,
        /// What is allowed, as it follows "must be" in the message.
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
    /// The seat is in use or claimed; for a claim, by another stay than the one that asks.
    SeatTaken,
    /// The seat belongs to another player.
    WrongPlayer,
    /// The secret of the reservation or the placement was not shown.
    WrongSecret,
    /// The player has a seat of this Game already.
    AlreadySeated {
        /// The seat that the player has; it is good for this player, whichever caller reserved it.
        seat: SeatId,
    },
    /// No host with room runs Games with so many seats; a host that is full now is not counted.
    TooManySeats {
        /// The most seats that one of the hosts with room allows.
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
        /// Plural name of what there is too much of, for the message.
        what: &'static str,
        /// The configured limit, or the share of it that one caller or key may have.
        limit: usize,
    },
    /// Something of this name is there already; no command is answered so at present.
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
    /// The search would look at more Games than it may. Narrow it, or sort and filter by fields and by
    /// properties that the fleet declares.
    TooBroad {
        /// The configured `search_work_max`.
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
