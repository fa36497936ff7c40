//! A session in its scope: one row for itself, those of its `Downstream`, and a bounded number for its
//! timeline. Fields are only ever added.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;

use super::life::{Away, Life};
use super::token::Tokens;
use super::{
    Downstream, Ending, Flags, Identity, InZone, Joining, Lobby, Losses, Place, Serializer,
    SessionCore,
};
use crate::event::EndCause;
use crate::exchange::{Hold, ZoneName};
use crate::gate::Gate;
use crate::id::{GameId, Leg, PlayerId, SeatId, SessionEpoch, SessionId, ZoneId};
use crate::planted::{Bug, is_armed};
use crate::scope::{Change, Opened, ScopeId};
use crate::seat::{SeatStep, Seating};
use crate::secret::SecretHash;
use crate::stream::{Inbound, OutboxLimits};
use crate::time::{WallTime, micros};
use crate::timeline::Timeline;

const SELF: &[u8] = b"session";

#[derive(Clone, PartialEq, Message)]
struct Row {
    #[prost(bytes = "bytes", tag = "1")]
    player: Bytes,
    #[prost(uint32, tag = "2")]
    identity: u32,
    #[prost(uint64, tag = "3")]
    epoch: u64,
    #[prost(message, repeated, tag = "4")]
    tokens: Vec<TokenRow>,
    #[prost(uint64, tag = "5")]
    leg: u64,
    #[prost(uint64, tag = "6")]
    last: u64,
    #[prost(uint64, tag = "7")]
    applied: u64,
    /// 0: nowhere, 1: joining, 2: in.
    #[prost(uint32, tag = "8")]
    place: u32,
    #[prost(uint64, tag = "9")]
    zone: u64,
    #[prost(string, tag = "10")]
    zone_kind: String,
    #[prost(string, tag = "11")]
    zone_name: String,
    #[prost(uint64, tag = "12")]
    join_to: u64,
    #[prost(bytes = "bytes", tag = "13")]
    join_payload: Bytes,
    /// 0: none, 1: timed, 2: until the match ends.
    #[prost(uint32, tag = "14")]
    hold: u32,
    #[prost(uint64, tag = "15")]
    hold_us: u64,
    #[prost(uint32, tag = "16")]
    serializer: u32,
    #[prost(uint32, tag = "17")]
    flags: u32,
    #[prost(uint32, tag = "18")]
    permissions: u32,
    #[prost(bytes = "bytes", tag = "19")]
    data: Bytes,
    #[prost(uint64, optional, tag = "20")]
    disconnect_callback: Option<u64>,
    /// 0: it goes on; otherwise the cause and one.
    #[prost(uint32, tag = "21")]
    ending: u32,
    #[prost(uint64, tag = "22")]
    began_ms: u64,
    #[prost(uint32, tag = "23")]
    timeline: u32,
    #[prost(uint64, optional, tag = "24")]
    join_poisoned: Option<u64>,
    #[prost(message, repeated, tag = "25")]
    seats: Vec<SeatRow>,
    /// Whose key it is, where that is not the player itself.
    #[prost(bytes = "bytes", tag = "26")]
    credential: Bytes,
    #[prost(uint64, tag = "27")]
    lost_known: u64,
    /// Tells whether a token is one of this session, and which; opens nothing.
    #[prost(bytes = "bytes", tag = "28")]
    token_key: Bytes,
    /// The first token that carries its number.
    #[prost(uint32, tag = "29")]
    token_keyed_from: u32,
}

#[derive(Clone, PartialEq, Message)]
struct SeatRow {
    #[prost(bytes = "bytes", tag = "1")]
    game: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    seat: Bytes,
    #[prost(uint32, tag = "3")]
    stay: u32,
    /// Its place among `SeatStep::ALL`.
    #[prost(uint32, tag = "4")]
    step: u32,
}

#[derive(Clone, PartialEq, Message)]
struct TokenRow {
    #[prost(uint32, tag = "1")]
    number: u32,
    #[prost(bytes = "bytes", tag = "2")]
    hash: Bytes,
    #[prost(bool, tag = "3")]
    valid: bool,
}

