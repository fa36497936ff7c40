//! How a host is kept: one row for itself, and one for each Game that it runs.

use bytes::Bytes;
use prost::Message;
use rejoin_core::id::{GameId, OwnerEpoch};
use rejoin_core::scope::{Change, Opened};

use super::core::{HostCore, Stage};
use super::{HostEnd, HostState, Registration};

const HOST: &[u8] = b"host";
const GAME: &[u8] = b"game/";
const TAKEN: &[u8] = &[0];
const RUNNING: &[u8] = &[1];

#[derive(Clone, PartialEq, Message)]
struct HostRow {
    #[prost(string, tag = "1")]
    fleet: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    location: String,
    #[prost(string, tag = "4")]
    address: String,
    #[prost(uint32, tag = "5")]
    games_max: u32,
    #[prost(bool, tag = "6")]
    is_reusable: bool,
    #[prost(uint64, tag = "7")]
    lease: u64,
    #[prost(uint32, tag = "8")]
    port: u32,
    #[prost(string, repeated, tag = "9")]
    log_paths: Vec<String>,
    /// 0 registered, 1 ready, 2 draining, 3 and above ended.
    #[prost(uint32, tag = "10")]
    state: u32,
}

/// Reads a host's rows into it.
pub(super) fn read(host: &mut HostCore, opened: &Opened) -> Result<(), String> {
    let mut row = None;
    for (key, value) in &opened.rows {
        if key == HOST {
            row = Some(HostRow::decode(value.clone()).map_err(|error| error.to_string())?);
        } else if let Some(id) = key.strip_prefix(GAME) {
            let game = GameId::from_slice(id).ok_or("a game id of another length")?;
            let stage = if value == RUNNING { Stage::Running } else { Stage::Taken(None) };
            host.games.insert(game, stage);
        }
    }
    let row = row.ok_or("there is no row `host`")?;
    host.registration = Registration {
        fleet: row.fleet,
        name: row.name,
        location: row.location,
        address: row.address,
        games_max: row.games_max,
        is_reusable: row.is_reusable,
    };
    host.lease = OwnerEpoch(row.lease);
    host.port = u16::try_from(row.port).map_err(|_| "a port that is none")?;
    host.log_paths = row.log_paths;
    host.state = match row.state {
        0 => HostState::Registered,
        1 => HostState::Ready,
        2 => HostState::Draining,
        ended => {
            let end = HostEnd::ALL.get(ended as usize - 3).ok_or("an unknown end of a host")?;
            HostState::Ended(*end)
        }
    };
    Ok(())
}

/// What differs from the scope.
pub(super) fn changes(host: &mut HostCore) -> Vec<Change> {
    let mut changes = Vec::new();
    if std::mem::take(&mut host.is_dirty) {
        changes.push(Change::Put(Bytes::from_static(HOST), host_row(host).encode_to_vec().into()));
    }
    for game in std::mem::take(&mut host.dirty_games) {
        let key = Bytes::from([GAME, &game.0].concat());
        changes.push(match host.games.get(&game) {
            Some(Stage::Taken(_)) => Change::Put(key, Bytes::from_static(TAKEN)),
            Some(Stage::Running) => Change::Put(key, Bytes::from_static(RUNNING)),
            None => Change::Delete(key),
        });
    }
    changes
}

fn host_row(host: &HostCore) -> HostRow {
    let registration = host.registration.clone();
    let state = match host.state {
        HostState::Registered => 0,
        HostState::Ready => 1,
        HostState::Draining => 2,
        HostState::Ended(end) => {
            3 + HostEnd::ALL.iter().position(|it| *it == end).unwrap_or_default()
        }
    };
    HostRow {
        fleet: registration.fleet,
        name: registration.name,
        location: registration.location,
        address: registration.address,
        games_max: registration.games_max,
        is_reusable: registration.is_reusable,
        lease: host.lease.0,
        port: u32::from(host.port),
        log_paths: host.log_paths.clone(),
        state: state as u32,
    }
}
