//! Players and their accounts, for operators. An answer comes after the change is durable and the
//! sessions that it ends were ordered to end.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rejoin_core::account::{Name, REASON_CHARS_MAX, Refusal as PlayerRefusal, Role};
use rejoin_core::hub::{Answer, PasswordHash, PlayerCommand, Whom};
use rejoin_core::id::PlayerId;
use rejoin_core::time::WallTime;
use rejoin_directory::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::games::wrong_cursor;
use super::problem::{self, Problem};
use super::request::{Json, Names, NoBody, Parameters, some};
use super::{Api, shape};
use crate::identity::PasswordError;
use crate::players::shown;
use crate::server::ServerError;

/// Players on a page, if nothing is said, and at most.
const PAGE: usize = 20;
const PAGE_MAX: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayersQuery {
    cursor: Option<String>,
    limit: Option<usize>,
}

/// It has no `Debug`, and neither has what carries a password below.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPlayer {
    name: String,
    #[serde(default, deserialize_with = "some")]
    password: Option<String>,
    #[serde(default, deserialize_with = "some")]
    role: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayerChange {
    #[serde(default, deserialize_with = "some")]
    password: Option<String>,
    #[serde(default, deserialize_with = "some")]
    role: Option<String>,
    #[serde(default, deserialize_with = "some")]
    locked: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewBan {
    #[serde(default, deserialize_with = "some")]
    until_ms: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    reason: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    Parameters(asked): Parameters<PlayersQuery>,
) -> Result<Response, Problem> {
    let limit = asked.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Refusal::Invalid { field: "limit", must: "from 1 to 100" }.into());
    }
    let after = asked.cursor.map(|id| PlayerId::from_hex(&id).ok_or_else(wrong_cursor));
    let players = api.server.players(after.transpose()?, limit).await.map_err(failed)?;
    let last = players.last().filter(|_| players.len() >= limit);
    let cursor = last.map(|last| last.player.to_string());
    let players: Vec<Value> = players.iter().map(shown).collect();
    Ok(axum::Json(json!({"players": players, "cursor": cursor})).into_response())
}

pub(super) async fn add(
    State(api): State<Api>,
    Json(new): Json<NewPlayer>,
) -> Result<Response, Problem> {
    let must = "3 to 32 letters from a to z, digits, dots, hyphens and underscores";
    let name = Name::parse(&new.name).map_err(|_| Refusal::Invalid { field: "name", must })?;
    let role = role(new.role.as_deref().unwrap_or(Role::Player.label()))?;
    let password = match new.password {
        Some(password) => Some(hash(&api, password).await?),
        None => None,
    };
    let whom = Whom::Name(name.clone());
    order(&api, PlayerCommand::Add { name, role, password }).await?;
    Ok((StatusCode::CREATED, show(&api, whom).await?).into_response())
}

pub(super) async fn describe(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    show(&api, whom(&names)?).await
}

pub(super) async fn change(
    State(api): State<Api>,
    names: Names,
    Json(change): Json<PlayerChange>,
) -> Result<Response, Problem> {
    let whom = whom(&names)?;
    // One change a request: a request that fails has then changed nothing.
    let command = match (change.password, change.role, change.locked) {
        (Some(password), None, None) => {
            PlayerCommand::SetPassword(whom.clone(), hash(&api, password).await?)
        }
        (None, Some(label), None) => PlayerCommand::SetRole(whom.clone(), role(&label)?),
        (None, None, Some(locked)) => PlayerCommand::Lock(whom.clone(), locked),
        _ => {
            let must = "given, or role, or locked, and only one of them";
            return Err(Refusal::Invalid { field: "password", must }.into());
        }
    };
    order(&api, command).await?;
    show(&api, whom).await
}

