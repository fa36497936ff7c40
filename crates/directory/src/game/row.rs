//! How a Game is kept: one row for the Game, one for its data, which is large and never changes, and
//! one for each seat.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use rejoin_core::gate::Gate;
use rejoin_core::id::{GameId, HostId, QueueId, SeatId, SessionId};
use rejoin_core::scope::{Change, Opened, ScopeId};
use rejoin_core::time::{Time, WallTime};

use super::core::{GameCore, Kept};
use super::seat::Seat;
use super::seats::Seats;
use super::{EndCause, Entry, GameSpec, Guest, Holder, Origin, SeatEnd, SeatState, Status};
use crate::caller::Lock;
use crate::config::DirectoryConfig;
use crate::moment::Moment;
use crate::print::Print;

const GAME: &[u8] = b"game";
const DATA: &[u8] = b"data";
const SEAT: &[u8] = b"seat/";

const STATUSES: [Status; 5] =
    [Status::Activating, Status::Active, Status::Terminating, Status::Terminated, Status::Error];

#[derive(Clone, PartialEq, Message)]
pub(super) struct GameRow {
    #[prost(string, tag = "1")]
    fleet: String,
    #[prost(string, tag = "2")]
    location: String,
    #[prost(string, tag = "3")]
    key: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(btree_map = "string, string", tag = "5")]
    properties: BTreeMap<String, String>,
    #[prost(uint32, tag = "6")]
    capacity: u32,
    #[prost(bool, tag = "7")]
    accepts: bool,
    #[prost(bool, tag = "8")]
    visible: bool,
    #[prost(string, tag = "9")]
    creator: String,
    #[prost(bool, tag = "10")]
    ends_when_empty: bool,
    #[prost(bytes = "vec", tag = "11")]
    print: Vec<u8>,
    #[prost(bytes = "vec", tag = "12")]
    host: Vec<u8>,
    #[prost(uint32, tag = "13")]
    status: u32,
    /// One more than the place among all causes; 0 is none.
    #[prost(uint32, tag = "14")]
    cause: u32,
    #[prost(uint64, tag = "15")]
    created_ms: u64,
    #[prost(uint64, optional, tag = "16")]
    ended_ms: Option<u64>,
    #[prost(bool, tag = "17")]
    was_active: bool,
    #[prost(bool, tag = "18")]
    was_joined: bool,
    #[prost(message, optional, tag = "19")]
    origin: Option<OriginRow>,
    #[prost(message, repeated, tag = "20")]
    party: Vec<GuestRow>,
    #[prost(bool, tag = "21")]
    in_match: bool,
    /// The hash of the secret of the party's seats; empty: there is none.
    #[prost(bytes = "vec", tag = "22")]
    lock: Vec<u8>,
    #[prost(bool, tag = "23")]
    is_chosen: bool,
    #[prost(bool, tag = "24")]
    several_seats: bool,
    /// When its host must have begun it; rows of earlier versions do not say.
    #[prost(uint64, optional, tag = "25")]
    activate_by_ms: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct OriginRow {
    #[prost(bytes = "vec", tag = "1")]
    queue: Vec<u8>,
    #[prost(string, tag = "2")]
    placement: String,
    #[prost(uint32, tag = "3")]
    attempt: u32,
}

