//! The host that the server itself is: its Games are zones. A machine of the usual shape between the
//! directory, which gives orders, and the hub, which opens and ends zones.
//!
//! It keeps nothing. After a crash it says which zones there are, and the directory says which of them
//! it wants: a zone without a Game is ended, and a Game without a zone is over.

use std::collections::{BTreeMap, VecDeque};

use rejoin_core::exchange::ZoneName;
use rejoin_core::id::GameId;
use rejoin_core::seat::GameNews;

use crate::game::{GameSpec, GameView};
use crate::host::{HostOrder, HostWord};

/// What a game may say about the Games of its kind. Everything has a default, which is yes.
///
/// Orders may come again after a restart, and so may these calls.
#[allow(unused_variables)]
pub trait LocalHooks: Send {
    /// A Game is to be prepared; false refuses it, and there never is a zone of it.
    fn on_create_begin(&mut self, game: &GameView) -> bool {
        true
    }

    /// The Game is active. Also told when the host has taken it back after a restart.
    fn on_create_end(&mut self, game: GameId) {}

    /// A Game is to change; false refuses that.
    fn on_update_begin(&mut self, game: GameId, spec: &GameSpec) -> bool {
        true
    }

    /// The Game has changed.
    fn on_update_end(&mut self, game: GameId) {}

    /// Whether all is well.
    fn on_health_check(&mut self) -> bool {
        true
    }

    /// A Game is to end; false keeps it, where that may be refused.
    fn on_destroy_begin(&mut self, game: GameId) -> bool {
        true
    }

    /// The Game is over.
    fn on_destroy_end(&mut self, game: GameId) {}
}

/// Says yes to everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreeable;

impl LocalHooks for Agreeable {}

/// What a local host is given.
#[derive(Clone, Debug)]
pub enum LocalInput {
    /// The directory orders something.
    Order(HostOrder),
    /// A Game's zone is open, and that is durable; for the first time or again.
    ZoneOpened(GameId),
    /// A Game's zone could not be opened: why.
    ZoneRefused(GameId, String),
    /// A Game's zone has ended, and everybody in it was parted.
    ZoneEnded(GameId),
    /// A match began or ended in a Game's zone.
    Match(GameId, bool),
    /// Whether the threads of zones answer.
    Health(bool),
}

impl LocalInput {
    /// What the hub tells of a zone; none if its name is no Game's.
    #[must_use]
    pub fn news(zone: &ZoneName, news: GameNews) -> Option<Self> {
        let game = GameId::from_hex(&zone.name)?;
        Some(match news {
            GameNews::Opened => Self::ZoneOpened(game),
            GameNews::Refused(why) => Self::ZoneRefused(game, why),
            GameNews::Ended => Self::ZoneEnded(game),
            GameNews::Match(running) => Self::Match(game, running),
        })
    }
}

/// What a local host gives out, to be carried out in order.
#[derive(Clone, PartialEq, Debug)]
pub enum LocalOutput {
    /// Tell the directory.
    Say(HostWord),
    /// Open the zone of this Game; say `ZoneOpened` or `ZoneRefused`.
    Open(GameId),
    /// End the zone of this Game; say `ZoneEnded`, also when there is none.
    End(GameId),
    /// Look whether zones answer; say `Health`.
    Look,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Opening,
    Running,
    Ending,
}

/// The local host of one kind of zone.
pub struct LocalHost {
    hooks: Box<dyn LocalHooks>,
    /// While a match runs nobody new may reserve a seat.
    closes_in_match: bool,
    /// The most seats that a Game may have: so many members a zone takes.
    capacity_max: u32,
    games: BTreeMap<GameId, Stage>,
    out: VecDeque<LocalOutput>,
}

impl LocalHost {
    /// A host that runs nothing yet. `closes_in_match`: while a match runs nobody new may reserve a seat.
    #[must_use]
    pub fn new(hooks: Box<dyn LocalHooks>, closes_in_match: bool) -> Self {
        let (games, out) = (BTreeMap::new(), VecDeque::new());
        Self { hooks, closes_in_match, capacity_max: u32::MAX, games, out }
    }

    /// The same, with Games of at most so many seats.
    #[must_use]
    pub fn with_capacity_max(self, capacity_max: u32) -> Self {
        Self { capacity_max, ..self }
    }

