//! What a host can be told instead of what it asked for: a start that failed, a player who may not
//! come in, and its own end.

use std::fmt;

use rejoin_client::driver::OpenError;

/// How a host came to its end. Nothing is taken up again by itself after it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostEnd {
    /// The process ended it, by [`Host::end`](crate::Host::end).
    Ended,
    /// Its only Game is over, and it was built [`for_one_game`](crate::Builder::for_one_game).
    Spent,
    /// It was not connected and ready for longer than the directory waits; its Games have ended with it.
    Lost,
    /// No health check succeeded for longer than the directory waits; its Games have ended with it.
    Unhealthy,
    /// It was drained, so it got no new Games, and its last one is over.
    Drained,
    /// Another process of the same fleet and name speaks for it now.
    TakenOver,
    /// The server does not want it.
    Refused {
        /// The code of the problem, such as `no_key` or `fleet_not_found`.
        code: String,
        /// The server's sentence for people; empty where the server named only a code.
        detail: String,
    },
    /// All of its handles were dropped; the directory only sees that it is away.
    Dropped,
}

impl HostEnd {
    /// A cause as the server names it.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "ended" => Self::Ended,
            "spent" => Self::Spent,
            "lost" => Self::Lost,
            "unhealthy" => Self::Unhealthy,
            "drained" => Self::Drained,
            other => Self::Refused { code: other.to_owned(), detail: String::new() },
        }
    }
}

impl fmt::Display for HostEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the host has ended"),
            Self::Spent => f.write_str("the host's only game is over"),
            Self::Lost => f.write_str("the host was away for too long"),
            Self::Unhealthy => f.write_str("the host was not well for too long"),
            Self::Drained => f.write_str("the host was emptied"),
            Self::TakenOver => f.write_str("another process speaks for the host"),
            Self::Refused { code, detail } => {
                write!(f, "the server refuses the host: {code}: {detail}")
            }
            Self::Dropped => f.write_str("the host was let go"),
        }
    }
}

/// Why a host is not there.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// The address of the server, or its roots, cannot be used.
    Endpoint(OpenError),
    /// The key cannot be sent: it has characters that no key has.
    Key,
    /// Set the hooks before saying that it is ready.
    HooksNotSet,
    /// It said that it is ready before.
    ReadyTwice,
    /// The system gives no randomness, or no thread.
    System(std::io::Error),
    /// It is over.
    Over(HostEnd),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(error) => error.fmt(f),
            Self::Key => f.write_str("the key is not one that `rejoin key new` prints"),
            Self::HooksNotSet => f.write_str("set the hooks before saying ready"),
            Self::ReadyTwice => f.write_str("the host said that it is ready before"),
            Self::System(error) => write!(f, "the system does not start the host: {error}"),
            Self::Over(end) => end.fmt(f),
        }
    }
}

impl std::error::Error for HostError {}

/// Why a player may not come in. Every one of them means no.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AdmitError {
    /// What was shown is no ticket: 32 hexadecimal digits.
    NotATicket,
    /// This host does not run that Game.
    NotYours,
    /// The Game has no such seat; it may be another Game's.
    NoSuchSeat,
    /// The seat belongs to another player.
    WrongPlayer,
    /// The seat is in use.
    Taken,
    /// The seat is over: it ran out, was given back or used up.
    Ended,
    /// The Game takes nobody in: it is beginning, ending or over.
    GameNotActive,
    /// More is asked than the directory can take; again in a moment.
    Busy,
    /// The directory could not be asked in time.
    Unreachable,
    /// The host is over.
    Over(HostEnd),
    /// The directory says no for another reason: its code.
    Refused(String),
}

impl AdmitError {
    /// What a refusal means; none: it was not decided, and is asked again.
    pub(crate) fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "seat_not_found" => Self::NoSuchSeat,
            "game_not_found" | "not_yours" => Self::NotYours,
            "wrong_player" => Self::WrongPlayer,
            "seat_taken" => Self::Taken,
            "seat_ended" => Self::Ended,
            "wrong_status" | "game_ended" => Self::GameNotActive,
            "busy" => Self::Busy,
            "stale_lease" | "stopped" | "no_answer" | "host_not_found" => return None,
            other => Self::Refused(other.to_owned()),
        })
    }
}

impl fmt::Display for AdmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATicket => f.write_str("a ticket has 32 hexadecimal digits"),
            Self::NotYours => f.write_str("the game is not one of this host's"),
            Self::NoSuchSeat => f.write_str("the game has no such seat"),
            Self::WrongPlayer => f.write_str("the seat belongs to another player"),
            Self::Taken => f.write_str("the seat is in use"),
            Self::Ended => f.write_str("the seat is over"),
            Self::GameNotActive => f.write_str("the game takes nobody in now"),
            Self::Busy => f.write_str("the directory has too much to do, try again in a moment"),
            Self::Unreachable => f.write_str("the directory could not be asked in time"),
            Self::Over(end) => end.fmt(f),
            Self::Refused(code) => write!(f, "the directory refused: {code}"),
        }
    }
}

impl std::error::Error for AdmitError {}