#[derive(Clone, PartialEq, Message)]
struct GuestRow {
    #[prost(bytes = "vec", tag = "1")]
    seat: Vec<u8>,
    #[prost(string, tag = "2")]
    player: String,
    #[prost(bytes = "bytes", tag = "3")]
    data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SeatRow {
    #[prost(bytes = "vec", tag = "1")]
    id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    number: u64,
    #[prost(string, tag = "3")]
    player: String,
    #[prost(bytes = "bytes", tag = "4")]
    data: Bytes,
    #[prost(string, tag = "5")]
    key: String,
    #[prost(bytes = "vec", tag = "6")]
    print: Vec<u8>,
    #[prost(uint64, tag = "7")]
    created_ms: u64,
    /// 0 reserved, 1 claimed, 2 active, 3 ended.
    #[prost(uint32, tag = "8")]
    state: u32,
    /// Of a reservation its end, of an ended seat since when.
    #[prost(uint64, tag = "9")]
    at_ms: u64,
    #[prost(uint64, tag = "10")]
    session: u64,
    #[prost(uint32, tag = "11")]
    stay: u32,
    #[prost(uint32, tag = "12")]
    end: u32,
    /// The entry; number 0: there is none.
    #[prost(uint64, tag = "13")]
    process: u64,
    #[prost(uint32, tag = "14")]
    entry: u32,
    /// Session and stay are its holder's, whatever their numbers.
    #[prost(bool, tag = "15")]
    is_held: bool,
    /// The hash of its secret; empty: there is none.
    #[prost(bytes = "vec", tag = "16")]
    lock: Vec<u8>,
    #[prost(bool, tag = "17")]
    is_chosen: bool,
}

/// Reads the rows of a Game.
pub(super) fn read(opened: &Opened) -> Result<(GameRow, Bytes, Vec<SeatRow>), String> {
    let (mut game, mut data, mut seats) = (None, Bytes::new(), Vec::new());
    for (key, value) in &opened.rows {
        if key == GAME {
            game = Some(GameRow::decode(value.clone()).map_err(|error| error.to_string())?);
        } else if key == DATA {
            data = value.clone();
        } else if key.starts_with(SEAT) {
            seats.push(SeatRow::decode(value.clone()).map_err(|error| error.to_string())?);
        }
    }
    Ok((game.ok_or("there is no row `game`")?, data, seats))
}

/// The Game of its row, without its seats.
pub(super) fn game(
    now: Moment,
    config: &Arc<DirectoryConfig>,
    id: GameId,
    row: GameRow,
    data: Bytes,
    opened: &Opened,
) -> Result<GameCore, String> {
    let status = STATUSES.get(row.status as usize).copied().ok_or("an unknown status")?;
    let cause = match row.cause.checked_sub(1) {
        Some(index) => Some(*EndCause::ALL.get(index as usize).ok_or("an unknown cause")?),
        None => None,
    };
    let origin = row.origin.map(|origin| {
        let queue = QueueId::from_slice(&origin.queue).unwrap_or_default();
        Origin { queue, placement: origin.placement, attempt: origin.attempt }
    });
    let party = row.party.into_iter().map(|guest| {
        let seat = SeatId::from_slice(&guest.seat).unwrap_or_default();
        (seat, Guest { player: guest.player, data: guest.data })
    });
    let kept = Kept {
        id,
        gate: Gate::opened(ScopeId::Game(id), opened),
        spec: GameSpec {
            fleet: row.fleet,
            location: row.location,
            key: row.key,
            name: row.name,
            properties: row.properties,
            data,
            capacity: row.capacity,
            accepts: row.accepts,
            visible: row.visible,
            creator: row.creator,
            ends_when_empty: row.ends_when_empty,
            several_seats: row.several_seats,
        },
        print: Print::from_slice(&row.print),
        host: HostId::from_slice(&row.host).ok_or("a host id of another length")?,
        status,
        cause,
        created: WallTime(row.created_ms),
        ended: row.ended_ms.map(WallTime),
        was_active: row.was_active,
        was_joined: row.was_joined,
        in_match: row.in_match,
        origin,
        party: party.collect(),
        lock: Lock::from_row(&row.lock, row.is_chosen),
        activate_by: match row.activate_by_ms {
            Some(by) => WallTime(by),
            None => now.wall_after(config.activation_limit),
        },
    };
    Ok(GameCore::assemble(now, config, kept))
}

/// Adds the Game's own rows to a batch.
pub(super) fn put_game(game: &GameCore, changes: &mut Vec<Change>) {
    let spec = &game.spec;
    let status = STATUSES.iter().position(|status| *status == game.status);
    let cause = game.cause.and_then(|cause| EndCause::ALL.iter().position(|it| *it == cause));
    let origin = game.origin.as_ref().map(|origin| OriginRow {
        queue: origin.queue.0.to_vec(),
        placement: origin.placement.clone(),
        attempt: origin.attempt,
    });
    let party = game.party.iter().map(|(seat, guest)| GuestRow {
        seat: seat.0.to_vec(),
        player: guest.player.clone(),
        data: guest.data.clone(),
    });
    let (lock, is_chosen) = game.lock.to_row();
    let row = GameRow {
        fleet: spec.fleet.clone(),
        location: spec.location.clone(),
        key: spec.key.clone(),
        name: spec.name.clone(),
        properties: spec.properties.clone(),
        capacity: spec.capacity,
        accepts: spec.accepts,
        visible: spec.visible,
        creator: spec.creator.clone(),
        ends_when_empty: spec.ends_when_empty,
        print: game.print.to_vec(),
        host: game.host.0.to_vec(),
        status: status.unwrap_or_default() as u32,
        cause: cause.map_or(0, |index| index as u32 + 1),
        created_ms: game.created.0,
        ended_ms: game.ended.map(|ended| ended.0),
        was_active: game.was_active,
        was_joined: game.was_joined,
        origin,
        party: party.collect(),
        in_match: game.in_match,
        lock,
        is_chosen,
        several_seats: spec.several_seats,
        activate_by_ms: Some(game.activate_by.0),
    };
    changes.push(Change::Put(Bytes::from_static(GAME), row.encode_to_vec().into()));
    if game.status == Status::Activating && !spec.data.is_empty() {
        changes.push(Change::Put(Bytes::from_static(DATA), spec.data.clone()));
    }
}

/// What of the seats differs from the scope.
pub(super) fn seat_changes(seats: &mut Seats) -> Vec<Change> {
    let dirty = seats.take_dirty();
    let changes = dirty.into_iter().map(|(id, seat)| {
        let key = Bytes::from([SEAT, &id.0].concat());
        match seat {
            Some(seat) => Change::Put(key, seat_row(seat).encode_to_vec().into()),
            None => Change::Delete(key),
        }
    });
    changes.collect()
}

fn seat_row(seat: &Seat) -> SeatRow {
    let (lock, is_chosen) = seat.lock.to_row();
    let mut row = SeatRow {
        id: seat.id.0.to_vec(),
        number: seat.number,
        player: seat.player.clone(),
        data: seat.data.clone(),
        key: seat.key.clone(),
        print: if seat.key.is_empty() { Vec::new() } else { seat.print.to_vec() },
        created_ms: seat.created.0,
        process: seat.entry.map_or(0, |entry| entry.process),
        entry: seat.entry.map_or(0, |entry| entry.number),
        lock,
        is_chosen,
        ..SeatRow::default()
    };
    let mut hold = |holder: Holder| {
        (row.session, row.stay, row.is_held) = (holder.session.0, holder.stay, true);
    };
    match seat.state {
        SeatState::Reserved { until } => row.at_ms = until.0,
        SeatState::Claimed { holder, until, .. } => {
            hold(holder);
            (row.state, row.at_ms) = (1, until.0);
        }
        SeatState::Active { holder } => {
            if let Some(holder) = holder {
                hold(holder);
            }
            row.state = 2;
        }
        SeatState::Ended { how, at } => {
            let end = SeatEnd::ALL.iter().position(|end| *end == how).unwrap_or_default();
            (row.state, row.at_ms, row.end) = (3, at.0, end as u32);
        }
    }
    row
}

/// A seat of its row; `by` is when its claim, if it has one, runs out.
pub(super) fn seat(row: SeatRow, by: Time) -> Result<Seat, String> {
    let holder = Holder { session: SessionId(row.session), stay: row.stay };
    let at = WallTime(row.at_ms);
    let state = match row.state {
        0 => SeatState::Reserved { until: at },
        1 => SeatState::Claimed { holder, until: at, by },
        // Rows of earlier versions have a holder if its session has a number.
        2 => SeatState::Active { holder: (row.is_held || row.session != 0).then_some(holder) },
        _ => {
            let how = *SeatEnd::ALL.get(row.end as usize).ok_or("an unknown end of a seat")?;
            SeatState::Ended { how, at }
        }
    };
    Ok(Seat {
        id: SeatId::from_slice(&row.id).ok_or("a seat id of another length")?,
        number: row.number,
        player: row.player,
        data: row.data,
        key: row.key,
        print: Print::from_slice(&row.print),
        created: WallTime(row.created_ms),
        state,
        entry: (row.entry != 0).then_some(Entry { process: row.process, number: row.entry }),
        lock: Lock::from_row(&row.lock, row.is_chosen),
        payer: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as it was written before it had a lock: field numbers and types do not change.
    #[test]
    fn a_seat_of_an_earlier_version_is_read_with_its_holder_and_without_a_lock() {
        let row = SeatRow {
            id: vec![7; 16],
            number: 3,
            player: "ann".to_owned(),
            state: 2,
            session: 9,
            stay: 1,
            ..SeatRow::default()
        };
        let old = row.encode_to_vec();
        let kept = seat(SeatRow::decode(&old[..]).unwrap(), Time::ZERO).unwrap();
        let holder = Holder { session: SessionId(9), stay: 1 };
        assert_eq!(kept.state, SeatState::Active { holder: Some(holder) });
        assert_eq!(kept.lock, Lock::default());
        let accepted = seat(SeatRow { session: 0, ..row }, Time::ZERO).unwrap();
        assert_eq!(accepted.state, SeatState::Active { holder: None });
    }

    #[test]
    fn a_holder_is_kept_whatever_the_number_of_its_session() {
        let holder = Holder { session: SessionId(0), stay: 0 };
        let row = SeatRow { id: vec![7; 16], ..SeatRow::default() };
        let mut one = seat(row, Time::ZERO).unwrap();
        one.state = SeatState::Active { holder: Some(holder) };
        let again = seat(seat_row(&one), Time::ZERO).unwrap();
        assert_eq!(again.state, one.state);
    }
}
