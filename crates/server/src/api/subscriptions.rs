//! What a filter matches, as server-sent events. A reader takes what it can: behind it wait the newest
//! change of each Game, in the directory, and a reader that waits too long is cut off with the cause.

use std::convert::Infallible;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use rejoin_directory::Command;
use rejoin_directory::search::News;
use serde::Deserialize;
use serde_json::json;

use super::guard::ApiCaller;
use super::key::Role;
use super::problem::Problem;
use super::request::{Parameters, target};
use super::{Api, shape};
use crate::directory::Notice;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subscribed {
    fleet: Option<String>,
    alias: Option<String>,
    location: Option<String>,
    #[serde(default)]
    filter: String,
}

pub(super) async fn subscribe(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(asked): Parameters<Subscribed>,
) -> Result<Response, Problem> {
    let target = target(asked.fleet, asked.alias)?;
    let (location, filter) = (asked.location, asked.filter);
    let command = Command::Subscribe { target, location, filter };
    let notices = api.door.subscribe_for(caller.outside(None), command).await?;
    let changes = stream::unfold(notices, move |mut notices| async move {
        let notice = notices.next().await?;
        Some((Ok::<_, Infallible>(event(&notice, caller.role)), notices))
    });
    // A client that reconnects drops its state on this event: all that there is follows.
    let first = Event::default().event("begin").data("{}");
    let events = stream::once(async { Ok(first) }).chain(changes);
    let beat = KeepAlive::new().interval(api.config.heartbeat).text("beat");
    Ok(Sse::new(events).keep_alive(beat).into_response())
}

fn event(notice: &Notice, role: Role) -> Event {
    let (name, data) = match notice {
        Notice::News(News::Added(game)) => ("added", shape::game(game, role)),
        Notice::News(News::Changed(game)) => ("changed", shape::game(game, role)),
        Notice::News(News::Removed(game)) => ("removed", json!({"id": game.to_string()})),
        Notice::Cut(cause) => ("cut", json!({"cause": cause.name()})),
    };
    Event::default().event(name).data(data.to_string())
}