#[derive(Clone, PartialEq, Message)]
struct EntryRow {
    #[prost(uint64, tag = "1")]
    at_ms: u64,
    #[prost(uint32, tag = "2")]
    what: u32,
    #[prost(uint32, tag = "3")]
    detail: u32,
}

const CAUSES: [EndCause; 9] = [
    EndCause::Left,
    EndCause::HoldEnded,
    EndCause::Superseded,
    EndCause::Idle,
    EndCause::Lifetime,
    EndCause::Kicked,
    EndCause::Banned,
    EndCause::AgentFault,
    EndCause::Locked,
];

/// The changes that bring a session's scope up to date.
pub(super) fn changes(session: &mut SessionCore) -> Vec<Change> {
    let row = row_of(session);
    let mut changes = vec![Change::Put(Bytes::from_static(SELF), Bytes::from(row.encode_to_vec()))];
    session.downstream.changes(session.place.is_lobby(), &mut changes);
    changes.extend(session.losses.next_change());
    for (slot, entry) in session.timeline.unstored() {
        let row = EntryRow { at_ms: entry.at.0, what: entry.what as u32, detail: entry.detail };
        let key = Bytes::from(format!("timeline/{slot:02}"));
        changes.push(Change::Put(key, Bytes::from(row.encode_to_vec())));
    }
    session.timeline.mark_stored();
    changes
}

fn row_of(session: &SessionCore) -> Row {
    let (place, zone, joining) = match &session.place {
        Place::Lobby(_) => (0, 0, None),
        Place::Joining(joining) => (1, joining.zone.0, Some(joining)),
        Place::In(inside) => (2, inside.zone.0, None),
    };
    let (hold, hold_us) = match session.hold {
        Hold::None => (0, 0),
        Hold::Timed(while_) => (1, micros(while_)),
        Hold::UntilMatchEnds(while_) => (2, micros(while_)),
    };
    let mut tokens: Vec<TokenRow> = session
        .tokens
        .rows()
        .map(|(number, hash, valid)| TokenRow { number, hash: hash.to_vec().into(), valid })
        .collect();
    if is_armed(Bug::TokenConfirmLost) {
        tokens.truncate(1);
    }
    Row {
        player: Bytes::copy_from_slice(&session.player.0),
        identity: session.identity as u32,
        epoch: session.epoch.0,
        tokens,
        leg: session.leg.to_wire(),
        last: session.downstream.newest(),
        applied: session.inbound.applied(),
        place,
        zone,
        zone_kind: joining.map(|j| j.name.kind.clone()).unwrap_or_default(),
        zone_name: joining.map(|j| j.name.name.clone()).unwrap_or_default(),
        join_to: joining.map_or(0, |j| j.to),
        join_payload: joining.map(|j| j.payload.clone()).unwrap_or_default(),
        join_poisoned: joining.and_then(|j| j.poisoned),
        hold,
        hold_us,
        serializer: session.serializer as u32,
        flags: session.flags.0.into(),
        permissions: session.permissions,
        data: session.data.clone(),
        disconnect_callback: session.disconnect_callback,
        ending: CAUSES
            .iter()
            .position(|cause| Some(*cause) == session.ending.cause())
            .map_or(0, |index| index as u32 + 1),
        began_ms: session.began.0,
        timeline: session.timeline.count(),
        seats: if is_armed(Bug::SeatNotKept) {
            Vec::new()
        } else {
            session.seats.iter().map(seat_row).collect()
        },
        credential: if session.credential == session.player {
            Bytes::new()
        } else {
            Bytes::copy_from_slice(&session.credential.0)
        },
        lost_known: session.losses.known(),
        token_key: session.tokens.key().map(|(key, _)| key.to_vec().into()).unwrap_or_default(),
        token_keyed_from: session.tokens.key().map_or(0, |(_, from)| from),
    }
}

fn seat_row(seating: &Seating) -> SeatRow {
    let step = SeatStep::ALL.iter().position(|step| *step == seating.step);
    SeatRow {
        game: Bytes::copy_from_slice(&seating.game.0),
        seat: Bytes::copy_from_slice(&seating.seat.0),
        stay: seating.stay,
        step: step.unwrap_or_default() as u32,
    }
}

