//! The life of Games: what the directory orders, what the hooks say to it, and what the directory is
//! told. An order may come again after a line was lost; what was agreed to is not asked again.

use std::time::Duration;

use rejoin_core::id::GameId;

use super::{Hook, Hooked, Machine, Stage};
use crate::game::{Game, GameBody};
use crate::message::{Heard, Word};

/// What a refusal says.
const NO: &str = "the game refused";

/// A Game here.
#[derive(Debug)]
pub(super) struct Run {
    stage: RunStage,
    /// A change that is being decided, or was agreed to and has not come.
    update: Option<Update>,
    /// The end is wanted: within which time, and whether it may be refused.
    destroy: Option<(Duration, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RunStage {
    /// The begin hook is being asked.
    Beginning,
    /// The same, and the Game is not wanted any more.
    Unwanted,
    /// It was refused, on the line of this number.
    Refused(u64),
    /// It runs; whether the hook was told that it is active.
    Running(bool),
    /// It was agreed to end it.
    Ending,
    /// It has ended here, and the directory has not said that it knows.
    Over,
}

#[derive(Debug)]
struct Update {
    number: u64,
    game: Game,
    /// What the hook said.
    verdict: Option<bool>,
    /// On which line the verdict was said.
    line: u64,
}

impl Run {
    fn at(stage: RunStage) -> Self {
        Self { stage, update: None, destroy: None }
    }

    /// One that an earlier process had begun.
    pub(super) fn restored() -> Self {
        Self::at(RunStage::Running(false))
    }

    /// Whether the directory should count on it. One that has ended is named until the directory has
    /// heard so: it ends for that reason, and not because it was forgotten.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.stage, RunStage::Running(_) | RunStage::Ending | RunStage::Over)
    }

    /// Whether players may be asked for.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, RunStage::Running(_))
    }
}

impl Machine {
    pub(super) fn order(&mut self, order: Heard) {
        // Ids are the server's own; what cannot be read is no order.
        match order {
            Heard::Create(body) => self.create(body),
            Heard::CreateEnd(about) => {
                let Some(game) = GameId::from_hex(&about.game) else { return };
                if let Some(Run { stage: stage @ RunStage::Running(false), .. }) =
                    self.games.get_mut(&game)
                {
                    *stage = RunStage::Running(true);
                    self.hook(Hook::CreateEnd(game));
                }
            }
            Heard::Update(body) => self.update(body),
            Heard::UpdateEnd(about) => {
                if let Some(game) = GameId::from_hex(&about.game) {
                    self.updated(game);
                }
            }
            Heard::CheckHealth {} => self.hook(Hook::Health),
            Heard::Destroy { game, limit_ms, may_refuse } => {
                if let Some(game) = GameId::from_hex(&game) {
                    self.destroy(game, Duration::from_millis(limit_ms), may_refuse);
                }
            }
            Heard::DestroyEnd(about) => {
                if let Some(game) = GameId::from_hex(&about.game) {
                    self.forget(game);
                }
            }
            _ => {}
        }
    }

    fn create(&mut self, body: GameBody) {
        let Some(game) = body.read() else { return };
        let line = self.line;
        match self.games.get_mut(&game.id).map(|run| &mut run.stage) {
            None => {
                self.games.insert(game.id, Run::at(RunStage::Beginning));
                self.hook(Hook::CreateBegin(game));
            }
            // The hook is at it.
            Some(RunStage::Beginning | RunStage::Unwanted) => {}
            Some(RunStage::Refused(said_on)) => {
                *said_on = line;
                self.say(Word::Began(game.id, Some(NO)));
            }
            Some(RunStage::Running(_)) => self.say(Word::Began(game.id, None)),
            Some(RunStage::Ending) => self.say(Word::Began(game.id, Some("it is ending"))),
            Some(RunStage::Over) => self.say(Word::Destroyed(game.id)),
        }
    }

    fn update(&mut self, body: GameBody) {
        let Some(game) = body.read() else { return };
        let (id, line) = (game.id, self.line);
        let Some(run) = self.games.get_mut(&id).filter(|run| run.is_running()) else {
            return self.say(Word::Updated(id, Some("it does not run")));
        };
        match &mut run.update {
            Some(known) if known.game == game && known.verdict.is_none() => {}
            // Agreed to, and that was lost with the line.
            Some(known) if known.game == game && known.line != line => {
                known.line = line;
                self.say(Word::Updated(id, None));
            }
            _ => {
                self.last_update += 1;
                let number = self.last_update;
                run.update = Some(Update { number, game: game.clone(), verdict: None, line });
                self.hook(Hook::UpdateBegin(game, number));
            }
        }
    }

    /// The Game has changed as it was agreed to.
    fn updated(&mut self, game: GameId) {
        let Some(run) = self.games.get_mut(&game) else { return };
        if run.update.as_ref().is_some_and(|update| update.verdict == Some(true))
            && let Some(update) = run.update.take()
        {
            self.hook(Hook::UpdateEnd(update.game));
        }
    }

