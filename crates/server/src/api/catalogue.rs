//! Fleets and aliases.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rejoin_directory::catalogue::{AliasSpec, FleetSpec, Route};
use rejoin_directory::{Answer, Command, Refusal, What};
use serde::Deserialize;
use serde_json::json;

use super::guard::ApiCaller;
use super::problem::Problem;
use super::request::{Json, Names, NoBody, NoParameters, Parameters, some};
use super::{Api, fleets, shape, unexpected};

pub(super) async fn all(api: &Api) -> Result<(Vec<FleetSpec>, Vec<AliasSpec>), Problem> {
    match api.ask(Command::ListCatalogue).await? {
        Answer::Catalogue(fleets, aliases) => Ok((fleets, aliases)),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn list_fleets(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> Result<Response, Problem> {
    let mut known = all(&api).await?.0;
    known.retain(|fleet| fleets::is_own(&api, caller, &fleet.name));
    let fleets: Vec<_> = known.iter().map(shape::fleet).collect();
    Ok(axum::Json(json!({"fleets": fleets})).into_response())
}

pub(super) async fn describe_fleet(
    State(api): State<Api>,
    names: Names,
) -> Result<Response, Problem> {
    let (fleets, _) = all(&api).await?;
    let fleet = fleets.iter().find(|fleet| fleet.name == names.name(0));
    let fleet = fleet.ok_or(Refusal::NotFound(What::Fleet))?;
    Ok(axum::Json(shape::fleet(fleet)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetBody {
    locations: Vec<String>,
    #[serde(default)]
    indexed: Vec<String>,
}

pub(super) async fn put_fleet(
    State(api): State<Api>,
    names: Names,
    Json(body): Json<FleetBody>,
) -> Result<Response, Problem> {
    let FleetBody { locations, indexed } = body;
    let fleet = FleetSpec { name: names.name(0), locations, indexed };
    let shown = shape::fleet(&fleet);
    api.done(Command::PutFleet(fleet)).await?;
    Ok(axum::Json(shown).into_response())
}

pub(super) async fn delete_fleet(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    api.done(Command::DeleteFleet(names.name(0))).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn list_aliases(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> Result<Response, Problem> {
    let mut known = all(&api).await?.1;
    known.retain(|alias| match &alias.route {
        Route::Fleet(fleet) => fleets::is_own(&api, caller, fleet),
        Route::Terminal(_) => true,
    });
    let aliases: Vec<_> = known.iter().map(shape::alias).collect();
    Ok(axum::Json(json!({"aliases": aliases})).into_response())
}

pub(super) async fn describe_alias(
    State(api): State<Api>,
    names: Names,
) -> Result<Response, Problem> {
    let (_, aliases) = all(&api).await?;
    let alias = aliases.iter().find(|alias| alias.name == names.name(0));
    let alias = alias.ok_or(Refusal::NotFound(What::Alias))?;
    Ok(axum::Json(shape::alias(alias)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AliasBody {
    #[serde(default, deserialize_with = "some")]
    fleet: Option<String>,
    #[serde(default, deserialize_with = "some")]
    message: Option<String>,
}

pub(super) async fn put_alias(
    State(api): State<Api>,
    names: Names,
    Json(body): Json<AliasBody>,
) -> Result<Response, Problem> {
    let route = match (body.fleet, body.message) {
        (Some(fleet), None) => Route::Fleet(fleet),
        (None, Some(message)) => Route::Terminal(message),
        _ => {
            let must = "named, or a message for those who follow a dead end, and not both";
            return Err(Refusal::Invalid { field: "fleet", must }.into());
        }
    };
    let alias = AliasSpec { name: names.name(0), route };
    let shown = shape::alias(&alias);
    api.done(Command::PutAlias(alias)).await?;
    Ok(axum::Json(shown).into_response())
}

pub(super) async fn delete_alias(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    api.done(Command::DeleteAlias(names.name(0))).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
