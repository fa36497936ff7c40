//! Session ids, and the hub's own row that makes them unique: no id is given out before a bound above it
//! is committed, so none is given out twice, whatever crashes. Bounds are raised a block at a time.

use std::collections::VecDeque;

use bytes::Bytes;
use prost::Message;

use crate::gate::{Gate, Gated};
use crate::id::{Revision, SessionId};
use crate::scope::{Batch, Change, History, Opened, RESTORED, ScopeId};
use crate::time::WallTime;

/// Ids that are passed over after a restore: more than were given out since any backup.
const IDS_LOST: u64 = 1 << 32;

pub(crate) const HUB_ROW: &[u8] = b"hub";

/// The row of the hub's scope.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HubRow {
    /// No session id at or above this has been given out.
    #[prost(uint64, tag = "1")]
    pub id_bound: u64,
    /// The highest wall time seen, so that it never runs backwards.
    #[prost(uint64, tag = "2")]
    pub wall_ms: u64,
    /// What guest secrets are made and checked with. Not in rows of before there was one.
    #[prost(bytes = "bytes", tag = "3")]
    pub guest_key: Bytes,
}

/// What waits for a commit of the hub's row.
#[derive(Debug)]
enum AfterHub {
    /// Nothing but the batch itself: give it to the store.
    Commit(Batch),
    /// Ids below this can be given out.
    Bound(u64),
}

impl Gated for AfterHub {
    fn submit(batch: Batch) -> Self {
        Self::Commit(batch)
    }
}

/// The session ids that can be given out.
#[derive(Debug)]
pub(crate) struct IdBlock {
    gate: Gate<AfterHub>,
    out: VecDeque<Batch>,
    /// The next id.
    next: u64,
    /// Ids below this are committed as given out.
    bound: u64,
    /// Whether ids above the bound may have been given out before a backup was restored.
    history: History,
}

impl IdBlock {
    /// What the hub's scope says, whose row holds this bound. No id can be given out yet.
    pub(crate) fn new(hub: &Opened, id_bound: u64) -> Self {
        let history = hub.history();
        let next = match history {
            History::Whole => id_bound.max(1),
            History::RolledBack => id_bound.saturating_add(IDS_LOST),
        };
        let gate = Gate::opened(ScopeId::Hub, hub);
        Self { gate, out: VecDeque::new(), next, bound: next, history }
    }

    /// Whether ids can be given out.
    pub(crate) fn is_ready(&self) -> bool {
        self.next < self.bound
    }

    /// Takes the next session id; none while no more are reserved. `ids`, `wall` and `guest_key` are for the row,
    /// see [`reserve`](Self::reserve).
    pub(crate) fn take(&mut self, ids: u64, wall: WallTime, guest_key: &[u8]) -> Option<SessionId> {
        let id = self.is_ready().then_some(SessionId(self.next))?;
        self.next += 1;
        if self.bound - self.next < ids / 2 && self.gate.is_settled() {
            self.reserve(ids, wall, guest_key);
        }
        Some(id)
    }

    /// Reserves so many more ids: writes the row with a bound that is so much higher.
    pub(crate) fn reserve(&mut self, ids: u64, wall: WallTime, guest_key: &[u8]) {
        let ids = ids.max(1);
        let id_bound = self.bound.saturating_add(ids);
        let guest_key = Bytes::copy_from_slice(guest_key);
        let row = HubRow { id_bound, wall_ms: wall.0, guest_key };
        let row = Change::Put(Bytes::from_static(HUB_ROW), Bytes::from(row.encode_to_vec()));
        let mut changes = vec![row];
        if std::mem::take(&mut self.history) == History::RolledBack {
            changes.push(Change::Delete(Bytes::from_static(RESTORED)));
        }
        self.gate.after(AfterHub::Bound(id_bound));
        self.gate.settle(changes);
        self.drain();
    }

    /// The row is committed.
    pub(crate) fn committed(&mut self, revision: Revision) {
        self.gate.committed(revision);
        self.drain();
    }

    /// The next batch for the store.
    pub(crate) fn next_batch(&mut self) -> Option<Batch> {
        self.out.pop_front()
    }

    fn drain(&mut self) {
        while let Some(effect) = self.gate.next_effect() {
            match effect {
                AfterHub::Commit(batch) => self.out.push_back(batch),
                AfterHub::Bound(bound) => self.bound = bound,
            }
        }
    }
}
