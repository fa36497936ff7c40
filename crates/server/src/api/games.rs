//! Games: made, looked up, changed, ended, listed and searched for.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rejoin_core::id::GameId;
use rejoin_directory::game::{GameChange, GameSpec, GameView};
use rejoin_directory::host::HostAddress;
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{Answer, Command, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::guard::ApiCaller;
use super::problem::{self, Problem};
use super::request::{Data, Json, Names, NoBody, NoParameters, Parameters, some, target};
use super::{Api, fleets, shape, unexpected};

/// Games or hosts of a page, if nothing else is said.
pub(super) const PAGE: usize = 20;

/// What a Game is asked to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewGameBody {
    #[serde(default, deserialize_with = "some")]
    fleet: Option<String>,
    #[serde(default, deserialize_with = "some")]
    alias: Option<String>,
    #[serde(default)]
    location: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    data: Data,
    capacity: u32,
    #[serde(default = "yes")]
    accepts: bool,
    #[serde(default = "yes")]
    visible: bool,
    #[serde(default)]
    creator: String,
    #[serde(default = "yes")]
    ends_when_empty: bool,
    #[serde(default)]
    several_seats: bool,
}

/// What a policy is if nothing is said.
pub(super) fn yes() -> bool {
    true
}

pub(super) async fn create(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(NoParameters {}): Parameters<NoParameters>,
    Json(new): Json<NewGameBody>,
) -> Result<Response, Problem> {
    let target = target(new.fleet, new.alias)?;
    fleets::may_target(&api, caller, &target).await?;
    let spec = GameSpec {
        fleet: String::new(),
        location: new.location,
        key: new.key,
        name: new.name,
        properties: new.properties,
        data: new.data.0,
        capacity: new.capacity,
        accepts: new.accepts,
        visible: new.visible,
        creator: new.creator,
        ends_when_empty: new.ends_when_empty,
        several_seats: new.several_seats,
    };
    match api.ask_for(caller.outside(None), Command::Create { target, spec }).await? {
        (Answer::Game(game), is_new, _) => {
            let place = HeaderValue::from_str(&format!("/v1/games/{}", game.id));
            let mut response = (made(is_new), shown(&api, &game, caller).await).into_response();
            response.headers_mut().extend(place.map(|place| (header::LOCATION, place)));
            Ok(response)
        }
        (other, ..) => Err(unexpected(&other)),
    }
}

/// 201 for what is new, 200 for what was there.
pub(super) fn made(is_new: bool) -> StatusCode {
    if is_new { StatusCode::CREATED } else { StatusCode::OK }
}

pub(super) async fn describe(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
) -> Result<Response, Problem> {
    show(&api, caller, Command::DescribeGame(names.game()?), StatusCode::OK).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GameChangeBody {
    name: Option<String>,
    capacity: Option<u32>,
    accepts: Option<bool>,
    visible: Option<bool>,
    /// Null removes one.
    #[serde(default)]
    properties: BTreeMap<String, Option<String>>,
}

pub(super) async fn update(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    Json(change): Json<GameChangeBody>,
) -> Result<Response, Problem> {
    let change = GameChange {
        name: change.name,
        capacity: change.capacity,
        accepts: change.accepts,
        visible: change.visible,
        properties: change.properties,
    };
    let command = Command::Update { game: names.game()?, change };
    show(&api, caller, command, StatusCode::OK).await
}

pub(super) async fn terminate(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    show(&api, caller, Command::Terminate(names.game()?), StatusCode::ACCEPTED).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetListQuery {
    pub(super) fleet: Option<String>,
    pub(super) alias: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<usize>,
}

pub(super) async fn list(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(asked): Parameters<FleetListQuery>,
) -> Result<Response, Problem> {
    let limit = asked.limit.unwrap_or(PAGE);
    let after = asked.cursor.map(|id| GameId::from_hex(&id).ok_or_else(wrong_cursor));
    let after = after.transpose()?;
    let target = target(asked.fleet, asked.alias)?;
    match api.ask(Command::ListGames { target, after, limit }).await? {
        Answer::Games(games) => {
            let last = games.last().filter(|_| games.len() >= limit);
            let cursor = last.map(|game| game.id.to_string());
            Ok(axum::Json(json!({"games": all(&games, caller), "cursor": cursor})).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

/// What the `cursor` of a list must be.
pub(super) fn wrong_cursor() -> Problem {
    Refusal::Invalid { field: "cursor", must: "that of the page before" }.into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Searched {
    fleet: Option<String>,
    alias: Option<String>,
    location: Option<String>,
    #[serde(default)]
    filter: String,
    #[serde(default)]
    sort: String,
    limit: Option<usize>,
    #[serde(default)]
    cursor: String,
}

pub(super) async fn search(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(asked): Parameters<Searched>,
) -> Result<Response, Problem> {
    let request = SearchRequest {
        target: target(asked.fleet, asked.alias)?,
        location: asked.location,
        filter: asked.filter,
        sort: asked.sort,
        limit: asked.limit.unwrap_or(PAGE),
        cursor: asked.cursor,
    };
    let _searching = caller.search(&api)?;
    let found = api.ask(Command::Search(request)).await;
    match &found {
        Ok(Answer::Page(page)) => caller.owe(&api, page.work),
        // It has looked at all that a search may.
        Err(problem) if problem.code() == problem::TOO_BROAD.0 => {
            caller.owe(&api, api.door.search_work_max());
        }
        _ => {}
    }
    match found? {
        Answer::Page(page) => {
            let shown = json!({"games": all(&page.games, caller), "cursor": page.cursor});
            Ok(axum::Json(shown).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

fn all(games: &[Arc<GameView>], caller: ApiCaller) -> Vec<Value> {
    games.iter().map(|game| shape::game(game, caller.role)).collect()
}

async fn show(
    api: &Api,
    caller: ApiCaller,
    command: Command,
    status: StatusCode,
) -> Result<Response, Problem> {
    match api.ask(command).await? {
        Answer::Game(game) => Ok((status, shown(api, &game, caller).await).into_response()),
        other => Err(unexpected(&other)),
    }
}

/// One Game, with where its players connect.
async fn shown(api: &Api, game: &GameView, caller: ApiCaller) -> axum::Json<Value> {
    let mut shown = shape::game(game, caller.role);
    shown["connect"] = shape::address(found(api, game.id).await.as_ref());
    axum::Json(shown)
}

/// Where the players of a Game connect, as far as that is known.
pub(super) async fn found(api: &Api, game: GameId) -> Option<HostAddress> {
    match api.ask(Command::FindHost(game)).await {
        Ok(Answer::Address(found)) => Some(found),
        _ => None,
    }
}
