//! Queues, and placements in them.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rejoin_directory::game::{GameSpec, Guest};
use rejoin_directory::queue::{
    Destination, Latency, LatencyPolicy, PlacementRequest, Priority, QueueSpec,
};
use rejoin_directory::{Answer, Command, Refusal, Secret, What};
use serde::Deserialize;
use serde_json::json;

use super::games::yes;
use super::guard::ApiCaller;
use super::problem::Problem;
use super::request::{Data, Json, Names, NoBody, NoParameters, Parameters, ShownSecret, some};
use super::seats::GuestBody;
use super::{Api, fleets, shape, unexpected};

pub(super) async fn all(api: &Api) -> Result<Vec<QueueSpec>, Problem> {
    match api.ask(Command::ListQueues).await? {
        Answer::Queues(queues) => Ok(queues),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn list(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> Result<Response, Problem> {
    let mut known = all(&api).await?;
    known.retain(|queue| fleets::may_place(&api, caller, queue).is_ok());
    let queues: Vec<_> = known.iter().map(shape::queue).collect();
    Ok(axum::Json(json!({"queues": queues})).into_response())
}

pub(super) async fn describe(State(api): State<Api>, names: Names) -> Result<Response, Problem> {
    let queues = all(&api).await?;
    let queue = queues.iter().find(|queue| queue.name == names.name(0));
    let queue = queue.ok_or(Refusal::NotFound(What::Queue))?;
    Ok(axum::Json(shape::queue(queue)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueBody {
    timeout_ms: Option<u64>,
    destinations: Vec<DestinationBody>,
    priority: Option<Vec<PriorityName>>,
    #[serde(default)]
    latency: Vec<LatencyBody>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DestinationBody {
    fleet: String,
    location: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum PriorityName {
    Latency,
    Destination,
    Location,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyBody {
    max_ms: u32,
    lasts_ms: Option<u64>,
}

impl QueueBody {
    fn spec(self, name: String) -> QueueSpec {
        let base = QueueSpec::default();
        let priority = |name: PriorityName| match name {
            PriorityName::Latency => Priority::Latency,
            PriorityName::Destination => Priority::Destination,
            PriorityName::Location => Priority::Location,
        };
        let destinations = self.destinations.into_iter();
        let latency = self.latency.into_iter();
        QueueSpec {
            name,
            timeout: self.timeout_ms.map_or(base.timeout, Duration::from_millis),
            destinations: destinations
                .map(|to| Destination { fleet: to.fleet, location: to.location })
                .collect(),
            priority: self
                .priority
                .map_or(base.priority, |names| names.into_iter().map(priority).collect()),
            latency: latency
                .map(|policy| LatencyPolicy {
                    max_ms: policy.max_ms,
                    lasts: policy.lasts_ms.map(Duration::from_millis),
                })
                .collect(),
        }
    }
}

pub(super) async fn put(
    State(api): State<Api>,
    names: Names,
    Json(body): Json<QueueBody>,
) -> Result<Response, Problem> {
    if body.latency.iter().any(|policy| policy.lasts_ms > Some(shape::EXACT_MAX)) {
        return Err(Refusal::Invalid { field: "lasts_ms", must: shape::EXACT }.into());
    }
    let spec = body.spec(names.name(0));
    let shown = shape::queue(&spec);
    api.done(Command::PutQueue(spec)).await?;
    Ok(axum::Json(shown).into_response())
}

pub(super) async fn delete(
    State(api): State<Api>,
    names: Names,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    api.done(Command::DeleteQueue(names.name(0))).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPlacement {
    id: String,
    game: PlacedGame,
    #[serde(default)]
    players: Vec<GuestBody>,
    #[serde(default)]
    latencies: Vec<Measured>,
    #[serde(default, deserialize_with = "some")]
    secret: Option<String>,
}

/// The Game of a placement: the queue chooses fleet and location.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacedGame {
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    player: String,
    location: String,
    ms: u32,
}

pub(super) async fn place(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    Json(new): Json<NewPlacement>,
) -> Result<Response, Problem> {
    let queue = names.name(0);
    let game = GameSpec {
        name: new.game.name,
        properties: new.game.properties,
        data: new.game.data.0,
        capacity: new.game.capacity,
        accepts: new.game.accepts,
        visible: new.game.visible,
        creator: new.game.creator,
        ends_when_empty: new.game.ends_when_empty,
        several_seats: new.game.several_seats,
        ..GameSpec::default()
    };
    let latencies = new.latencies.into_iter();
    let request = PlacementRequest {
        id: new.id,
        game,
        party: new.players.into_iter().map(Guest::from).collect(),
        latencies: latencies
            .map(|it| Latency { player: it.player, location: it.location, ms: it.ms })
            .collect(),
    };
    let place = format!("/v1/queues/{queue}/placements/{}", request.id);
    let caller = caller.outside(new.secret.as_deref().map(Secret::new).transpose()?);
    let command = Command::Place { queue: queue.clone(), request };
    let mut response = match api.ask_for(caller, command).await? {
        (Answer::Placement(view), is_new, secret) => {
            let mut shown = shape::placement(&queue, &view);
            if let Some(secret) = secret {
                shown["secret"] = secret.reveal().into();
            }
            let status = if is_new { StatusCode::ACCEPTED } else { StatusCode::OK };
            (status, axum::Json(shown)).into_response()
        }
        (other, ..) => return Err(unexpected(&other)),
    };
    response.headers_mut().extend(HeaderValue::from_str(&place).map(|at| (header::LOCATION, at)));
    Ok(response)
}

pub(super) async fn describe_placement(
    State(api): State<Api>,
    names: Names,
) -> Result<Response, Problem> {
    let (queue, placement) = (names.name(0), names.name(1));
    let command = Command::DescribePlacement { queue: queue.clone(), placement };
    show(&api, &queue, command, StatusCode::OK).await
}

pub(super) async fn cancel(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    names: Names,
    ShownSecret(secret): ShownSecret,
    NoBody: NoBody,
) -> Result<Response, Problem> {
    let (queue, placement) = (names.name(0), names.name(1));
    let command = Command::CancelPlacement { queue: queue.clone(), placement };
    let command = Command::For(caller.outside(secret), Box::new(command));
    show(&api, &queue, command, StatusCode::OK).await
}

async fn show(
    api: &Api,
    queue: &str,
    command: Command,
    status: StatusCode,
) -> Result<Response, Problem> {
    match api.ask(command).await? {
        Answer::Placement(view) => {
            Ok((status, axum::Json(shape::placement(queue, &view))).into_response())
        }
        other => Err(unexpected(&other)),
    }
}
