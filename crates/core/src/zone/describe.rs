//! What of a zone goes into a cut.

use std::time::Duration;

use bytes::Bytes;

use super::latest::Value;
use super::member::Member;
use super::objects::Owned;
use super::ring::{Entry, Recipients};
use super::room::{MatchData, Room};
use super::row::{self, Cut};
use crate::exchange::ZoneName;
use crate::id::{ObjectId, PlayerId, SessionId};
use crate::roster::Presence;
use crate::stream::Kept;
use crate::time::{Time, micros};

/// Everything of a cut but its rows of members and of what was said to them, see [`encode_rows`].
pub(super) fn describe_room(now: Time, room: &Room, is_base: bool) -> Cut {
    let dirty = &room.dirty;
    let said = if is_base { 0 } else { dirty.said };
    let cells: Vec<row::Cell> = if is_base {
        room.cells.iter().map(|(key, value)| cell(key, Some(value))).collect()
    } else {
        dirty.cells.iter().map(|key| cell(key, room.cells.get(key))).collect()
    };
    let all_players = is_base || dirty.all_players;
    Cut {
        format: row::FORMAT,
        last: room.stream.last,
        age_us: micros(room.clock.age(now)),
        ticks: room.clock.ticks(),
        match_running: room.match_running(),
        ending: room.ending,
        last_job: room.last_job.0,
        game_version: 0,
        snapshot: None,
        cells_cleared: false,
        cells,
        members: Vec::new(),
        gone: dirty.gone.iter().map(|session| session.0).collect(),
        ring_floor: room.stream.ring.floor().unwrap_or(room.stream.last + 1),
        ring: Vec::new(),
        outbox: Vec::new(),
        latest: room.stream.latest.after(said).map(latest_row).collect(),
        timers: (is_base || dirty.timers).then(|| timers(room)),
        jobs: (is_base || dirty.jobs).then(|| jobs(room)),
        objects: objects(room, is_base),
        players: players(room, all_players),
        all_players,
        kind: if is_base { room.name.kind.clone() } else { String::new() },
        name: if is_base { room.name.name.clone() } else { String::new() },
        seated: room.seated,
    }
}

/// The rows of members, of their outboxes and of the ring: those that every message changes.
pub(super) fn encode_rows(now: Time, room: &Room, is_base: bool, encoder: &mut row::Encoder) {
    let (dirty, service) = (&room.dirty, room.deadlines.service(now));
    let said = if is_base { 0 } else { dirty.said };
    let mut encode = |session: SessionId, member: &Member| {
        encoder.member(&member_row(service, session, member));
        // A leaver's outbox holds what the ring may have held before: all of it is written.
        let from = if member.is_active() { said } else { 0 };
        let own = member.outbound.own();
        let start = own.partition_point(|kept| kept.seq <= from);
        for Kept { seq, frame } in own.range(start..) {
            let (session, seq, frame) = (session.0, *seq, frame.protobuf().clone());
            encoder.outbox(&row::OutboxRow { session, seq, frame });
        }
    };
    if is_base {
        room.members.iter().for_each(|(session, member)| encode(*session, member));
    } else {
        // Whoever is told something, or leaves, is among those that have changed.
        let known = |session| Some((session, room.members.get(&session)?));
        let changed = dirty.members.iter().filter_map(known);
        changed.for_each(|(session, member)| encode(session, member));
    }
    room.stream.ring.after(said).for_each(|entry| encoder.ring(&ring_row(entry)));
}

pub(super) fn cell(key: &Bytes, value: Option<&Bytes>) -> row::Cell {
    row::Cell { key: key.clone(), value: value.cloned() }
}

