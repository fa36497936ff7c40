//! What goes over the line of a host, as JSON: one object with one field, which names it. Input is
//! strict; fields that are not known are refused by name.

use axum::extract::ws::Utf8Bytes;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId};
use rejoin_directory::Answer;
use rejoin_directory::game::{Entry, GameSpec};
use rejoin_directory::host::{HostOrder, HostView, HostWord, Registration};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

use super::super::key::Role;
use super::super::problem::Problem;
use super::super::request::Data;
use super::super::shape;

/// A host and the lease of its process.
pub(super) type HostProcess = (HostId, OwnerEpoch);

/// Why a message is none: in words.
pub(super) struct Unreadable(pub(super) String);

impl Unreadable {
    pub(super) fn binary() -> Self {
        Self("messages are texts".to_owned())
    }
}

/// What is spoken here.
const VERSION: u32 = 1;

/// The first message: who it is.
pub(super) struct Hello {
    pub(super) registration: Registration,
    /// The number that the process drew when it started.
    pub(super) process: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum First {
    Hello(HelloBody),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelloBody {
    version: u32,
    fleet: String,
    name: String,
    location: String,
    address: String,
    games_max: u32,
    reusable: bool,
    process: String,
}

impl Hello {
    pub(super) fn read(text: &Utf8Bytes) -> Result<Self, Unreadable> {
        let First::Hello(body) = parse(text)?;
        if body.version != VERSION {
            return Err(Unreadable(format!("version {VERSION} is spoken here")));
        }
        let digits = body.process.len() == 16;
        let process = u64::from_str_radix(&body.process, 16).ok().filter(|_| digits);
        let process = process
            .ok_or_else(|| Unreadable("process must be 16 hexadecimal digits".to_owned()))?;
        let registration = Registration {
            fleet: body.fleet,
            name: body.name,
            location: body.location,
            address: body.address,
            games_max: body.games_max,
            is_reusable: body.reusable,
        };
        Ok(Self { registration, process })
    }
}

/// A message of a host after its hello.
pub(super) enum HostRequest {
    Word(DirectoryWord),
    /// Questions, each with the number that its answer repeats.
    Admit(u64, AdmitRequest),
    Left(u64, GameId, SeatId),
    Seats(u64, GameId),
    Game(u64, GameId),
}

/// A message that goes on to the directory.
pub(super) enum DirectoryWord {
    /// The host gets no answer.
    Plain(HostWord),
    /// The host gets a `readied` once the directory has taken this and it is durable.
    Ready(HostWord),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Message {
    Ready { port: u16, log_paths: Vec<String>, hooks_set: bool, games: Vec<Game> },
    Healthy { well: bool },
    Began(Verdict),
    Updated(Verdict),
    Destroying(Verdict),
    Destroyed { game: Game },
    Admit(Admission),
    Left { ask: u64, game: Game, seat: Seat },
    Seats { ask: u64, game: Game },
    Game { ask: u64, game: Game },
    Ending {},
}

/// A hook's yes, or its words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    game: Game,
    refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Admission {
    ask: u64,
    game: Game,
    seat: Seat,
    player: Option<String>,
    entry: u32,
}

/// May this player come in?
pub(super) struct AdmitRequest {
    pub(super) game: GameId,
    pub(super) seat: SeatId,
    pub(super) player: Option<String>,
    number: u32,
}

impl AdmitRequest {
    pub(super) fn entry(&self, process: u64) -> Entry {
        Entry { process, number: self.number }
    }
}

impl HostRequest {
    pub(super) fn read(text: &Utf8Bytes) -> Result<Self, Unreadable> {
        let plain = |word| Ok(Self::Word(DirectoryWord::Plain(word)));
        match parse(text)? {
            Message::Ready { port, log_paths, hooks_set, games } => {
                let games = games.into_iter().map(|game| game.0).collect();
                Ok(Self::Word(DirectoryWord::Ready(HostWord::Ready {
                    port,
                    log_paths,
                    hooks_set,
                    games,
                })))
            }
            Message::Healthy { well } => plain(HostWord::Healthy(well)),
            Message::Began(it) => plain(HostWord::Began(it.game.0, outcome(it.refused))),
            Message::Updated(it) => plain(HostWord::Updated(it.game.0, outcome(it.refused))),
            Message::Destroying(it) => plain(HostWord::Destroying(it.game.0, outcome(it.refused))),
            Message::Destroyed { game } => plain(HostWord::Destroyed(game.0)),
            Message::Ending {} => plain(HostWord::Ending),
            Message::Admit(it) if it.entry == 0 => {
                Err(Unreadable("entries are counted from 1".to_owned()))
            }
            Message::Admit(it) => {
                let (game, seat, player, number) = (it.game.0, it.seat.0, it.player, it.entry);
                Ok(Self::Admit(it.ask, AdmitRequest { game, seat, player, number }))
            }
            Message::Left { ask, game, seat } => Ok(Self::Left(ask, game.0, seat.0)),
            Message::Seats { ask, game } => Ok(Self::Seats(ask, game.0)),
            Message::Game { ask, game } => Ok(Self::Game(ask, game.0)),
        }
    }
}

fn outcome(refused: Option<String>) -> Result<(), String> {
    refused.map_or(Ok(()), Err)
}

fn parse<T: for<'de> Deserialize<'de>>(text: &Utf8Bytes) -> Result<T, Unreadable> {
    serde_json::from_str(text.as_str()).map_err(|error| Unreadable(error.to_string()))
}

/// The id of a Game in hexadecimal digits.
struct Game(GameId);

impl<'de> Deserialize<'de> for Game {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = GameId::from_hex(&String::deserialize(from)?);
        id.map(Self).ok_or_else(|| D::Error::custom("a game's id has 32 hexadecimal digits"))
    }
}

/// The id of a seat in hexadecimal digits.
struct Seat(SeatId);

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = SeatId::from_hex(&String::deserialize(from)?);
        id.map(Self).ok_or_else(|| D::Error::custom("a seat's id has 32 hexadecimal digits"))
    }
}

