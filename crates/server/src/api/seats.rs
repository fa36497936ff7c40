//! Seats: reserved for one player or a party, looked at, extended and given back; claimed and
//! confirmed by the server or host that lets the players in.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_directory::game::{Guest, Holder, SeatFilter, SeatStatus};
use rejoin_directory::limits::SEATS_PAGE_MAX;
use rejoin_directory::{Answer, Command, Refusal, Secret, What};
use serde::Deserialize;
use serde_json::json;

use super::guard::ApiCaller;
use super::problem::{self, Problem};
use super::request::{Data, Json, Names, NoBody, Parameters, PathNames, ShownSecret, some};
use super::{Api, games, shape, unexpected};

/// A player for whom a seat is asked.
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
    #[serde(default, deserialize_with = "some")]
    secret: Option<String>,
}

pub(super) async fn reserve(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    Json(asked): Json<Reservation>,
) -> Result<Response, Problem> {
    let game = names.game()?;
    let guests = asked.players.into_iter().map(Guest::from).collect();
    let hold = asked.hold_ms.map(Duration::from_millis);
    let caller = caller.outside(asked.secret.as_deref().map(Secret::new).transpose()?);
    let command = Command::Reserve { game, guests, key: asked.key, hold };
    match api.ask_for(caller, command).await? {
        (Answer::Seats(seats), is_new, secret) => {
            let found = games::found(&api, game).await;
            let connect = shape::address(found.as_ref());
            let mut shown = json!({
                "game": game.to_string(), "seats": shape::seats(&seats), "connect": connect,
            });
            if let Some(secret) = secret {
                shown["secret"] = secret.reveal().into();
            }
            Ok((games::made(is_new), axum::Json(shown)).into_response())
        }
        (other, ..) => Err(unexpected(&other)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeatsQuery {
    player: Option<String>,
    status: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn list(
    State(api): State<Api>,
    names: PathNames,
    Parameters(asked): Parameters<SeatsQuery>,
) -> Result<Response, Problem> {
    let limit = asked.limit.unwrap_or(SEATS_PAGE_MAX);
    let status = asked.status.map(|name| status(&name)).transpose()?;
    let after = asked.cursor.map(|text| text.parse().map_err(|_| games::wrong_cursor()));
    let filter = SeatFilter { player: asked.player, status };
    let game = names.0.game()?;
    let command = Command::FindSeats { game, filter, after: after.transpose()?, limit };
    match api.ask(command).await? {
        Answer::Seats(seats) => {
            let last = seats.last().filter(|_| seats.len() >= limit);
            let cursor = last.map(|seat| seat.number.to_string());
            let shown = json!({"seats": shape::seats(&seats), "cursor": cursor});
            Ok(axum::Json(shown).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

fn status(name: &str) -> Result<SeatStatus, Problem> {
    let known = SeatStatus::ALL.into_iter().find(|status| status.name() == name);
    let must = "reserved, claimed, active or ended";
    known.ok_or_else(|| Refusal::Invalid { field: "status", must }.into())
}

pub(super) async fn describe(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    one(&api, &names, |game, seat| Command::DescribeSeat { game, seat }).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Longer {
    hold_ms: u64,
}

pub(super) async fn extend(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<Longer>,
) -> Result<Response, Problem> {
    let hold = Duration::from_millis(asked.hold_ms);
    one(&api, &names, |game, seat| Command::Extend { game, seat, hold }).await
}

/// Gives a seat back. One that is over already needs nothing done.
pub(super) async fn release(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    ShownSecret(secret): ShownSecret,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    let (game, seat) = (names.game()?, names.seat()?);
    let (caller, command) = (caller.outside(secret), Command::Release { game, seat });
    match api.ask(Command::For(caller, Box::new(command))).await {
        Ok(Answer::Seats(seats)) => match seats.first() {
            Some(seat) => Ok(axum::Json(shape::seat(seat)).into_response()),
            None => Err(Refusal::NotFound(What::Seat).into()),
        },
        Ok(Answer::Done) => Ok(StatusCode::NO_CONTENT.into_response()),
        Ok(other) => Err(unexpected(&other)),
        Err(problem) if problem.code() == problem::SEAT_ENDED.0 => {
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// Which stay of which session a seat is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StayBody {
    session: String,
    stay: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimBody {
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
    Json(asked): Json<ClaimBody>,
) -> Result<Response, Problem> {
    let (player, holder) = (asked.player, holder(&asked.session, asked.stay)?);
    one(&api, &names, |game, seat| Command::Claim { game, seat, player, holder }).await
}

pub(super) async fn confirm(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<StayBody>,
) -> Result<Response, Problem> {
    let holder = holder(&asked.session, asked.stay)?;
    one(&api, &names, |game, seat| Command::Confirm { game, seat, holder }).await
}

pub(super) async fn abandon(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<StayBody>,
) -> Result<Response, Problem> {
    let holder = holder(&asked.session, asked.stay)?;
    one(&api, &names, |game, seat| Command::Abandon { game, seat, holder }).await
}

pub(super) async fn complete(
    State(api): State<Api>,
    names: Names,
    Json(asked): Json<StayBody>,
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