/// `service`: the present instant in the time that deadlines are kept in.
pub(super) fn member_row(service: Time, session: SessionId, member: &Member) -> row::MemberRow {
    let leaving = member.leaving.as_ref().map(|leaving| {
        let (name, payload) = leaving.next.clone().unzip();
        let name = name.unwrap_or(ZoneName { kind: String::new(), name: String::new() });
        row::LeavingRow {
            cause: leaving.cause.into(),
            last: member.outbound.newest(),
            next_kind: name.kind,
            next_name: name.name,
            next_payload: payload.unwrap_or_default(),
            has_next: leaving.next.is_some(),
        }
    });
    let calls = member.calls.rows(service);
    row::MemberRow {
        session: session.0,
        player: Bytes::copy_from_slice(&member.player.0),
        leg: member.outbound.leg().to_wire(),
        native: member.native,
        joined: member.joined,
        epoch: member.epoch.0,
        newest: member.outbound.newest(),
        acked: member.outbound.acked(),
        lost: member.outbound.lost(),
        applied: member.inbound.applied(),
        poisoned: member.inbound.poisoned().to_vec(),
        leaving,
        calls: calls
            .map(|(id, key, rest_us)| row::CallRow { call: id.0, key: key.clone(), rest_us })
            .collect(),
        last_call: member.calls.last().0,
        avatar: member.avatar.map(|avatar| avatar.0),
        data: member.data.clone(),
        turned: member.outbound.reset().into(),
        heard: member.heard,
    }
}

pub(super) fn ring_row(entry: &Entry) -> row::RingRow {
    let (to, sessions) = match &entry.to {
        Recipients::All => (0, Vec::new()),
        Recipients::Except(session) => (1, vec![session.0]),
        Recipients::Only(sessions) => (2, sessions.iter().map(|session| session.0).collect()),
    };
    let cause = entry.cause.unwrap_or_default().0;
    row::RingRow { seq: entry.seq, to, sessions, cause, frame: entry.frame.protobuf().clone() }
}

pub(super) fn latest_row((key, value): (&String, &Value)) -> row::LatestRow {
    let (payload, frame) = (value.payload.clone(), value.frame.protobuf().clone());
    row::LatestRow { key: key.clone(), seq: value.seq, payload, frame }
}

pub(super) fn timers(room: &Room) -> row::Timers {
    let timer =
        |(key, due): (&Bytes, Duration)| row::TimerRow { key: key.clone(), due_us: micros(due) };
    row::Timers { timers: room.clock.timers().map(timer).collect() }
}

pub(super) fn jobs(room: &Room) -> row::Jobs {
    let jobs = room.jobs.iter().map(|(job, (key, request))| row::JobRow {
        job: job.0,
        key: key.clone(),
        request: request.clone(),
    });
    row::Jobs { jobs: jobs.collect() }
}

pub(super) fn objects(room: &Room, is_base: bool) -> Vec<row::ObjectRow> {
    let object_row = |object: ObjectId, owned: Option<Owned>| row::ObjectRow {
        object: object.0,
        player: owned.map(|owned| Bytes::copy_from_slice(&owned.player.0)).unwrap_or_default(),
        on_part: owned.map_or(0, |owned| owned.on_part as u32),
    };
    if is_base {
        return room
            .objects
            .iter()
            .map(|(object, owned)| object_row(object, Some(owned)))
            .collect();
    }
    let changed = room.dirty.objects.iter();
    changed.map(|object| object_row(*object, room.objects.get(*object))).collect()
}

pub(super) fn players(room: &Room, all: bool) -> Vec<row::PlayerRow> {
    let known =
        |player: &PlayerId, presence: Presence<SessionId>, data: &MatchData| row::PlayerRow {
            player: Bytes::copy_from_slice(&player.0),
            known: true,
            session: match presence {
                Presence::Here { connection } => connection.0,
                Presence::Away { .. } => 0,
            },
            data: data.0.clone(),
        };
    if all {
        let players = room.roster.players();
        return players.map(|(player, presence, data)| known(player, presence, data)).collect();
    }
    let changed = room.dirty.players.iter().map(|player| {
        let found = room.roster.presence(player).zip(room.roster.data(player));
        found.map_or_else(
            || row::PlayerRow {
                player: Bytes::copy_from_slice(&player.0),
                known: false,
                session: 0,
                data: Bytes::new(),
            },
            |(presence, data)| known(player, presence, data),
        )
    });
    changed.collect()
}
