//! Seats: reserved for one player or a party, looked at, extended and given back; claimed and
//! confirmed by whoever lets players in.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_directory::game::{Guest, Holder};
use rejoin_directory::{Answer, Command, Refusal, What};
use serde::Deserialize;
use serde_json::json;

use super::problem::Problem;
use super::request::{Data, Json, Names, NoBody};
use super::{Api, games, shape, unexpected};

/// Somebody a seat is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GuestBody {
    player: String,
    #[serde(default)]
    data: Data,
}

impl From<GuestBody> for Guest {
    fn from(body: GuestBody) -> Self {
        Self { player: body.player, data: body.data.0 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reservation {
    players: Vec<GuestBody>,
    #[serde(default)]
    key: String,
    hold_ms: Option<u64>,
}

pub(super) async fn reserve(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Reservation>,
) -> Result<Response, Problem> {
    let game = names.game()?;
    let guests = asked.players.into_iter().map(Guest::from).collect();
    let hold = asked.hold_ms.map(Duration::from_millis);
    match api.ask(Command::Reserve { game, guests, key: asked.key, hold }).await? {
        Answer::Seats(seats) => {
            let found = games::found(&api, game).await;
            let connect = shape::address(found.as_ref());
            let shown = json!({
                "game": game.to_string(), "seats": shape::seats(&seats), "connect": connect,
            });
            Ok((StatusCode::CREATED, axum::Json(shown)).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn list(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    match api.ask(Command::ListSeats(names.game()?)).await? {
        Answer::Seats(seats) => {
            Ok(axum::Json(json!({"seats": shape::seats(&seats)})).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn describe(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    let (game, seat) = (names.game()?, names.seat()?);
    match api.ask(Command::ListSeats(game)).await? {
        Answer::Seats(seats) => {
            let found = seats.iter().find(|one| one.id == seat);
            let found = found.ok_or(Refusal::NotFound(What::Seat))?;
            Ok(axum::Json(shape::seat(found)).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extension {
    hold_ms: u64,
}

pub(super) async fn extend(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Extension>,
) -> Result<Response, Problem> {
    let hold = Duration::from_millis(asked.hold_ms);
    one(&api, &names, |game, seat| Command::Extend { game, seat, hold }).await
}

pub(super) async fn release(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    one(&api, &names, |game, seat| Command::Release { game, seat }).await
}

/// Which stay of which session a seat is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stay {
    session: String,
    stay: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    player: String,
    session: String,
    stay: u32,
}

/// Session ids are strings: many readers of JSON round numbers of 64 bits.
fn holder(session: &str, stay: u32) -> Result<Holder, Problem> {
    let is_plain = session.bytes().all(|byte| byte.is_ascii_digit());
    let session = session.parse().ok().filter(|_| is_plain).ok_or(Refusal::Invalid {
        field: "session",
        must: "the id of a session, as a string of digits",
    })?;
    Ok(Holder { session: SessionId(session), stay })
}

pub(super) async fn claim(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Claim>,
) -> Result<Response, Problem> {
    let (player, holder) = (asked.player, holder(&asked.session, asked.stay)?);
    one(&api, &names, |game, seat| Command::Claim { game, seat, player, holder }).await
}

pub(super) async fn confirm(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Stay>,
) -> Result<Response, Problem> {
    let holder = holder(&asked.session, asked.stay)?;
    one(&api, &names, |game, seat| Command::Confirm { game, seat, holder }).await
}

pub(super) async fn abandon(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Stay>,
) -> Result<Response, Problem> {
    let holder = holder(&asked.session, asked.stay)?;
    one(&api, &names, |game, seat| Command::Abandon { game, seat, holder }).await
}

pub(super) async fn complete(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Stay>,
) -> Result<Response, Problem> {
    let holder = holder(&asked.session, asked.stay)?;
    one(&api, &names, |game, seat| Command::Complete { game, seat, holder }).await
}

/// Asks about one seat, and shows it.
async fn one(
    api: &Api,
    names: &Names,
    command: impl FnOnce(GameId, SeatId) -> Command,
) -> Result<Response, Problem> {
    match api.ask(command(names.game()?, names.seat()?)).await? {
        Answer::Seats(seats) => match seats.first() {
            Some(seat) => Ok(axum::Json(shape::seat(seat)).into_response()),
            None => Err(Refusal::NotFound(What::Seat).into()),
        },
        other => Err(unexpected(&other)),
    }
}
