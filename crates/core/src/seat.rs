//! Seats as a session knows them: which seat a stay was let in with, and what the directory still has
//! to be told about it.
//!
//! A seat is claimed before its zone admits, confirmed after, and completed when the stay is over and
//! that is durable. What is open is a part of the session's own scope, so that a crash between any two
//! steps only means that something is said again; the directory recognises it by seat, session and
//! stay.

use crate::id::{GameId, PlayerId, SeatId, SessionId};

/// What the directory is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeatAsk {
    /// A stay is about to begin with this seat.
    Claim,
    /// It has begun.
    Confirm,
    /// It will not begin: the reservation goes on.
    Abandon,
    /// It is over: the seat is free.
    Complete,
}

/// A question to the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeatRequest {
    /// The session that shows the seat; the directory's answer goes to it.
    pub session: SessionId,
    /// The stay of that session; with it the directory recognises a repeated question.
    pub stay: u32,
    /// The session's player, who must be the one the seat is reserved for.
    pub player: PlayerId,
    /// The Game that the seat is in.
    pub game: GameId,
    /// The seat, as the client's Join or the server's command named it.
    pub seat: SeatId,
    /// The step of the stay that the directory is asked to carry out.
    pub ask: SeatAsk,
}

/// Why the directory said no.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeatRefusal {
    /// There is no such Game or seat.
    Unknown,
    /// It is another player's.
    NotYours,
    /// It was given back, used up, or its time ran out.
    Over,
    /// Another stay has it.
    Taken,
    /// The Game does not run, or not any more.
    GameOver,
    /// This stay has no claim on it, or not any more.
    NotClaimed,
    /// Nobody could say.
    Unavailable,
}

/// What became of the zone of a Game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GameNews {
    /// It is open, for the first time or again, and in a durable zone that is kept.
    Opened,
    /// It could not be opened: why.
    Refused(String),
    /// It has ended, and everybody in it was parted.
    Ended,
    /// Whether a match runs there: told when one begins or ends, and behind every `Opened` of the zone.
    Match(bool),
}

/// How far a stay is with its seat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeatStep {
    /// The zone admits once the claim is good.
    Claiming,
    /// The zone has admitted.
    Confirming,
    /// The directory knows.
    Active,
    /// The zone did not admit.
    Abandoning,
    /// The stay is over.
    Completing,
}

impl SeatStep {
    /// All of them, in the order in which rows number them.
    pub const ALL: [Self; 5] =
        [Self::Claiming, Self::Confirming, Self::Active, Self::Abandoning, Self::Completing];
}

/// One seat of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seating {
    /// The Game that the seat is in.
    pub game: GameId,
    /// The seat, as the Join or the command that showed it named it.
    pub seat: SeatId,
    /// The stay of the session that it was shown for.
    pub stay: u32,
    /// What is done, and so what the directory is asked next.
    pub step: SeatStep,
    /// The claim is known to be good. Not kept: after a crash it is asked for again.
    pub is_claimed: bool,
    /// An answer is awaited since then. Not kept.
    pub asked_at: Option<crate::time::Time>,
}

impl Seating {
    /// A seat that was shown for a stay.
    #[must_use]
    pub fn shown(game: GameId, seat: SeatId, stay: u32) -> Self {
        Self::kept(game, seat, stay, SeatStep::Claiming)
    }

    /// A seat as it was kept. A confirmation rests on a claim, until the directory says otherwise.
    #[must_use]
    pub fn kept(game: GameId, seat: SeatId, stay: u32, step: SeatStep) -> Self {
        let is_claimed = step == SeatStep::Confirming;
        Self { game, seat, stay, step, is_claimed, asked_at: None }
    }

    /// What the directory has to say next.
    #[must_use]
    pub fn wanted(&self) -> Option<SeatAsk> {
        match (self.step, self.is_claimed) {
            (SeatStep::Claiming | SeatStep::Confirming, false) => Some(SeatAsk::Claim),
            (SeatStep::Confirming, true) => Some(SeatAsk::Confirm),
            (SeatStep::Abandoning, _) => Some(SeatAsk::Abandon),
            (SeatStep::Completing, _) => Some(SeatAsk::Complete),
            (SeatStep::Claiming, true) | (SeatStep::Active, _) => None,
        }
    }

    /// Whether its stay goes on, or is about to begin.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.step, SeatStep::Claiming | SeatStep::Confirming | SeatStep::Active)
    }

    /// The stay is over, or will not begin.
    pub fn let_go(&mut self, step: SeatStep) {
        self.step = step;
        self.asked_at = None;
    }
}
