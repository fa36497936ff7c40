//! Placements as server-sent events: one until it has ended, or all of a queue. Bounded as subscriptions
//! to Games are: a reader that is too slow is cut off, with the cause as the last event.

use std::convert::Infallible;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use rejoin_directory::Command;
use rejoin_directory::queue::PlacementNews;
use serde_json::json;

use super::guard::ApiCaller;
use super::problem::Problem;
use super::request::Names;
use super::{Api, shape};
use crate::directory::Notice;

pub(super) async fn watch_one(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
) -> Result<Response, Problem> {
    events(&api, caller, names.name(0), Some(names.name(1))).await
}

pub(super) async fn watch_all(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
) -> Result<Response, Problem> {
    events(&api, caller, names.name(0), None).await
}

async fn events(
    api: &Api,
    caller: ApiCaller,
    queue: String,
    placement: Option<String>,
) -> Result<Response, Problem> {
    let is_one = placement.is_some();
    let command = Command::Watch { queue: queue.clone(), placement };
    let notices = api.door.watch_for(caller.outside(None), command).await?;
    // None after the end of the one placement that is watched, which ends the stream.
    let news = stream::unfold(Some(notices), move |notices| {
        let queue = queue.clone();
        async move {
            let mut notices = notices?;
            let notice = notices.next().await?;
            let is_over = is_one && matches!(notice, Notice::News(PlacementNews::Ended(_)));
            let event = event(&queue, &notice);
            Some((Ok::<_, Infallible>(event), (!is_over).then_some(notices)))
        }
    });
    // A client that reconnects drops its state on this event: all that there is follows.
    let first = Event::default().event("begin").data("{}");
    let events = stream::once(async { Ok(first) }).chain(news);
    let beat = KeepAlive::new().interval(api.config.heartbeat).text("beat");
    Ok(Sse::new(events).keep_alive(beat).into_response())
}

fn event(queue: &str, notice: &Notice<PlacementNews>) -> Event {
    let (name, data) = match notice {
        Notice::News(PlacementNews::Added(view)) => ("added", shape::placement(queue, view)),
        Notice::News(PlacementNews::Changed(view)) => ("changed", shape::placement(queue, view)),
        Notice::News(PlacementNews::Ended(view)) => ("ended", shape::placement(queue, view)),
        Notice::Cut(cause) => ("cut", json!({"cause": cause.name()})),
    };
    Event::default().event(name).data(data.to_string())
}
