//! Seats between a hub and the directory: what a hub asks, in the directory's words, and what the
//! directory's answer means to a hub.

use rejoin_core::seat::{SeatAsk, SeatRefusal, SeatRequest};

use crate::command::Command;
use crate::game::Holder;
use crate::refusal::Refusal;

/// A hub's question as a command. A player is named by its id, as it is printed.
#[must_use]
pub fn command(request: &SeatRequest) -> Command {
    let SeatRequest { session, stay, player, game, seat, ask } = *request;
    let holder = Holder { session, stay };
    match ask {
        SeatAsk::Claim => Command::Claim { game, seat, player: player.to_string(), holder },
        SeatAsk::Confirm => Command::Confirm { game, seat, holder },
        SeatAsk::Abandon => Command::Abandon { game, seat, holder },
        SeatAsk::Complete => Command::Complete { game, seat, holder },
    }
}

/// What a refusal means to whoever showed a seat. One that says nothing about the seat means that
/// nobody could say.
#[must_use]
pub fn refusal(refusal: &Refusal) -> SeatRefusal {
    match refusal {
        Refusal::NotFound(_) => SeatRefusal::Unknown,
        Refusal::WrongPlayer => SeatRefusal::NotYours,
        Refusal::SeatEnded => SeatRefusal::Over,
        Refusal::SeatTaken => SeatRefusal::Taken,
        Refusal::WrongStatus(_) | Refusal::GameEnded(_) => SeatRefusal::GameOver,
        Refusal::NotClaimed => SeatRefusal::NotClaimed,
        Refusal::Invalid { .. }
        | Refusal::NotAccepting
        | Refusal::HostAway
        | Refusal::HostUnhealthy
        | Refusal::GameFull { .. }
        | Refusal::KeyReused
        | Refusal::WrongSecret
        | Refusal::AlreadySeated { .. }
        | Refusal::TooManySeats { .. }
        | Refusal::OwnHost
        | Refusal::NoHost
        | Refusal::TerminalAlias(_)
        | Refusal::LimitReached { .. }
        | Refusal::Exists(_)
        | Refusal::InUse(_)
        | Refusal::Busy
        | Refusal::StaleLease
        | Refusal::HooksNotSet
        | Refusal::HostEnded
        | Refusal::NotYours
        | Refusal::Vetoed(_)
        | Refusal::HostSilent
        | Refusal::PlacementEnded
        | Refusal::Filter(_)
        | Refusal::Sort(_)
        | Refusal::TooBroad { .. }
        | Refusal::WrongCursor => SeatRefusal::Unavailable,
    }
}
