//! Games, seats, hosts and the rest as JSON. Ids are strings, times are milliseconds since 1970. The
//! fields are part of the interface: api/openapi.json describes them.

use rejoin_directory::catalogue::{AliasSpec, FleetSpec, Route};
use rejoin_directory::game::{GameView, SeatState, SeatView, Standing};
use rejoin_directory::host::{HostAddress, HostState, HostView, Presence};
use rejoin_directory::queue::{PlacementEnd, PlacementView, Priority, QueueSpec};
use serde_json::{Value, json};

use super::key::Role;
use super::request::Data;

/// The largest number that every reader of JSON takes as it was written.
pub(super) const EXACT_MAX: u64 = (1 << 53) - 1;
/// What a number must be to be taken as it was written.
pub(super) const EXACT: &str = "at most 9007199254740991";

/// A Game. Its data is for its host, so game clients do not see it.
pub(super) fn game(view: &GameView, role: Role) -> Value {
    let spec = &view.spec;
    let mut shown = json!({
        "id": view.id.to_string(),
        "fleet": spec.fleet,
        "location": spec.location,
        "key": spec.key,
        "name": spec.name,
        "properties": spec.properties,
        "capacity": spec.capacity,
        "accepts": view.accepts(),
        "in_match": view.in_match,
        "visible": spec.visible,
        "creator": spec.creator,
        "ends_when_empty": spec.ends_when_empty,
        "several_seats": spec.several_seats,
        "status": view.status.name(),
        "cause": view.cause.map(|cause| cause.name()),
        "host": view.host.to_string(),
        "host_standing": match view.standing {
            Standing::Present => "present",
            Standing::Unhealthy => "unhealthy",
            Standing::Away => "away",
        },
        "reserved": view.reserved,
        "active": view.active,
        "free": view.free(),
        "created_ms": view.created.0,
        "ended_ms": view.ended.map(|at| at.0),
    });
    if role != Role::Client {
        shown["data"] = Data::show(&spec.data).into();
    }
    shown
}

/// Where players connect; none while the host has not said.
pub(super) fn address(found: Option<&HostAddress>) -> Value {
    match found.filter(|found| found.port != 0) {
        Some(found) => json!({"address": found.address, "port": found.port}),
        None => Value::Null,
    }
}

pub(super) fn seat(view: &SeatView) -> Value {
    let mut shown = json!({
        "id": view.id.to_string(),
        "player": view.player,
        "data": Data::show(&view.data),
        "created_ms": view.created.0,
    });
    match view.state {
        SeatState::Reserved { until } => {
            shown["status"] = "reserved".into();
            shown["until_ms"] = until.0.into();
        }
        SeatState::Claimed { holder, until, .. } => {
            shown["status"] = "claimed".into();
            shown["until_ms"] = until.0.into();
            shown["session"] = holder.session.to_string().into();
            shown["stay"] = holder.stay.into();
        }
        SeatState::Active { holder } => {
            shown["status"] = "active".into();
            if let Some(holder) = holder {
                shown["session"] = holder.session.to_string().into();
                shown["stay"] = holder.stay.into();
            }
        }
        SeatState::Ended { how, at } => {
            shown["status"] = "ended".into();
            shown["cause"] = how.name().into();
            shown["ended_ms"] = at.0.into();
        }
    }
    shown
}

pub(super) fn seats(views: &[SeatView]) -> Vec<Value> {
    views.iter().map(seat).collect()
}

pub(super) fn host(view: &HostView) -> Value {
    let about = &view.registration;
    let (state, cause) = match view.state {
        HostState::Registered => ("registered", None),
        HostState::Ready => ("ready", None),
        HostState::Draining => ("draining", None),
        HostState::Ended(end) => ("ended", Some(end.name())),
    };
    json!({
        "id": view.id.to_string(),
        "fleet": about.fleet,
        "name": about.name,
        "location": about.location,
        "address": about.address,
        "port": view.port,
        "games_max": about.games_max,
        "reusable": about.is_reusable,
        "lease": view.lease.to_string(),
        "log_paths": view.log_paths,
        "state": state,
        "cause": cause,
        "presence": match view.presence {
            Presence::Away => "away",
            Presence::Waiting => "waiting",
            Presence::Present => "present",
        },
        "healthy": view.is_healthy,
        "games": view.games.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

pub(super) fn fleet(spec: &FleetSpec) -> Value {
    json!({"name": spec.name, "locations": spec.locations, "indexed": spec.indexed})
}

pub(super) fn alias(spec: &AliasSpec) -> Value {
    match &spec.route {
        Route::Fleet(fleet) => json!({"name": spec.name, "fleet": fleet}),
        Route::Terminal(message) => json!({"name": spec.name, "message": message}),
    }
}

pub(super) fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Latency => "latency",
        Priority::Destination => "destination",
        Priority::Location => "location",
    }
}

pub(super) fn queue(spec: &QueueSpec) -> Value {
    let destinations = spec.destinations.iter();
    let latency = spec.latency.iter();
    json!({
        "name": spec.name,
        "timeout_ms": millis(spec.timeout),
        "destinations": destinations
            .map(|to| json!({"fleet": to.fleet, "location": to.location}))
            .collect::<Vec<_>>(),
        "priority": spec.priority.iter().map(|it| priority(*it)).collect::<Vec<_>>(),
        "latency": latency
            .map(|policy| json!({"max_ms": policy.max_ms, "lasts_ms": policy.lasts.map(millis)}))
            .collect::<Vec<_>>(),
    })
}

pub(super) fn placement(queue: &str, view: &PlacementView) -> Value {
    let mut shown = json!({
        "queue": queue,
        "id": view.id,
        "begun_ms": view.begun.0,
        "attempts": view.attempts,
        "status": view.end.as_ref().map_or("pending", PlacementEnd::name),
    });
    match &view.end {
        Some(PlacementEnd::Fulfilled { game, seats }) => {
            let seats = seats.iter();
            shown["game"] = game.to_string().into();
            shown["seats"] = seats
                .map(|(player, seat)| json!({"player": player, "id": seat.to_string()}))
                .collect();
        }
        Some(PlacementEnd::Failed(cause)) => shown["cause"] = cause.name().into(),
        _ => {}
    }
    shown
}

pub(super) fn millis(while_: std::time::Duration) -> u64 {
    u64::try_from(while_.as_millis()).unwrap_or(u64::MAX)
}
