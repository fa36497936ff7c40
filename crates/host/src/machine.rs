//! The host's rules, without sockets, threads or clocks: one input, then outputs until there are none.
//!
//! It knows which Games run here and how far each is, and which questions have no answer. When a line is
//! lost nothing of that is: on the next one it says what it runs, and asks again what was not answered.
//! Orders that come a second time are known by the Game they are about.

mod orders;
mod seats;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rejoin_core::id::{GameId, SeatId};

use crate::error::{AdmitError, HostEnd};
use crate::game::{Game, Seat};
use crate::message::{Heard, Told, Word};

use self::orders::Run;
use self::seats::{Ask, Sitting};

/// What the machine is given.
#[derive(Debug)]
pub(crate) enum Input {
    /// A line is open.
    Opened,
    /// It is gone.
    Lost,
    Heard(Heard),
    /// The game says that it is ready.
    Ready {
        port: u16,
        log_paths: Vec<String>,
    },
    /// May this player come in? Answered by ticket.
    Admit {
        ticket: u64,
        game: GameId,
        seat: SeatId,
        player: Option<String>,
    },
    /// Nobody waits for that answer any more.
    GiveUp(u64),
    Seats {
        ticket: u64,
        game: GameId,
    },
    Left {
        game: GameId,
        seat: SeatId,
    },
    GameOver(GameId),
    Ending,
    Hooked(Hooked),
    /// Some time has passed.
    Tick,
}

/// What a hook said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hooked {
    Created(GameId, bool),
    /// The number is the hook's.
    Updated(GameId, u64, bool),
    Healthy(bool),
    Destroying(GameId, bool),
}

/// What the machine gives out, to be carried out in order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Output {
    Say(Word),
    Hook(Hook),
    Answer(u64, Result<Vec<Seat>, AdmitError>),
    /// The directory knows that it is ready.
    Readied,
    /// Let this line go, and try another in a while.
    Redial,
    /// The end, once.
    Over(HostEnd),
}

/// A hook to be called.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Hook {
    CreateBegin(Game),
    CreateEnd(GameId),
    UpdateBegin(Game, u64),
    UpdateEnd(Game),
    Health,
    DestroyBegin { game: GameId, limit: Duration, may_refuse: bool },
    DestroyEnd(GameId),
    Line(bool),
    Warning(Duration),
}

/// How far the line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Away,
    /// Hello was said.
    Greeting,
    /// It is registered.
    Welcome,
    /// Ready was said.
    Readying,
    /// The directory knows that it is ready.
    Present,
}

/// All that a host knows: its Games, who sits in them, what was asked, and how far the line is. After the end
/// it answers questions with that end and ignores all other inputs.
pub(crate) struct Machine {
    stage: Stage,
    /// How many lines there were.
    line: u64,
    ready: Option<(u16, Vec<String>)>,
    games: BTreeMap<GameId, Run>,
    sittings: BTreeMap<SeatId, Sitting>,
    asks: BTreeMap<u64, Ask>,
    last_ask: u64,
    last_entry: u32,
    last_update: u64,
    is_ending: bool,
    over: Option<HostEnd>,
    /// Said between ready and the word that it is: the directory would not take it yet.
    held: Vec<Word>,
    out: VecDeque<Output>,
}

