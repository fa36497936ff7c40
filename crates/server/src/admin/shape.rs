//! Events and sessions as JSON. Numbers of 64 bits are strings, because many readers of JSON round
//! them. The fields are part of the interface: docs/OPERATIONS.md lists them all.

use rejoin_core::event::{Event, Rung};
use rejoin_core::exchange::{Hold, ZoneName};
use rejoin_core::game::PlacementEnd;
use rejoin_core::hub::SessionView;
use rejoin_core::id::{PlayerId, ZoneId};
use rejoin_core::session::{Flags, Presence, Serializer};
use rejoin_core::time::WallTime;
use rejoin_core::timeline::{Timeline, What};
use rejoin_wire::v1::{CloseCode, PartCause, RungReason};
use serde_json::{Value, json};

use crate::journal::Numbered;
use crate::metrics::code_label;

/// An event of the journal.
pub(super) fn event(numbered: &Numbered) -> Value {
    let Numbered { id, at, event } = numbered;
    let mut shown = fields(event);
    shown["id"] = id.to_string().into();
    shown["at_ms"] = at.0.to_string().into();
    shown["kind"] = event.name().into();
    if let Some(session) = event.session() {
        shown["session"] = session.to_string().into();
    }
    shown
}

/// What is in an event besides its session.
fn fields(event: &Event) -> Value {
    match event {
        Event::PlayerConnected { player, connection, .. } => {
            let connection = connection.map(|id| id.to_string());
            json!({"player": player.to_string(), "connection": connection})
        }
        Event::SessionLinked { connection, .. } => json!({"connection": connection.to_string()}),
        Event::PlayerDropped { code, .. } => json!({"reason": code_label(*code)}),
        Event::PlayerReturned { rung, .. } => match rung {
            Rung::Replayed(frames) => {
                json!({"rung": rung.label(), "replayed_frames": frames.to_string()})
            }
            Rung::Resynced(reason) => json!({"rung": rung.label(), "reason": rung_reason(*reason)}),
        },
        Event::TakenOver { old, .. } => json!({"old_connection": old.to_string()}),
        Event::HoldEnded { .. } => json!({}),
        Event::PlayerLeft { player, cause, .. } => {
            json!({"player": player.to_string(), "cause": cause.label()})
        }
        Event::ZoneJoined { zone, .. } => json!({"zone": named(zone)}),
        Event::ZoneParted { zone, cause, .. } => {
            json!({"zone": named(zone), "cause": part_cause(*cause)})
        }
        Event::OwnerChanged { zone, object, from, to } => json!({
            "zone": place(*zone), "object": object.to_string(),
            "from": player(*from), "to": player(*to),
        }),
        Event::MatchStarted { zone } | Event::MatchEnded { zone } | Event::ZoneEnded { zone } => {
            json!({"zone": place(*zone)})
        }
        Event::ZoneFault { zone, text, closed } => {
            json!({"zone": place(*zone), "text": text, "closed": closed})
        }
        Event::ZoneOpened { name, .. } => json!({"zone": named(name)}),
        Event::ZoneOpenRefused { zone, text } => json!({"zone": place(*zone), "text": text}),
        Event::GuardStep { step, connection, what, .. } => json!({
            "step": step.label(), "connection": connection.map(|id| id.to_string()),
            "what": what.label(),
        }),
        event => directory_fields(event),
    }
}

/// What is in an event of the directory. A seat's id is its ticket, and is not shown.
fn directory_fields(event: &Event) -> Value {
    match event {
        Event::GameCreated { game, fleet, host } => {
            json!({"game": game.to_string(), "fleet": fleet, "host": host.to_string()})
        }
        Event::GameActive { game } => json!({"game": game.to_string()}),
        Event::GameEnded { game, cause } => {
            json!({"game": game.to_string(), "cause": cause.name()})
        }
        Event::SeatReserved { game, player, .. } | Event::SeatClaimed { game, player, .. } => {
            json!({"game": game.to_string(), "player": player})
        }
        Event::SeatEnded { game, player, how, .. } => {
            json!({"game": game.to_string(), "player": player, "cause": how.name()})
        }
        Event::HostReady { host }
        | Event::HostReturned { host }
        | Event::HostWarned { host }
        | Event::HostAway { host } => json!({"host": host.to_string()}),
        Event::HostEnded { host, how } => json!({"host": host.to_string(), "cause": how.name()}),
        Event::PlacementEnded { queue, placement, end } => {
            let (game, cause) = match end {
                PlacementEnd::Fulfilled { game, .. } => (Some(game.to_string()), None),
                PlacementEnd::Failed(cause) => (None, Some(cause.name())),
                PlacementEnd::TimedOut | PlacementEnd::Cancelled => (None, None),
            };
            json!({
                "queue": queue, "placement": placement, "end": end.name(),
                "game": game, "cause": cause,
            })
        }
        _ => json!({}),
    }
}

