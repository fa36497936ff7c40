//! How a queue is kept: one row for itself, and one for each placement.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use rejoin_core::id::{GameId, HostId, SeatId};
use rejoin_core::scope::{Change, Opened};
use rejoin_core::time::WallTime;

use super::core::{Placement, QueueCore, Try};
use super::{
    Destination, Latency, LatencyPolicy, PlacementEnd, PlacementRequest, Priority, QueueSpec,
};
use crate::caller::Lock;
use crate::game::{EndCause, GameSpec, Guest};
use crate::print::Print;

const QUEUE: &[u8] = b"queue";
const PLACEMENT: &[u8] = b"placement/";
const PRIORITIES: [Priority; 3] = [Priority::Latency, Priority::Destination, Priority::Location];

#[derive(Clone, PartialEq, Message)]
struct QueueRow {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, tag = "2")]
    timeout_ms: u64,
    #[prost(message, repeated, tag = "3")]
    destinations: Vec<DestinationRow>,
    #[prost(uint32, repeated, tag = "4")]
    priority: Vec<u32>,
    #[prost(message, repeated, tag = "5")]
    latency: Vec<LatencyPolicyRow>,
}

#[derive(Clone, PartialEq, Message)]
struct DestinationRow {
    #[prost(string, tag = "1")]
    fleet: String,
    #[prost(string, optional, tag = "2")]
    location: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct LatencyPolicyRow {
    #[prost(uint32, tag = "1")]
    max_ms: u32,
    #[prost(uint64, optional, tag = "2")]
    lasts_ms: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct PlacementRow {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(btree_map = "string, string", tag = "3")]
    properties: std::collections::BTreeMap<String, String>,
    #[prost(bytes = "bytes", tag = "4")]
    data: Bytes,
    #[prost(uint32, tag = "5")]
    capacity: u32,
    #[prost(bool, tag = "6")]
    accepts: bool,
    #[prost(bool, tag = "7")]
    visible: bool,
    #[prost(string, tag = "8")]
    creator: String,
    #[prost(bool, tag = "9")]
    ends_when_empty: bool,
    #[prost(message, repeated, tag = "10")]
    party: Vec<GuestRow>,
    #[prost(message, repeated, tag = "11")]
    latencies: Vec<LatencyRow>,
    #[prost(bytes = "vec", tag = "12")]
    print: Vec<u8>,
    #[prost(uint64, tag = "13")]
    begun_ms: u64,
    #[prost(uint32, tag = "14")]
    attempts: u32,
    #[prost(message, optional, tag = "15")]
    current: Option<TryRow>,
    /// 0 none, 1 fulfilled, 2 timed out, 3 cancelled, 4 and above failed, by cause.
    #[prost(uint32, tag = "16")]
    end: u32,
    #[prost(uint64, tag = "17")]
    ended_ms: u64,
    #[prost(bytes = "vec", tag = "18")]
    game: Vec<u8>,
    #[prost(message, repeated, tag = "19")]
    seats: Vec<SeatRow>,
    /// The hash of its secret; empty: there is none.
    #[prost(bytes = "vec", tag = "20")]
    lock: Vec<u8>,
    #[prost(bool, tag = "21")]
    is_chosen: bool,
    #[prost(bool, tag = "22")]
    several_seats: bool,
}

#[derive(Clone, PartialEq, Message)]
struct GuestRow {
    #[prost(string, tag = "1")]
    player: String,
    #[prost(bytes = "bytes", tag = "2")]
    data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct LatencyRow {
    #[prost(string, tag = "1")]
    player: String,
    #[prost(string, tag = "2")]
    location: String,
    #[prost(uint32, tag = "3")]
    ms: u32,
}

#[derive(Clone, PartialEq, Message)]
struct TryRow {
    #[prost(bytes = "vec", tag = "1")]
    host: Vec<u8>,
    #[prost(string, tag = "2")]
    fleet: String,
    #[prost(string, tag = "3")]
    location: String,
    #[prost(bytes = "vec", repeated, tag = "4")]
    seats: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct SeatRow {
    #[prost(string, tag = "1")]
    player: String,
    #[prost(bytes = "vec", tag = "2")]
    seat: Vec<u8>,
}

/// Reads a queue's rows into it.
pub(super) fn read(queue: &mut QueueCore, opened: &Opened) -> Result<(), String> {
    let mut has_own = false;
    for (key, value) in &opened.rows {
        if key == QUEUE {
            let row = QueueRow::decode(value.clone()).map_err(|error| error.to_string())?;
            queue.spec = queue_spec(row);
            has_own = true;
        } else if key.starts_with(PLACEMENT) {
            let row = PlacementRow::decode(value.clone()).map_err(|error| error.to_string())?;
            queue.placements.insert(row.id.clone(), placement(row)?);
        }
    }
    if has_own { Ok(()) } else { Err("there is no row `queue`".to_owned()) }
}

/// What differs from the scope.
pub(super) fn changes(queue: &mut QueueCore) -> Vec<Change> {
    let mut changes = Vec::new();
    if std::mem::take(&mut queue.is_dirty) {
        let row = queue_row(&queue.spec).encode_to_vec();
        changes.push(Change::Put(Bytes::from_static(QUEUE), row.into()));
    }
    for name in std::mem::take(&mut queue.dirty) {
        let key = Bytes::from([PLACEMENT, name.as_bytes()].concat());
        changes.push(match queue.placements.get(&name) {
            Some(placement) => Change::Put(key, placement_row(placement).encode_to_vec().into()),
            None => Change::Delete(key),
        });
    }
    changes
}

fn queue_row(spec: &QueueSpec) -> QueueRow {
    let destinations = spec
        .destinations
        .iter()
        .map(|to| DestinationRow { fleet: to.fleet.clone(), location: to.location.clone() });
    let priority = spec
        .priority
        .iter()
        .map(|priority| PRIORITIES.iter().position(|it| it == priority).unwrap_or_default() as u32);
    let latency = spec.latency.iter().map(|policy| LatencyPolicyRow {
        max_ms: policy.max_ms,
        lasts_ms: policy.lasts.map(millis),
    });
    QueueRow {
        name: spec.name.clone(),
        timeout_ms: millis(spec.timeout),
        destinations: destinations.collect(),
        priority: priority.collect(),
        latency: latency.collect(),
    }
}

fn queue_spec(row: QueueRow) -> QueueSpec {
    let destinations = row.destinations.into_iter();
    let priority = row.priority.into_iter();
    let latency = row.latency.into_iter().map(|policy| LatencyPolicy {
        max_ms: policy.max_ms,
        lasts: policy.lasts_ms.map(Duration::from_millis),
    });
    QueueSpec {
        name: row.name,
        timeout: Duration::from_millis(row.timeout_ms),
        destinations: destinations
            .map(|to| Destination { fleet: to.fleet, location: to.location })
            .collect(),
        priority: priority.filter_map(|index| PRIORITIES.get(index as usize).copied()).collect(),
        latency: latency.collect(),
    }
}

fn placement_row(placement: &Placement) -> PlacementRow {
    let (request, game) = (&placement.request, &placement.request.game);
    let (lock, is_chosen) = placement.lock.to_row();
    let mut row = PlacementRow {
        id: request.id.clone(),
        name: game.name.clone(),
        properties: game.properties.clone(),
        data: game.data.clone(),
        capacity: game.capacity,
        accepts: game.accepts,
        visible: game.visible,
        creator: game.creator.clone(),
        ends_when_empty: game.ends_when_empty,
        print: placement.print.to_vec(),
        begun_ms: placement.begun.0,
        attempts: placement.attempts,
        lock,
        is_chosen,
        several_seats: game.several_seats,
        ..PlacementRow::default()
    };
    let party = request.party.iter();
    row.party = party
        .map(|guest| GuestRow { player: guest.player.clone(), data: guest.data.clone() })
        .collect();
    let latencies = request.latencies.iter().map(|it| LatencyRow {
        player: it.player.clone(),
        location: it.location.clone(),
        ms: it.ms,
    });
    row.latencies = latencies.collect();
    row.current = placement.current.as_ref().map(|current| TryRow {
        host: current.host.0.to_vec(),
        fleet: current.fleet.clone(),
        location: current.location.clone(),
        seats: current.seats.iter().map(|seat| seat.0.to_vec()).collect(),
    });
    if let Some((end, at)) = &placement.end {
        row.ended_ms = at.0;
        row.end = match end {
            PlacementEnd::Fulfilled { game, seats } => {
                row.game = game.0.to_vec();
                let seats = seats.iter();
                row.seats = seats
                    .map(|(player, seat)| SeatRow { player: player.clone(), seat: seat.0.to_vec() })
                    .collect();
                1
            }
            PlacementEnd::TimedOut => 2,
            PlacementEnd::Cancelled => 3,
            PlacementEnd::Failed(cause) => {
                4 + EndCause::ALL.iter().position(|it| it == cause).unwrap_or_default() as u32
            }
        };
    }
    row
}

fn placement(row: PlacementRow) -> Result<Placement, String> {
    let end = match row.end {
        0 => None,
        1 => {
            let seats = row.seats.into_iter();
            let seats =
                seats.map(|it| (it.player, SeatId::from_slice(&it.seat).unwrap_or_default()));
            let game = GameId::from_slice(&row.game).ok_or("a game id of another length")?;
            Some(PlacementEnd::Fulfilled { game, seats: seats.collect() })
        }
        2 => Some(PlacementEnd::TimedOut),
        3 => Some(PlacementEnd::Cancelled),
        failed => {
            let cause = EndCause::ALL.get(failed as usize - 4).ok_or("an unknown cause")?;
            Some(PlacementEnd::Failed(*cause))
        }
    };
    let current = row.current.map(|current| Try {
        host: HostId::from_slice(&current.host).unwrap_or_default(),
        fleet: current.fleet,
        location: current.location,
        seats: current.seats.iter().filter_map(|seat| SeatId::from_slice(seat)).collect(),
    });
    let game = GameSpec {
        name: row.name,
        properties: row.properties,
        data: row.data,
        capacity: row.capacity,
        accepts: row.accepts,
        visible: row.visible,
        creator: row.creator,
        ends_when_empty: row.ends_when_empty,
        several_seats: row.several_seats,
        ..GameSpec::default()
    };
    let party = row.party.into_iter();
    let latencies = row.latencies.into_iter();
    let request = PlacementRequest {
        id: row.id,
        game,
        party: party.map(|it| Guest { player: it.player, data: it.data }).collect(),
        latencies: latencies
            .map(|it| Latency { player: it.player, location: it.location, ms: it.ms })
            .collect(),
    };
    Ok(Placement {
        request,
        print: Print::from_slice(&row.print),
        begun: WallTime(row.begun_ms),
        attempts: row.attempts,
        current,
        tried: Vec::new(),
        lock: Lock::from_row(&row.lock, row.is_chosen),
        payer: None,
        end: end.map(|end| (end, WallTime(row.ended_ms))),
    })
}

fn millis(while_: Duration) -> u64 {
    u64::try_from(while_.as_millis()).unwrap_or(u64::MAX)
}