fn seating_of(row: &SeatRow) -> Result<Seating, String> {
    let game = GameId::from_slice(&row.game).ok_or("a game's id is not 16 bytes")?;
    let seat = SeatId::from_slice(&row.seat).ok_or("a seat's id is not 16 bytes")?;
    let step = SeatStep::ALL.get(row.step as usize).ok_or("a seat's step is not known")?;
    Ok(Seating::kept(game, seat, row.stay, *step))
}

/// Rebuilds a session; nobody is there yet.
///
/// # Errors
/// Says what is wrong with the rows.
pub(super) fn load(
    id: SessionId,
    opened: &Opened,
    limits: OutboxLimits,
) -> Result<SessionCore, String> {
    let find =
        |key: &[u8]| opened.rows.iter().find(|(name, _)| name == key).map(|(_, v)| v.clone());
    let row = find(SELF).ok_or("there is no row of the session itself")?;
    let row = Row::decode(row).map_err(|error| format!("the session's row: {error}"))?;
    let leg = Leg::from_wire(row.leg);
    let last = (row.place == 0).then_some(row.last);
    let player = PlayerId::from_slice(&row.player).ok_or("the player's id is not 16 bytes")?;
    let credential = match row.credential.is_empty() {
        true => player,
        false => PlayerId::from_slice(&row.credential).ok_or("the key's id is not 16 bytes")?,
    };
    let identity = match row.identity {
        0 => Identity::Key,
        1 => Identity::Secret,
        3 => Identity::Server,
        _ => Identity::Anonymous,
    };
    let hold = match (row.hold, Duration::from_micros(row.hold_us)) {
        (0, _) => Hold::None,
        (1, while_) => Hold::Timed(while_),
        (_, while_) => Hold::UntilMatchEnds(while_),
    };
    let serializer = match row.serializer {
        0 => Serializer::Protobuf,
        1 => Serializer::Json,
        _ => Serializer::Native,
    };
    let ending = row.ending.checked_sub(1).and_then(|index| CAUSES.get(index as usize)).copied();
    let mut session = SessionCore::new(id, player, identity, hold, WallTime(row.began_ms));
    session.credential = credential;
    session.epoch = SessionEpoch(row.epoch);
    session.tokens = tokens_of(&row);
    session.life = match serializer {
        Serializer::Native => Life::Local,
        Serializer::Protobuf | Serializer::Json => Life::Away(Away::default()),
    };
    session.place = place_of(&row);
    session.leg = leg;
    session.inbound = Inbound::after(row.applied);
    session.downstream = Downstream::load(opened, leg, last, limits)?;
    session.serializer = serializer;
    // Who had asked is gone; a zone that still waits says so when it opens.
    session.flags = Flags((row.flags & 0xff) as u8 & !Flags::AWAITING_RESPONSE.0);
    session.permissions = row.permissions;
    session.data = row.data;
    session.disconnect_callback = row.disconnect_callback;
    session.ending = ending.map_or(Ending::None, Ending::UnderWay);
    session.timeline = Timeline::resumed(row.timeline);
    session.gate = Gate::opened(ScopeId::Session(id), opened);
    session.losses = Losses::restored(row.lost_known, opened.history());
    session.seats = row.seats.iter().map(seating_of).collect::<Result<_, _>>()?;
    Ok(session)
}

fn tokens_of(row: &Row) -> Tokens {
    let rows = row.tokens.iter().filter_map(|token| {
        Some((token.number, SecretHash::from_slice(&token.hash)?, token.valid))
    });
    let key = row.token_key[..].try_into().ok();
    Tokens::from_rows(rows, key.map(|key| (key, row.token_keyed_from)))
}

fn place_of(row: &Row) -> Place {
    match row.place {
        0 => Place::Lobby(Lobby::default()),
        1 => Place::Joining(Box::new(Joining {
            zone: ZoneId(row.zone),
            name: ZoneName { kind: row.zone_kind.clone(), name: row.zone_name.clone() },
            to: row.join_to,
            payload: row.join_payload.clone(),
            poisoned: row.join_poisoned,
            asked: None,
        })),
        _ => Place::In(InZone::new(ZoneId(row.zone))),
    }
}
