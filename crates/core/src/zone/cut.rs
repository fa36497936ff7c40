//! Cuts: what a zone commits and how it starts from that. A cut holds the state, the applied
//! numbers, what was said and who is here, all from the same steps, so nothing that was released is
//! ever undone. There is no replay of inputs: what came after the last cut comes again, because it
//! was not acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{PartCause, RungReason};

use super::core::{Delivery, ZoneCore, ZoneOutput};
use super::latest::Value;
use super::member::{Leaving, Member};
use super::objects::{OnPart, Owned};
use super::ring::{Entry, Recipients};
use super::room::{MatchData, Room};
use super::row::{self, Cut};
use super::{Saved, State, Zone};
use crate::call::Calls;
use crate::event::Event;
use crate::exchange::{ToHub, ZoneName};
use crate::id::{CallId, JobId, Leg, ObjectId, PlayerId, Revision, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::roster::Presence;
use crate::scope::Change;
use crate::stream::{Inbound, Kept, Outbound, Tail};
use crate::time::{Time, micros};

/// When to cut and what the last one held.
#[derive(Debug, Default)]
pub(crate) struct Saver {
    cuts: u32,
    /// Bytes of the last whole cut, and of those since.
    whole_bytes: usize,
    bytes_since: usize,
    snapshot: Option<blake3::Hash>,
    pub next_save: Option<Time>,
    /// The next cut deletes the scope.
    deleting: bool,
}

/// What the game gave to be saved, with its hash; or that it panicked.
type SaveOutcome = Result<Option<(Bytes, blake3::Hash)>, Panicked>;

/// The game panicked while it was saved.
struct Panicked;

/// What a cut counts for at least: rows take room of their own, and are read one by one at a start.
const CUT_BYTES_MIN: usize = 256;
/// Cuts that are smaller than this together are not worth a whole one.
const COMPACTION_BYTES_MIN: usize = 64 << 10;

impl Saver {
    /// Whether everything is to be written afresh: at first, and when the cuts since the last time have
    /// become as large as what there is. So whatever is said, at most about twice its bytes are written;
    /// after `cuts_min` cuts a small zone does not wait for more.
    fn is_compaction_due(&self, cuts_min: u32) -> bool {
        let least = if self.cuts >= cuts_min { 0 } else { COMPACTION_BYTES_MIN };
        self.cuts == 0 || self.bytes_since > self.whole_bytes.max(least)
    }

    fn count(&mut self, changes: &[Change], is_base: bool) {
        let bytes: usize = changes.iter().map(Change::bytes).sum();
        if is_base {
            (self.cuts, self.whole_bytes, self.bytes_since) = (1, bytes, 0);
        } else {
            self.cuts = self.cuts.saturating_add(1);
            self.bytes_since += bytes.max(CUT_BYTES_MIN);
        }
    }
}

impl<Z: Zone> ZoneCore<Z> {
    pub(crate) fn committed(&mut self, revision: Revision) {
        self.out.committed(revision);
    }

    /// The last member is forgotten and the zone is ending: its scope goes.
    pub(crate) fn finish_ending(&mut self) {
        if self.room.ending && self.room.members.is_empty() && !self.saver.deleting {
            self.saver.deleting = true;
            self.room.dirty.any = true;
            self.out.push(ZoneOutput::ToHub(ToHub::Ended));
            self.out.push(ZoneOutput::Event(Event::ZoneEnded { zone: self.room.id }));
        }
    }

    pub(crate) fn cut_if_due(&mut self, now: Time) {
        if !self.can_cut() {
            return;
        }
        let config = &self.room.config;
        if !config.durability.is_gated() && !self.saver.deleting {
            let due = *self.saver.next_save.get_or_insert(now.after(config.save_every));
            if now < due {
                return;
            }
            self.saver.next_save = None;
        }
        // Only the game knows whether a tick changed it; what it says is then cut as it is.
        let saved = (!self.room.dirty.any).then(|| self.save());
        if let Some(Ok(saved)) = &saved
            && saved.as_ref().map(|(_, hash)| *hash) == self.saver.snapshot
        {
            self.room.dirty.maybe = false;
            return;
        }
        self.cut(now, saved);
    }

    /// When a cut is due that nothing but time makes due. While there is nothing to cut, or no more
    /// may be on its way, an input comes first: waking would do nothing.
    pub(crate) fn next_cut(&self) -> Option<Time> {
        let is_gated = self.room.config.durability.is_gated();
        self.saver.next_save.filter(|_| self.can_cut() && !is_gated)
    }

    /// Whether something may have changed, and one more cut may be on its way.
    fn can_cut(&self) -> bool {
        let dirty = self.room.dirty.any || self.room.dirty.maybe;
        dirty && !self.out.is_under_way()
    }

    /// The game's state and its hash.
    fn save(&self) -> SaveOutcome {
        let saved = catch_unwind(AssertUnwindSafe(|| self.game.save())).map_err(|_| Panicked)?;
        Ok(saved.map(|snapshot| {
            let hash = blake3::hash(&snapshot);
            (snapshot, hash)
        }))
    }

    fn cut(&mut self, now: Time, saved: Option<SaveOutcome>) {
        self.acknowledge_cut();
        if self.saver.deleting {
            self.room.dirty.clear(self.room.stream.last);
            return self.out.close();
        }
        self.out.end_step(true);
        // A zone that cuts itself now and then writes all of itself: parts would only pile up.
        let is_base = !self.room.config.durability.is_gated()
            || self.saver.is_compaction_due(self.room.config.cuts_per_compaction);
        // A game that cannot be saved has faulted, and nothing more of this incarnation leaves.
        if let Some(cut) = self.describe(now, is_base, saved) {
            let (_, revision) = self.out.standing();
            self.room.dirty.members.sort();
            let mut encoder = row::Encoder::new(&cut);
            encode_rows(now, &self.room, is_base, &mut encoder);
            let changes = encoder.into_changes(revision.next().0, is_base);
            self.saver.count(&changes, is_base);
            self.room.dirty.clear(self.room.stream.last);
            self.out.submit(changes);
        }
    }

    /// What changed, or everything; none when the game could not be saved.
    fn describe(&mut self, now: Time, is_base: bool, saved: Option<SaveOutcome>) -> Option<Cut> {
        if is_base {
            hit(Mark::Compacted);
            self.room.trim();
        }
        let mut cut = describe_room(now, &self.room, is_base);
        cut.game_version = Z::VERSION;
        if Z::STATE == State::Cells && !is_base || self.closed {
            return Some(cut);
        }
        let Ok(saved) = saved.unwrap_or_else(|| self.save()) else {
            self.fault(None, "save panicked".to_owned());
            return None;
        };
        if let Some((snapshot, hash)) = saved {
            if Z::STATE == State::Cells {
                cut.cells_cleared = true;
                cut.cells.clear();
                self.room.cells.clear();
                cut.snapshot = Some(snapshot);
            } else if is_base || Some(hash) != self.saver.snapshot {
                cut.snapshot = Some(snapshot);
            }
            self.saver.snapshot = Some(hash);
        }
        Some(cut)
    }

    /// Starts from what was saved; nothing, for a new zone.
    pub(crate) fn recover(
        &mut self,
        now: Time,
        saved: Option<Cut>,
        poisoned: Option<(SessionId, u64)>,
    ) {
        if let Some(cut) = saved {
            hit(Mark::ZoneRecovered);
            // A zone that is ending has parted all its members, and only their departures are left to
            // be confirmed. Its game is not called again: if it was closed for its faults, the cuts
            // since then are without the game's state.
            self.closed |= cut.ending;
            let version = cut.game_version;
            let game = Saved {
                snapshot: cut.snapshot.clone(),
                cells: cut
                    .cells
                    .iter()
                    .filter_map(|c| Some((c.key.clone(), c.value.clone()?)))
                    .collect(),
            };
            if !self.closed {
                let restored = catch_unwind(AssertUnwindSafe(|| self.game.restore(version, game)));
                match restored {
                    Ok(Ok(())) => {}
                    Ok(Err(refused)) => return self.refuse_to_open(refused.0),
                    Err(_) => return self.refuse_to_open("restore panicked".to_owned()),
                }
            }
            restore_room(now, &mut self.room, cut);
        } else if self.room.seated {
            // A Game's zone is there before anybody hears of it.
            self.room.dirty.any = true;
        }
        if let Some((session, number)) = poisoned
            && let Some(member) = self.room.active_mut(session)
        {
            member.inbound.poison(number);
            self.room.dirty.any = true;
        }
        self.announce(now);
    }

    fn announce(&mut self, now: Time) {
        let members = self.room.members.iter().map(|(id, m)| (*id, m.stay())).collect();
        let match_running = self.room.match_running();
        self.out.push(ZoneOutput::ToHub(ToHub::Opened { members, match_running }));
        let leaving: Vec<SessionId> =
            self.room.members.iter().filter(|(_, m)| !m.is_active()).map(|(id, _)| *id).collect();
        for session in leaving {
            hit(Mark::DepartRedriven);
            self.tell_departed(session);
        }
        let natives = self.room.members.iter().filter(|(_, m)| m.native && m.is_active());
        let natives: Vec<SessionId> = natives.map(|(id, _)| *id).collect();
        for session in natives {
            self.tell_native(session, Delivery::Rebuilt);
        }
        let awaited = self.room.members.iter().filter(|(_, m)| !m.calls.is_empty());
        let awaited: Vec<SessionId> = awaited.map(|(id, _)| *id).collect();
        for session in awaited {
            self.tell_awaiting(session);
        }
        for (job, (_, request)) in &self.room.jobs {
            self.out.push(ZoneOutput::StartJob { job: *job, request: request.clone() });
        }
        if self.closed && !self.room.ending {
            hit(Mark::ZoneClosed);
            self.end_zone(now, PartCause::ZoneFault);
        }
    }
}

/// Everything of a cut but its rows of members and of what was said to them, see [`encode_rows`].
fn describe_room(now: Time, room: &Room, is_base: bool) -> Cut {
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
fn encode_rows(now: Time, room: &Room, is_base: bool, encoder: &mut row::Encoder) {
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

fn cell(key: &Bytes, value: Option<&Bytes>) -> row::Cell {
    row::Cell { key: key.clone(), value: value.cloned() }
}

/// `service`: the present instant in the time that deadlines are kept in.
fn member_row(service: Time, session: SessionId, member: &Member) -> row::MemberRow {
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

fn ring_row(entry: &Entry) -> row::RingRow {
    let (to, sessions) = match &entry.to {
        Recipients::All => (0, Vec::new()),
        Recipients::Except(session) => (1, vec![session.0]),
        Recipients::Only(sessions) => (2, sessions.iter().map(|session| session.0).collect()),
    };
    let cause = entry.cause.unwrap_or_default().0;
    row::RingRow { seq: entry.seq, to, sessions, cause, frame: entry.frame.protobuf().clone() }
}

fn latest_row((key, value): (&String, &Value)) -> row::LatestRow {
    let (payload, frame) = (value.payload.clone(), value.frame.protobuf().clone());
    row::LatestRow { key: key.clone(), seq: value.seq, payload, frame }
}

fn timers(room: &Room) -> row::Timers {
    let timer =
        |(key, due): (&Bytes, Duration)| row::TimerRow { key: key.clone(), due_us: micros(due) };
    row::Timers { timers: room.clock.timers().map(timer).collect() }
}

fn jobs(room: &Room) -> row::Jobs {
    let jobs = room.jobs.iter().map(|(job, (key, request))| row::JobRow {
        job: job.0,
        key: key.clone(),
        request: request.clone(),
    });
    row::Jobs { jobs: jobs.collect() }
}

fn objects(room: &Room, is_base: bool) -> Vec<row::ObjectRow> {
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

fn players(room: &Room, all: bool) -> Vec<row::PlayerRow> {
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

fn restore_room(now: Time, room: &mut Room, cut: Cut) {
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

fn restore_players(now: Time, room: &mut Room, running: bool, players: Vec<row::PlayerRow>) {
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

fn entry_of(row: row::RingRow) -> Entry {
    let sessions: Vec<SessionId> = row.sessions.into_iter().map(SessionId).collect();
    let to = match (row.to, sessions.first()) {
        (1, Some(session)) => Recipients::Except(*session),
        (2, _) => Recipients::Only(sessions.into()),
        _ => Recipients::All,
    };
    let cause = (row.cause != 0).then_some(SessionId(row.cause));
    Entry { seq: row.seq, to, cause, frame: SharedFrame::from_encoded(row.frame) }
}

fn member_of(service: Time, row: row::MemberRow, mut own: VecDeque<Kept>) -> Member {
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