fn named(zone: &ZoneName) -> Value {
    let id = ZoneId::of(&zone.kind, &zone.name);
    json!({"id": id.to_string(), "kind": zone.kind, "name": zone.name})
}

fn place(zone: ZoneId) -> Value {
    json!({"id": zone.to_string()})
}

fn player(player: Option<PlayerId>) -> Option<String> {
    player.map(|player| player.to_string())
}

/// A name of the contract without its prefix, as labels are written.
fn short(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_ascii_lowercase()
}

fn rung_reason(reason: RungReason) -> String {
    short(reason.as_str_name(), "RUNG_REASON_")
}

fn part_cause(cause: PartCause) -> String {
    short(cause.as_str_name(), "PART_CAUSE_")
}

/// A session as the admin API shows it.
pub(crate) fn session(view: &SessionView) -> Value {
    let (state, connection) = match view.presence {
        Presence::Preconnect => ("preconnect", None),
        Presence::Here(connection) => ("active", Some(connection.to_string())),
        Presence::Native => ("native", None),
        Presence::Away(_) => ("held", None),
    };
    let (hold, hold_ms) = match view.hold {
        Hold::None => ("none", None),
        Hold::Timed(while_) => ("timed", Some(while_)),
        Hold::UntilMatchEnds(while_) => ("until_match_ends", Some(while_)),
    };
    json!({
        "session": view.id.to_string(),
        "player": view.player.to_string(),
        "epoch": view.epoch.to_string(),
        "state": state,
        "connection": connection,
        "zone": view.zone.map(place),
        "encrypted": view.flags.has(Flags::ENCRYPTION),
        "compressed": view.flags.has(Flags::COMPRESSION),
        "serializer": match view.serializer {
            Serializer::Protobuf => "protobuf",
            Serializer::Json => "json",
            Serializer::Native => "native",
        },
        "latency_us": view.latency.smoothed_us,
        "hold": hold,
        "hold_ms": hold_ms.map(|while_| while_.as_millis().to_string()),
        "permissions": view.permissions,
        "data_bytes": view.data.len(),
    })
}

/// When a session began, and what happened to it last.
pub(crate) fn timeline(timeline: &Timeline, began: WallTime) -> (Value, Value) {
    let entries = timeline.recent().iter().map(|entry| {
        let (what, detail) = story(entry.what, entry.detail);
        json!({"at_ms": entry.at.0.to_string(), "what": what, "detail": detail})
    });
    let entries: Vec<_> = entries.collect();
    (began.0.to_string().into(), json!({"entries_total": timeline.count(), "recent": entries}))
}

/// What an entry says, and its detail in words.
fn story(what: What, detail: u32) -> (&'static str, Value) {
    let code = i32::try_from(detail).unwrap_or(0);
    match what {
        What::Began => ("began", Value::Null),
        What::Dropped => {
            ("dropped", code_label(CloseCode::try_from(code).unwrap_or_default()).into())
        }
        What::Replayed => ("replayed", detail.into()),
        What::Resynced => {
            ("resynced", rung_reason(RungReason::try_from(code).unwrap_or_default()).into())
        }
        What::TakenOver => ("taken_over", Value::Null),
        What::Joined => ("joined", Value::Null),
        What::Parted => {
            ("parted", part_cause(PartCause::try_from(code).unwrap_or_default()).into())
        }
        What::ZoneLost => ("zone_lost", Value::Null),
        What::RetiredToken => ("retired_token", Value::Null),
        What::Ending => {
            let cause = rejoin_core::event::EndCause::ALL.get(detail as usize);
            ("ending", cause.map(|cause| cause.label()).into())
        }
    }
}

#[cfg(test)]
mod tests;