    /// Its process has just registered, for the first time or again; with the Games whose zones there
    /// are and, where that is known, whether a match runs there. All that was before is forgotten.
    pub fn begin(&mut self, port: u16, zones: impl IntoIterator<Item = (GameId, Option<bool>)>) {
        let zones: BTreeMap<GameId, Option<bool>> = zones.into_iter().collect();
        self.games = zones.keys().map(|game| (*game, Stage::Running)).collect();
        self.out.clear();
        self.say(HostWord::Ready {
            port,
            log_paths: Vec::new(),
            hooks_set: true,
            games: zones.keys().copied().collect(),
        });
        for (game, running) in zones {
            if let Some(running) = running {
                self.handle(LocalInput::Match(game, running));
            }
        }
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub fn handle(&mut self, input: LocalInput) {
        match input {
            LocalInput::Order(order) => self.order(order),
            LocalInput::ZoneOpened(game) => {
                if let Some(stage @ Stage::Opening) = self.games.get_mut(&game) {
                    *stage = Stage::Running;
                    self.say(HostWord::Began(game, Ok(())));
                }
            }
            LocalInput::ZoneRefused(game, why) => self.gone(game, why),
            LocalInput::ZoneEnded(game) => self.gone(game, "the zone ended".to_owned()),
            LocalInput::Match(game, running) => {
                if self.games.get(&game) == Some(&Stage::Running) {
                    // Said as well where matches close nothing: they may have before a restart.
                    self.say(HostWord::Match(game, running && self.closes_in_match));
                }
            }
            LocalInput::Health(is_well) => {
                let is_well = is_well && self.hooks.on_health_check();
                self.say(HostWord::Healthy(is_well));
            }
        }
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<LocalOutput> {
        self.out.pop_front()
    }

    fn say(&mut self, word: HostWord) {
        self.out.push_back(LocalOutput::Say(word));
    }

    fn order(&mut self, order: HostOrder) {
        match order {
            HostOrder::Create(view) => self.create(&view),
            HostOrder::CreateEnd(game) => self.hooks.on_create_end(game),
            HostOrder::Update(game, spec) => {
                let most = self.capacity_max;
                let verdict = if spec.capacity > most {
                    Err(format!("a game has at most {most} seats here"))
                } else if self.hooks.on_update_begin(game, &spec) {
                    Ok(())
                } else {
                    Err("the game refused".to_owned())
                };
                self.say(HostWord::Updated(game, verdict));
            }
            HostOrder::UpdateEnd(game) => self.hooks.on_update_end(game),
            HostOrder::CheckHealth => self.out.push_back(LocalOutput::Look),
            HostOrder::Destroy { game, may_refuse, .. } => self.destroy(game, may_refuse),
            HostOrder::DestroyEnd(game) => {
                if self.games.contains_key(&game) {
                    self.end(game);
                } else {
                    self.hooks.on_destroy_end(game);
                }
            }
            HostOrder::Warn { .. }
            | HostOrder::Refused(_)
            | HostOrder::RefusedWord { .. }
            | HostOrder::End(_) => {}
        }
    }

    fn create(&mut self, view: &GameView) {
        let game = view.id;
        match self.games.get(&game) {
            Some(Stage::Opening) => {}
            Some(Stage::Running) => self.say(HostWord::Began(game, Ok(()))),
            Some(Stage::Ending) => {
                self.say(HostWord::Began(game, Err("its zone is ending".to_owned())));
            }
            None if !self.hooks.on_create_begin(view) => {
                self.say(HostWord::Began(game, Err("the game refused".to_owned())));
            }
            None => {
                self.games.insert(game, Stage::Opening);
                self.out.push_back(LocalOutput::Open(game));
            }
        }
    }

    fn destroy(&mut self, game: GameId, may_refuse: bool) {
        match self.games.get(&game) {
            None => self.say(HostWord::Destroyed(game)),
            Some(Stage::Ending) => self.say(HostWord::Destroying(game, Ok(()))),
            Some(_) if may_refuse && !self.hooks.on_destroy_begin(game) => {
                self.say(HostWord::Destroying(game, Err("the game refused".to_owned())));
            }
            Some(_) => {
                self.say(HostWord::Destroying(game, Ok(())));
                self.end(game);
            }
        }
    }

    /// A zone that is still being opened is ended as soon as it is.
    fn end(&mut self, game: GameId) {
        if self.games.insert(game, Stage::Ending) != Some(Stage::Ending) {
            self.out.push_back(LocalOutput::End(game));
        }
    }

    fn gone(&mut self, game: GameId, why: String) {
        match self.games.remove(&game) {
            Some(Stage::Opening) => self.say(HostWord::Began(game, Err(why))),
            Some(Stage::Running | Stage::Ending) => {
                self.say(HostWord::Destroyed(game));
            }
            None => {}
        }
    }
}
