//! Cuts that follow each other, folded into one that holds everything.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::row::{
    Cell, Cut, Jobs, LatestRow, MemberRow, ObjectRow, OutboxRow, PlayerRow, RingRow, Timers,
};

/// A cut under way to hold everything.
#[derive(Default)]
pub(super) struct Fold {
    newest: Cut,
    snapshot: Option<Bytes>,
    cells: BTreeMap<Bytes, Cell>,
    members: BTreeMap<u64, MemberRow>,
    ring: BTreeMap<u64, RingRow>,
    outbox: BTreeMap<(u64, u64), OutboxRow>,
    latest: BTreeMap<String, LatestRow>,
    timers: Option<Timers>,
    jobs: Option<Jobs>,
    objects: BTreeMap<u64, ObjectRow>,
    players: BTreeMap<Bytes, PlayerRow>,
}

impl Fold {
    pub(super) fn add(&mut self, mut cut: Cut) {
        self.snapshot = cut.snapshot.take().or(self.snapshot.take());
        if cut.cells_cleared {
            self.cells.clear();
        }
        for cell in std::mem::take(&mut cut.cells) {
            match cell.value {
                Some(_) => drop(self.cells.insert(cell.key.clone(), cell)),
                None => drop(self.cells.remove(&cell.key)),
            }
        }
        for gone in &cut.gone {
            self.members.remove(gone);
            self.outbox.retain(|(session, _), _| session != gone);
        }
        for row in std::mem::take(&mut cut.members) {
            self.members.insert(row.session, row);
        }
        for row in std::mem::take(&mut cut.ring) {
            self.ring.insert(row.seq, row);
        }
        self.ring = self.ring.split_off(&cut.ring_floor);
        for row in std::mem::take(&mut cut.outbox) {
            self.outbox.insert((row.session, row.seq), row);
        }
        for row in std::mem::take(&mut cut.latest) {
            self.latest.insert(row.key.clone(), row);
        }
        self.timers = cut.timers.take().or(self.timers.take());
        self.jobs = cut.jobs.take().or(self.jobs.take());
        for row in std::mem::take(&mut cut.objects) {
            match row.player.is_empty() {
                true => drop(self.objects.remove(&row.object)),
                false => drop(self.objects.insert(row.object, row)),
            }
        }
        if cut.all_players {
            self.players.clear();
        }
        if cut.kind.is_empty() {
            cut.kind = std::mem::take(&mut self.newest.kind);
            cut.name = std::mem::take(&mut self.newest.name);
        }
        for row in std::mem::take(&mut cut.players) {
            match row.known {
                true => drop(self.players.insert(row.player.clone(), row)),
                false => drop(self.players.remove(&row.player)),
            }
        }
        self.newest = cut;
    }

    pub(super) fn into_cut(self) -> Cut {
        Cut {
            snapshot: self.snapshot,
            cells: self.cells.into_values().collect(),
            members: self.members.into_values().collect(),
            ring: self.ring.into_values().collect(),
            outbox: self.outbox.into_values().collect(),
            latest: self.latest.into_values().collect(),
            timers: self.timers,
            jobs: self.jobs,
            objects: self.objects.into_values().collect(),
            players: self.players.into_values().collect(),
            ..self.newest
        }
    }
}