    /// How a Game is whose agreed change was not heard of: it has changed, or the time for it is over.
    pub(super) fn looked(&mut self, body: GameBody) {
        let Some(game) = body.read() else { return };
        let line = self.line;
        let Some(run) = self.games.get_mut(&game.id) else { return };
        let agreed = |update: &Update| update.verdict == Some(true) && update.line != line;
        if !run.update.as_ref().is_some_and(agreed) {
            return;
        }
        if let Some(update) = run.update.take()
            && update.game == game
        {
            self.hook(Hook::UpdateEnd(game));
        }
    }

    fn destroy(&mut self, game: GameId, limit: Duration, may_refuse: bool) {
        let Some(run) = self.games.get_mut(&game) else { return self.say(Word::Destroyed(game)) };
        match run.stage {
            // Decided when the hook is through.
            RunStage::Beginning => run.destroy = Some((limit, may_refuse)),
            RunStage::Unwanted => {}
            RunStage::Refused(_) | RunStage::Over => self.say(Word::Destroyed(game)),
            RunStage::Ending => self.say(Word::Destroying(game, None)),
            RunStage::Running(_) => {
                // Otherwise the hook is being asked.
                if run.destroy.replace((limit, may_refuse)).is_none() {
                    self.hook(Hook::DestroyBegin { game, limit, may_refuse });
                }
            }
        }
    }

    /// Nothing of the Game is wanted any more.
    fn forget(&mut self, game: GameId) {
        let Some(run) = self.games.get_mut(&game) else { return };
        match run.stage {
            RunStage::Beginning | RunStage::Unwanted => run.stage = RunStage::Unwanted,
            RunStage::Refused(_) => drop(self.games.remove(&game)),
            RunStage::Running(_) | RunStage::Ending | RunStage::Over => {
                self.games.remove(&game);
                self.forget_sittings(game);
                self.hook(Hook::DestroyEnd(game));
            }
        }
    }

    /// The game says that a Game has ended.
    pub(super) fn game_over(&mut self, game: GameId) {
        let Some(run) = self.games.get_mut(&game) else { return };
        if matches!(run.stage, RunStage::Running(_) | RunStage::Ending) {
            run.stage = RunStage::Over;
            self.say(Word::Destroyed(game));
        }
    }

    pub(super) fn hooked(&mut self, hooked: Hooked) {
        match hooked {
            Hooked::Created(game, is_yes) => self.created(game, is_yes),
            Hooked::Updated(game, number, is_yes) => self.update_decided(game, number, is_yes),
            Hooked::Healthy(is_well) => self.say(Word::Healthy(is_well)),
            Hooked::Destroying(game, is_yes) => self.destroy_decided(game, is_yes),
        }
    }

    fn created(&mut self, game: GameId, is_yes: bool) {
        let line = self.line;
        let Some(run) = self.games.get_mut(&game) else { return };
        let destroy = run.destroy.take();
        match (run.stage, is_yes) {
            (RunStage::Unwanted, is_begun) => {
                self.games.remove(&game);
                if is_begun {
                    self.hook(Hook::DestroyEnd(game));
                }
            }
            (RunStage::Beginning, false) => {
                run.stage = RunStage::Refused(line);
                self.say(Word::Began(game, Some(NO)));
            }
            (RunStage::Beginning, true) => {
                run.stage = RunStage::Running(false);
                self.say(Word::Began(game, None));
            }
            _ => return,
        }
        if let Some((limit, may_refuse)) = destroy {
            self.destroy(game, limit, may_refuse);
        }
    }

    fn update_decided(&mut self, game: GameId, number: u64, is_yes: bool) {
        let line = if self.stage == Stage::Present || self.stage == Stage::Readying {
            self.line
        } else {
            // It was not said.
            0
        };
        let Some(run) = self.games.get_mut(&game) else { return };
        let Some(update) = run.update.as_mut().filter(|update| update.number == number) else {
            return;
        };
        (update.verdict, update.line) = (Some(is_yes), line);
        if !is_yes {
            run.update = None;
        }
        self.say(Word::Updated(game, (!is_yes).then_some(NO)));
    }

    fn destroy_decided(&mut self, game: GameId, is_yes: bool) {
        let Some(run) = self.games.get_mut(&game) else { return };
        let Some((_, may_refuse)) = run.destroy.take() else { return };
        if !run.is_running() {
            return;
        }
        if is_yes || !may_refuse {
            run.stage = RunStage::Ending;
            self.say(Word::Destroying(game, None));
        } else {
            self.say(Word::Destroying(game, Some(NO)));
        }
    }

    /// What the directory may have missed.
    pub(super) fn say_games_again(&mut self) {
        let line = self.line;
        // Those that it does not ask about again are over.
        self.games
            .retain(|_, run| !matches!(run.stage, RunStage::Refused(said_on) if said_on != line));
        let mut words = Vec::new();
        let mut unheard = Vec::new();
        for (game, run) in &self.games {
            if run.stage == RunStage::Over {
                words.push(Word::Destroyed(*game));
            }
            let agreed = |update: &Update| update.verdict == Some(true) && update.line != line;
            if run.update.as_ref().is_some_and(agreed) {
                unheard.push(*game);
            }
        }
        for word in words {
            self.say(word);
        }
        for game in unheard {
            self.look(game);
        }
    }
}