pub(super) async fn delete(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    order(&api, PlayerCommand::Delete(whom(&names)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn ban(
    State(api): State<Api>,
    names: Names,
    Json(ban): Json<NewBan>,
) -> Result<Response, Problem> {
    let whom = whom(&names)?;
    if ban.until_ms.is_some_and(|until| until > shape::EXACT_MAX) {
        return Err(Refusal::Invalid { field: "until_ms", must: shape::EXACT }.into());
    }
    let until = ban.until_ms.unwrap_or(u64::MAX);
    let reason = ban.reason.unwrap_or_default();
    if reason.chars().count() > REASON_CHARS_MAX || reason.chars().any(char::is_control) {
        let must = "at most 100 characters without control characters";
        return Err(Refusal::Invalid { field: "reason", must }.into());
    }
    order(&api, PlayerCommand::Ban(whom.clone(), WallTime(until), reason)).await?;
    show(&api, whom).await
}

pub(super) async fn unban(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    order(&api, PlayerCommand::Unban(whom(&names)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn export(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    let all = api.server.export_player(whom(&names)?).await.map_err(failed)?;
    let all = all.ok_or_else(|| refused(PlayerRefusal::Unknown))?;
    Ok(axum::Json(all).into_response())
}

async fn show(api: &Api, whom: Whom) -> Result<Response, Problem> {
    let view = api.server.player(whom).await.map_err(failed)?;
    let view = view.ok_or_else(|| refused(PlayerRefusal::Unknown))?;
    Ok(axum::Json(shown(&view)).into_response())
}

async fn order(api: &Api, command: PlayerCommand) -> Result<(), Problem> {
    let asked = api.server.order_player(command);
    match tokio::time::timeout(api.config.answer_deadline, asked).await {
        Ok(done) => done.map_err(failed),
        Err(_) => Err(Problem::new(problem::NO_ANSWER, "it may still be done: look")),
    }
}

async fn hash(api: &Api, password: String) -> Result<PasswordHash, Problem> {
    api.server.hash_password(password).await.map_err(|error| match error {
        PasswordError::Length => {
            Refusal::Invalid { field: "password", must: "8 to 128 characters" }.into()
        }
        PasswordError::Busy => Problem::new(problem::BUSY, error.to_string()).retry_after(1),
        PasswordError::Failed(_) => Problem::new(problem::STOPPED, error.to_string()),
    })
}

/// The account's name or the player's id in the path.
fn whom(names: &Names) -> Result<Whom, Problem> {
    let text = names.name(0);
    if let Some(player) = PlayerId::from_hex(&text) {
        return Ok(Whom::Player(player));
    }
    Name::parse(&text).map(Whom::Name).map_err(|_| refused(PlayerRefusal::Unknown))
}

fn role(label: &str) -> Result<Role, Problem> {
    let must = "player, moderator or admin";
    Role::from_label(label).ok_or_else(|| Refusal::Invalid { field: "role", must }.into())
}

fn failed(error: ServerError) -> Problem {
    match error {
        ServerError::Refused(Answer::PlayerRefused(refusal)) => refused(refusal),
        other => Problem::new(problem::STOPPED, other.to_string()).retry_after(1),
    }
}

fn refused(refusal: PlayerRefusal) -> Problem {
    let kind = match refusal {
        PlayerRefusal::Unknown => problem::PLAYER_NOT_FOUND,
        PlayerRefusal::Exists => problem::EXISTS,
        PlayerRefusal::Full | PlayerRefusal::KeysFull => problem::LIMIT_REACHED,
        PlayerRefusal::Busy => problem::BUSY,
        PlayerRefusal::Leaving => problem::BEING_DELETED,
        PlayerRefusal::InUse
        | PlayerRefusal::KeyTaken
        | PlayerRefusal::SessionsElsewhere
        | PlayerRefusal::Locked
        | PlayerRefusal::Outdated => problem::IN_USE,
        PlayerRefusal::Guest => problem::NO_ACCOUNT,
        PlayerRefusal::BanOver => {
            let must = "later than it is by the server's own clock";
            return Refusal::Invalid { field: "until_ms", must }.into();
        }
    };
    let refused = Problem::new(kind, refusal.to_string());
    if refusal == PlayerRefusal::Busy { refused.retry_after(1) } else { refused }
}
