//! Hosts, to look at and to empty. They register over a connection of their own.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rejoin_core::id::HostId;
use rejoin_directory::{Answer, Command};
use serde_json::json;

use super::games::{FleetListQuery, PAGE, wrong_cursor};
use super::problem::Problem;
use super::request::{Names, NoBody, Parameters, target};
use super::{Api, shape, unexpected};

pub(super) async fn list(
    State(api): State<Api>,
    Parameters(asked): Parameters<FleetListQuery>,
) -> Result<Response, Problem> {
    let limit = asked.limit.unwrap_or(PAGE);
    let after = asked.cursor.map(|id| HostId::from_hex(&id).ok_or_else(wrong_cursor));
    let after = after.transpose()?;
    let target = target(asked.fleet, asked.alias)?;
    match api.ask(Command::ListHosts { target, after, limit }).await? {
        Answer::Hosts(hosts) => {
            let last = hosts.last().filter(|_| hosts.len() >= limit);
            let cursor = last.map(|host| host.id.to_string());
            let hosts: Vec<_> = hosts.iter().map(shape::host).collect();
            Ok(axum::Json(json!({"hosts": hosts, "cursor": cursor})).into_response())
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn describe(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    match api.ask(Command::DescribeHost(names.host()?)).await? {
        Answer::Host(host) => Ok(axum::Json(shape::host(&host)).into_response()),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn drain(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    api.done(Command::DrainHost(names.host()?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