impl Machine {
    /// A process that still runs these Games.
    pub(crate) fn new(running: impl IntoIterator<Item = GameId>) -> Self {
        Self {
            stage: Stage::Away,
            line: 0,
            ready: None,
            games: running.into_iter().map(|game| (game, Run::restored())).collect(),
            sittings: BTreeMap::new(),
            asks: BTreeMap::new(),
            last_ask: 0,
            last_entry: 0,
            last_update: 0,
            is_ending: false,
            over: None,
            held: Vec::new(),
            out: VecDeque::new(),
        }
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub(crate) fn handle(&mut self, input: Input) {
        if let Some(end) = self.over.clone() {
            if let Input::Admit { ticket, .. } | Input::Seats { ticket, .. } = input {
                self.out.push_back(Output::Answer(ticket, Err(AdmitError::Over(end))));
            }
            return;
        }
        match input {
            Input::Opened => {
                self.line += 1;
                self.stage = Stage::Greeting;
                self.held.clear();
                self.out.push_back(Output::Say(Word::Hello));
            }
            Input::Lost => self.lost(),
            Input::Heard(heard) => self.heard(heard),
            Input::Ready { port, log_paths } => {
                self.ready = Some((port, log_paths));
                self.say_ready();
            }
            Input::Admit { ticket, game, seat, player } => self.admit(ticket, game, seat, player),
            Input::GiveUp(ticket) => self.give_up(ticket),
            Input::Seats { ticket, game } => self.ask(Ask::Seats { ticket, game }),
            Input::Left { game, seat } => self.left(game, seat),
            Input::GameOver(game) => self.game_over(game),
            Input::Ending => {
                self.is_ending = true;
                self.say(Word::Ending);
            }
            Input::Hooked(hooked) => self.hooked(hooked),
            Input::Tick => self.ask_unsaid(),
        }
    }

    /// The next thing to carry out.
    pub(crate) fn next_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Welcome {} if self.stage == Stage::Greeting => {
                self.stage = Stage::Welcome;
                self.say_ready();
            }
            Heard::Readied { present: true } if self.stage == Stage::Readying => self.readied(),
            Heard::Welcome {} | Heard::Readied { .. } => {}
            Heard::Refused(told) => self.refused(told),
            Heard::Bye(told) => self.dismissed(told),
            Heard::End { cause } => self.end(HostEnd::named(&cause)),
            Heard::Answer(answer) => self.answered(answer),
            Heard::Warn { ends_in_ms } => {
                self.hook(Hook::Warning(Duration::from_millis(ends_in_ms)));
            }
            order => self.order(order),
        }
    }

    /// Says what it runs, as soon as it is registered and ready.
    fn say_ready(&mut self) {
        let (Stage::Welcome, Some((port, log_paths))) = (self.stage, &self.ready) else { return };
        let games = self.games.iter().filter(|(_, run)| run.is_here()).map(|(game, _)| *game);
        let ready =
            Word::Ready { port: *port, log_paths: log_paths.clone(), games: games.collect() };
        self.out.push_back(Output::Say(ready));
        self.stage = Stage::Readying;
    }

    /// The directory has brought its Games and these together. What it wants of them it has said again
    /// before this; now it hears again what it may have missed.
    fn readied(&mut self) {
        self.stage = Stage::Present;
        self.out.push_back(Output::Readied);
        self.hook(Hook::Line(true));
        for word in std::mem::take(&mut self.held) {
            self.say(word);
        }
        self.say_games_again();
        self.ask_all_again();
        if self.is_ending {
            self.say(Word::Ending);
        }
    }

    fn lost(&mut self) {
        let was_present = self.stage == Stage::Present;
        self.stage = Stage::Away;
        self.held.clear();
        if was_present {
            self.hook(Hook::Line(false));
        }
        self.forget_looks();
    }

    /// A word was refused. About a Game that is not wanted here any more nothing is to be done.
    fn refused(&mut self, told: Told) {
        match told.code.as_str() {
            "stale_lease" => self.end(HostEnd::TakenOver),
            "host_ended" | "host_not_found" => self.out.push_back(Output::Redial),
            "busy" if self.stage == Stage::Readying => self.out.push_back(Output::Redial),
            _ if self.stage == Stage::Readying => {
                self.end(HostEnd::Refused { code: told.code, detail: told.detail });
            }
            _ => {}
        }
    }

    /// The server ends the line and says why. Whether another makes sense depends on that.
    fn dismissed(&mut self, told: Told) {
        match told.code.as_str() {
            "stale_lease" => self.end(HostEnd::TakenOver),
            "busy" | "stopped" | "no_answer" | "host_ended" | "body_too_slow" => {
                self.out.push_back(Output::Redial);
            }
            _ => self.end(HostEnd::Refused { code: told.code, detail: told.detail }),
        }
    }

    /// The end, once; who waits for an answer is told.
    pub(crate) fn end(&mut self, end: HostEnd) {
        if self.over.is_some() {
            return;
        }
        for ask in std::mem::take(&mut self.asks).into_values() {
            if let Some(ticket) = ask.ticket() {
                self.out.push_back(Output::Answer(ticket, Err(AdmitError::Over(end.clone()))));
            }
        }
        self.over = Some(end.clone());
        self.stage = Stage::Away;
        self.out.push_back(Output::Over(end));
    }

    /// Says something about a Game, or keeps it until it will be taken. Without a line it is not said:
    /// the next one begins with how things are.
    fn say(&mut self, word: Word) {
        match self.stage {
            Stage::Present => self.out.push_back(Output::Say(word)),
            Stage::Readying => self.held.push(word),
            Stage::Away | Stage::Greeting | Stage::Welcome => {}
        }
    }

    fn hook(&mut self, hook: Hook) {
        self.out.push_back(Output::Hook(hook));
    }
}
