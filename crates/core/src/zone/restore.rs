//! A zone as its last cut tells.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{PartCause, RungReason};

use super::latest::Value;
use super::member::{Leaving, Member};
use super::objects::{OnPart, Owned};
use super::ring::{Entry, Recipients};
use super::room::{MatchData, Room};
use super::row::{self, Cut};
use crate::call::Calls;
use crate::exchange::ZoneName;
use crate::id::{CallId, JobId, Leg, ObjectId, PlayerId, SessionEpoch, SessionId};
use crate::planted::{Bug, is_armed};
use crate::stream::{Inbound, Kept, Outbound, Tail};
use crate::time::Time;

pub(super) fn restore_room(now: Time, room: &mut Room, cut: Cut) {
    room.stream.last = cut.last;
    room.clock.restore(Duration::from_micros(cut.age_us), cut.ticks);
    room.ending = cut.ending;
    room.last_job = JobId(cut.last_job);
    room.cells = cut.cells.into_iter().filter_map(|cell| Some((cell.key, cell.value?))).collect();
    for timer in cut.timers.unwrap_or_default().timers {
        room.clock.set(Duration::from_micros(timer.due_us), timer.key);
    }
    for job in cut.jobs.unwrap_or_default().jobs {
        room.jobs.insert(JobId(job.job), (job.key, job.request));
    }
    for object in cut.objects {
        if let Some(player) = PlayerId::from_slice(&object.player) {
            let on_part = match object.on_part {
                0 => OnPart::Keep,
                1 => OnPart::HandOver,
                _ => OnPart::Destroy,
            };
            room.objects.set(ObjectId(object.object), Owned { player, on_part });
        }
    }
    restore_players(now, room, cut.match_running, cut.players);
    for entry in cut.ring {
        room.stream.ring.push(entry_of(entry));
    }
    for value in cut.latest {
        let frame = SharedFrame::from_encoded(value.frame);
        room.stream.latest.set(value.key, Value { seq: value.seq, payload: value.payload, frame });
    }
    let mut kept: BTreeMap<u64, VecDeque<Kept>> = BTreeMap::new();
    for row in cut.outbox {
        let frame = SharedFrame::from_encoded(row.frame);
        kept.entry(row.session).or_default().push_back(Kept { seq: row.seq, frame });
    }
    let (owner, gated) = (room.owner, room.config.durability.is_gated());
    let service = room.deadlines.service(now);
    for mut row in cut.members {
        let session = SessionId(row.session);
        let own = kept.remove(&row.session).unwrap_or_default();
        if row.leaving.is_none() {
            // Broadcasts do not write a row for each who hears them: all that is committed counts.
            row.newest = cut.last;
        }
        let mut member = member_of(service, row, own);
        if !gated && member.is_active() {
            // What was said after this cut is not known any more: no position of it can be met.
            let leg = member.outbound.leg();
            let leg = leg.next_turn(owner).unwrap_or(leg);
            member.outbound.restart(leg, cut.last, RungReason::RolledBack, None);
        }
        room.deadlines.arm(session, &mut member);
        room.members.insert(session, member);
    }
    room.dirty.said = cut.last;
}

pub(super) fn restore_players(
    now: Time,
    room: &mut Room,
    running: bool,
    players: Vec<row::PlayerRow>,
) {
    if running {
        room.roster.match_started();
    }
    for row in players {
        let Some(player) = PlayerId::from_slice(&row.player) else { continue };
        let session = SessionId(row.session);
        // Ids in a cut are distinct, and a record for each fitted before.
        let data = if is_armed(Bug::MatchDataNotRead) { Bytes::new() } else { row.data };
        let _ = room.roster.connect(now, session, player, MatchData(data));
        if row.session == 0 {
            let _ = room.roster.disconnect(now, session);
        }
    }
}

pub(super) fn entry_of(row: row::RingRow) -> Entry {
    let sessions: Vec<SessionId> = row.sessions.into_iter().map(SessionId).collect();
    let to = match (row.to, sessions.first()) {
        (1, Some(session)) => Recipients::Except(*session),
        (2, _) => Recipients::Only(sessions.into()),
        _ => Recipients::All,
    };
    let cause = (row.cause != 0).then_some(SessionId(row.cause));
    Entry { seq: row.seq, to, cause, frame: SharedFrame::from_encoded(row.frame) }
}

pub(super) fn member_of(service: Time, row: row::MemberRow, mut own: VecDeque<Kept>) -> Member {
    let leaving = row.leaving.map(|leaving| Leaving {
        cause: PartCause::try_from(leaving.cause).unwrap_or(PartCause::Lost),
        next: leaving.has_next.then_some((
            ZoneName { kind: leaving.next_kind, name: leaving.next_name },
            leaving.next_payload,
        )),
    });
    let calls = row.calls.into_iter().map(|call| (CallId(call.call), call.key, call.rest_us));
    own.retain(|kept| kept.seq > row.acked.max(row.lost));
    let leg = Leg::from_wire(row.leg);
    let tail = Tail { leg, from: row.acked, last: row.newest, kept: own };
    let reset = RungReason::try_from(row.turned).unwrap_or(RungReason::Unspecified);
    let mut inbound = Inbound::after(row.applied);
    row.poisoned.into_iter().for_each(|number| inbound.poison(number));
    Member {
        player: PlayerId::from_slice(&row.player).unwrap_or_default(),
        native: row.native,
        joined: row.joined,
        epoch: SessionEpoch(row.epoch),
        leaving,
        parting: false,
        outbound: Outbound::restored(tail, row.lost, reset),
        inbound,
        acked_at: Time::ZERO,
        alarm_at: None,
        calls: Calls::from_rows(service, CallId(row.last_call), calls),
        avatar: row.avatar.map(ObjectId),
        data: row.data,
        heard: row.heard,
    }
}
