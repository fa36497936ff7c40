//! What goes over the line, both ways: one JSON object with one field, which names it.

use rejoin_core::id::{GameId, SeatId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::game::{GameBody, SeatBody};

/// What is spoken.
const VERSION: u32 = 1;

/// What a process says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub fleet: String,
    pub name: String,
    pub location: String,
    pub address: String,
    pub games_max: u32,
    pub is_reusable: bool,
    /// Drawn when the process starts: who was let in by it, it does not let in twice.
    pub process: u64,
}

/// Something to say.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Word {
    Hello,
    Ready { port: u16, log_paths: Vec<String>, games: Vec<GameId> },
    Healthy(bool),
    Began(GameId, Option<&'static str>),
    Updated(GameId, Option<&'static str>),
    Destroying(GameId, Option<&'static str>),
    Destroyed(GameId),
    Admit { ask: u64, game: GameId, seat: SeatId, player: Option<String>, entry: u32 },
    Left { ask: u64, game: GameId, seat: SeatId },
    Seats { ask: u64, game: GameId },
    Game { ask: u64, game: GameId },
    Ending,
}

impl Word {
    pub(crate) fn text(&self, about: &Registration) -> String {
        self.json(about).to_string()
    }

    fn json(&self, about: &Registration) -> Value {
        match self {
            Self::Hello => json!({"hello": {
                "version": VERSION,
                "fleet": about.fleet,
                "name": about.name,
                "location": about.location,
                "address": about.address,
                "games_max": about.games_max,
                "reusable": about.is_reusable,
                "process": format!("{:016x}", about.process),
            }}),
            Self::Ready { port, log_paths, games } => json!({"ready": {
                "port": port,
                "log_paths": log_paths,
                "hooks_set": true,
                "games": games.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }}),
            Self::Healthy(well) => json!({"healthy": {"well": well}}),
            Self::Began(game, refused) => json!({"began": verdict(game, *refused)}),
            Self::Updated(game, refused) => json!({"updated": verdict(game, *refused)}),
            Self::Destroying(game, refused) => json!({"destroying": verdict(game, *refused)}),
            Self::Destroyed(game) => json!({"destroyed": {"game": game.to_string()}}),
            Self::Admit { ask, game, seat, player, entry } => json!({"admit": {
                "ask": ask,
                "game": game.to_string(),
                "seat": seat.to_string(),
                "player": player,
                "entry": entry,
            }}),
            Self::Left { ask, game, seat } => {
                json!({"left": {"ask": ask, "game": game.to_string(), "seat": seat.to_string()}})
            }
            Self::Seats { ask, game } => json!({"seats": {"ask": ask, "game": game.to_string()}}),
            Self::Game { ask, game } => json!({"game": {"ask": ask, "game": game.to_string()}}),
            Self::Ending => json!({"ending": {}}),
        }
    }
}

fn verdict(game: &GameId, refused: Option<&str>) -> Value {
    match refused {
        None => json!({"game": game.to_string()}),
        Some(why) => json!({"game": game.to_string(), "refused": why}),
    }
}

/// Something that was said by the server.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Heard {
    Welcome {},
    Readied { present: bool },
    Create(GameBody),
    CreateEnd(About),
    Update(GameBody),
    UpdateEnd(About),
    CheckHealth {},
    Warn { ends_in_ms: u64 },
    Destroy { game: String, limit_ms: u64, may_refuse: bool },
    DestroyEnd(About),
    Refused(Told),
    End { cause: String },
    Bye(Told),
    Answer(AnswerBody),
}

/// A message about one Game, by its id in 32 hexadecimal digits; it carries nothing else.
#[derive(Deserialize, Debug)]
pub(crate) struct About {
    pub game: String,
}

/// A problem as the server names it: the host acts on `code`; `detail` is for people.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct Told {
    pub code: String,
    #[serde(default)]
    pub detail: String,
}

#[derive(Deserialize, Debug)]
pub(crate) struct AnswerBody {
    pub ask: u64,
    pub seats: Option<Vec<SeatBody>>,
    pub game: Option<GameBody>,
    pub refused: Option<Told>,
}

impl Heard {
    /// None: it cannot be read. A later server may say more than is understood here.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