/// The answer to a hello that was taken: the id of the host and its lease.
pub(super) fn welcome(view: &HostView) -> Value {
    json!({"welcome": {"host": view.id.to_string(), "lease": view.lease.to_string()}})
}

/// Whether it is ready now.
pub(super) fn readied(is_present: bool) -> Value {
    json!({"readied": {"present": is_present}})
}

/// The last message.
pub(super) fn bye(problem: &Problem) -> Value {
    json!({"bye": problem.body()})
}

/// An order of the directory as the message that the host gets.
pub(super) fn order(order: &HostOrder) -> Value {
    let about = |game: &GameId| json!({"game": game.to_string()});
    match order {
        HostOrder::Create(view) => json!({"create": shape::game(view, Role::Host)}),
        HostOrder::CreateEnd(game) => json!({"create_end": about(game)}),
        HostOrder::Update(game, spec) => json!({"update": changed(game, spec)}),
        HostOrder::UpdateEnd(game) => json!({"update_end": about(game)}),
        HostOrder::CheckHealth => json!({"check_health": {}}),
        HostOrder::Warn { ends_in } => json!({"warn": {"ends_in_ms": shape::millis(*ends_in)}}),
        HostOrder::Destroy { game, limit, may_refuse } => json!({"destroy": {
            "game": game.to_string(),
            "limit_ms": shape::millis(*limit),
            "may_refuse": may_refuse,
        }}),
        HostOrder::DestroyEnd(game) => json!({"destroy_end": about(game)}),
        HostOrder::Refused(refusal) => json!({"refused": Problem::from(refusal.clone()).body()}),
        HostOrder::RefusedWord { word, game, why } => {
            let problem = Problem::from(why.clone());
            json!({"refused": problem.with("word", *word).with("game", game.to_string()).body()})
        }
        HostOrder::End(end) => json!({"end": {"cause": end.name()}}),
    }
}

/// What may change in a Game, as it would be.
fn changed(game: &GameId, spec: &GameSpec) -> Value {
    json!({
        "id": game.to_string(),
        "fleet": spec.fleet,
        "location": spec.location,
        "name": spec.name,
        "properties": spec.properties,
        "capacity": spec.capacity,
        "accepts": spec.accepts,
        "visible": spec.visible,
        "creator": spec.creator,
        "ends_when_empty": spec.ends_when_empty,
        "data": Data::show(&spec.data),
    })
}

/// The answer to a question.
pub(super) fn answer(ask: u64, outcome: Result<Answer, Problem>, role: Role) -> Value {
    let mut answer = match outcome {
        Ok(Answer::Seats(seats)) => json!({"seats": shape::seats(&seats)}),
        Ok(Answer::Game(view)) => json!({"game": shape::game(&view, role)}),
        Ok(_) => json!({}),
        Err(problem) => json!({"refused": problem.body()}),
    };
    answer["ask"] = ask.into();
    json!({"answer": answer})
}
