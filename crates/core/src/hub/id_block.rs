//! Session ids, and the hub's own row that makes them unique: no id is given out before a bound above it
//! is committed, so none is given out twice, whatever crashes. Bounds are raised a block at a time.

use bytes::Bytes;
use prost::Message;

use super::{Hub, HubOutput};
use crate::gate::{Gate, Gated};
use crate::id::{OwnerEpoch, Revision, SessionId};
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
        Self { gate: Gate::opened(ScopeId::Hub, hub), next, bound: next, history }
    }

    /// Whether ids can be given out.
    pub(crate) fn is_ready(&self) -> bool {
        self.next < self.bound
    }

    /// The owner of the hub's scope: the number of this process.
    pub(crate) fn owner(&self) -> OwnerEpoch {
        self.gate.standing().0
    }

    fn take(&mut self) -> Option<SessionId> {
        let id = self.is_ready().then_some(SessionId(self.next))?;
        self.next += 1;
        Some(id)
    }

    /// Whether fewer ids than this are left, and no more are on their way.
    fn is_short_of(&self, ids: u64) -> bool {
        self.bound - self.next < ids && self.gate.is_settled()
    }

    /// Writes the row with a bound that is so much higher.
    fn reserve(&mut self, ids: u64, wall: WallTime, guest_key: &[u8]) {
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
    }

    /// What is to be committed now.
    fn take_batches(&mut self) -> impl Iterator<Item = Batch> {
        std::iter::from_fn(|| self.next_batch())
    }

    fn next_batch(&mut self) -> Option<Batch> {
        loop {
            match self.gate.next_effect()? {
                AfterHub::Commit(batch) => return Some(batch),
                AfterHub::Bound(bound) => self.bound = bound,
            }
        }
    }
}

impl Hub {
    /// Takes the next session id; none while no more are reserved.
    pub(crate) fn next_session_id(&mut self) -> Option<SessionId> {
        let id = self.ids.take()?;
        if self.ids.is_short_of(self.config.id_block / 2) {
            self.reserve_ids();
        }
        Some(id)
    }

    /// Reserves the next block of session ids.
    pub(crate) fn reserve_ids(&mut self) {
        let wall = self.moment().wall;
        self.ids.reserve(self.config.id_block.max(1), wall, self.players.guest_key());
        self.out.extend(self.ids.take_batches().map(HubOutput::Commit));
    }

    pub(super) fn hub_row_committed(&mut self, revision: Revision) {
        self.ids.gate.committed(revision);
        self.out.extend(self.ids.take_batches().map(HubOutput::Commit));
        self.finish_recovery();
    }
}
