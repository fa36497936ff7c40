//! Who is in, and the questions about it. A question is asked until it is answered, on every line; the
//! answer to the same entry is the same. Whoever gave up waiting is not in, and the directory hears so.

use rejoin_core::id::{GameId, SeatId};

use super::{Machine, Output, Stage};
use crate::error::AdmitError;
use crate::game::{Seat, SeatBody};
use crate::message::{AnswerBody, Told, Word};

/// Somebody with a seat, as far as this process knows.
#[derive(Debug)]
pub(super) struct Sitting {
    game: GameId,
    /// The directory has not heard yet that it is over.
    is_leaving: bool,
}

/// A question that has no answer yet.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ask {
    Admit {
        ticket: u64,
        game: GameId,
        seat: SeatId,
        player: Option<String>,
        entry: u32,
        is_said: bool,
    },
    Left {
        game: GameId,
        seat: SeatId,
        is_said: bool,
    },
    Seats {
        ticket: u64,
        game: GameId,
    },
    /// How a Game is; asked for this line only.
    Look(GameId),
}

impl Ask {
    /// Who waits for the answer.
    pub(super) fn ticket(&self) -> Option<u64> {
        match self {
            Self::Admit { ticket, .. } | Self::Seats { ticket, .. } => Some(*ticket),
            Self::Left { .. } | Self::Look(_) => None,
        }
    }

    fn word(&self, ask: u64) -> Word {
        match self.clone() {
            Self::Admit { game, seat, player, entry, .. } => {
                Word::Admit { ask, game, seat, player, entry }
            }
            Self::Left { game, seat, .. } => Word::Left { ask, game, seat },
            Self::Seats { game, .. } => Word::Seats { ask, game },
            Self::Look(game) => Word::Game { ask, game },
        }
    }
}

impl Machine {
    /// Asks now, or as soon as it can be.
    pub(super) fn ask(&mut self, ask: Ask) {
        self.last_ask += 1;
        self.asks.insert(self.last_ask, ask);
        self.say_ask(self.last_ask);
    }

    fn say_ask(&mut self, number: u64) {
        let Some(ask) = self.asks.get_mut(&number).filter(|_| self.stage == Stage::Present) else {
            return;
        };
        if let Ask::Admit { is_said, .. } | Ask::Left { is_said, .. } = ask {
            *is_said = true;
        }
        let word = ask.word(number);
        self.out.push_back(Output::Say(word));
    }

    pub(super) fn look(&mut self, game: GameId) {
        self.ask(Ask::Look(game));
    }

    /// On a new line everything is asked again, in order.
    pub(super) fn ask_all_again(&mut self) {
        let asks: Vec<u64> = self.asks.keys().copied().collect();
        for ask in asks {
            if !matches!(self.asks.get(&ask), Some(Ask::Look(_))) {
                self.say_ask(ask);
            }
        }
    }

    /// What the directory was too busy for.
    pub(super) fn ask_unsaid(&mut self) {
        let is_unsaid = |ask: &Ask| matches!(ask, Ask::Left { is_said: false, .. });
        let asks = self.asks.iter().filter(|(_, ask)| is_unsaid(ask)).map(|(number, _)| *number);
        for ask in asks.collect::<Vec<_>>() {
            self.say_ask(ask);
        }
    }

    pub(super) fn forget_looks(&mut self) {
        self.asks.retain(|_, ask| !matches!(ask, Ask::Look(_)));
    }

    pub(super) fn admit(
        &mut self,
        ticket: u64,
        game: GameId,
        seat: SeatId,
        player: Option<String>,
    ) {
        let refusal = match (self.games.get(&game), self.sittings.get(&seat)) {
            (Some(run), None) if run.is_running() => None,
            (Some(run), Some(sitting)) if run.is_running() && sitting.game == game => {
                Some(if sitting.is_leaving { AdmitError::Ended } else { AdmitError::Taken })
            }
            (Some(run), Some(_)) if run.is_running() => Some(AdmitError::NoSuchSeat),
            (Some(_), _) => Some(AdmitError::GameNotActive),
            (None, _) => Some(AdmitError::NotYours),
        };
        if let Some(refusal) = refusal {
            return self.out.push_back(Output::Answer(ticket, Err(refusal)));
        }
        self.last_entry += 1;
        let entry = self.last_entry;
        self.sittings.insert(seat, Sitting { game, is_leaving: false });
        self.ask(Ask::Admit { ticket, game, seat, player, entry, is_said: false });
    }

    /// Nobody waits any more. What was asked may have been granted, so it is taken back.
    pub(super) fn give_up(&mut self, ticket: u64) {
        let found = self.asks.iter().find(|(_, ask)| ask.ticket() == Some(ticket));
        let Some(number) = found.map(|(number, _)| *number) else { return };
        if let Some(Ask::Admit { game, seat, is_said, .. }) = self.asks.remove(&number) {
            if is_said {
                self.left(game, seat);
            } else {
                self.sittings.remove(&seat);
            }
        }
    }

    pub(super) fn left(&mut self, game: GameId, seat: SeatId) {
        // One that a process before this one let in is not known here.
        let sitting = self.sittings.entry(seat).or_insert(Sitting { game, is_leaving: false });
        if !std::mem::replace(&mut sitting.is_leaving, true) {
            self.ask(Ask::Left { game, seat, is_said: false });
        }
    }

    pub(super) fn answered(&mut self, answer: AnswerBody) {
        // No entry: nobody waits any more.
        let Some(ask) = self.asks.remove(&answer.ask) else { return };
        match ask {
            Ask::Admit { ticket, game, seat, .. } => {
                let Some(outcome) = verdict(&answer) else {
                    self.asks.insert(answer.ask, ask);
                    return;
                };
                let outcome = outcome.and_then(|_| seats(answer.seats, game));
                if outcome.is_err() {
                    self.sittings.remove(&seat);
                }
                self.out.push_back(Output::Answer(ticket, outcome));
            }
            Ask::Seats { ticket, game } => match verdict(&answer) {
                None => drop(self.asks.insert(answer.ask, ask)),
                Some(outcome) => {
                    let outcome = outcome.and_then(|_| seats(answer.seats, game));
                    self.out.push_back(Output::Answer(ticket, outcome));
                }
            },
            Ask::Left { game, seat, .. } => match verdict(&answer) {
                Some(Err(AdmitError::Busy)) => {
                    self.asks.insert(answer.ask, Ask::Left { game, seat, is_said: false });
                }
                None => drop(self.asks.insert(answer.ask, ask)),
                Some(_) => drop(self.sittings.remove(&seat)),
            },
            Ask::Look(_) => {
                if let Some(game) = answer.game {
                    self.looked(game);
                }
            }
        }
    }

    pub(super) fn forget_sittings(&mut self, game: GameId) {
        self.sittings.retain(|_, sitting| sitting.game != game);
        self.asks.retain(|_, ask| !matches!(ask, Ask::Left { game: of, .. } if *of == game));
    }
}

/// What was decided; none: nothing was, and the next line will tell.
fn verdict(answer: &AnswerBody) -> Option<Result<(), AdmitError>> {
    match &answer.refused {
        None => Some(Ok(())),
        Some(Told { code, .. }) => AdmitError::of_code(code).map(Err),
    }
}

/// The seats of an answer. One that cannot be read lets nobody in.
fn seats(bodies: Option<Vec<SeatBody>>, game: GameId) -> Result<Vec<Seat>, AdmitError> {
    let read = bodies.unwrap_or_default().into_iter().map(|body| body.read(game));
    read.collect::<Option<_>>().ok_or_else(|| AdmitError::Refused("unreadable".to_owned()))
}
