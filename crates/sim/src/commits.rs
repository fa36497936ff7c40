//! The driver's side of the store. A batch that is submitted comes back committed, without room, of
//! unknown outcome, fenced or poisoned, and the simulator does what the server's store thread does: what
//! may still land is submitted again, a fenced batch is dropped, and a poisoned store ends the process.

use rejoin_core::hub::HubInput;
use rejoin_core::id::{OwnerEpoch, Revision, ZoneId};
use rejoin_core::planted::{Bug, is_armed};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::zone::{Durability, ZoneInput, ZoneSpec};
use rejoin_directory::DirectoryInput;
use rejoin_store::StoreError;

use crate::disk::{Commit, Fate, Luck};
use crate::event::Event;
use crate::world::World;

/// The longest time until a batch is submitted again.
const AGAIN_US: u64 = 300_000;

impl World {
    pub(crate) fn submit(&mut self, batch: Batch) {
        let incarnation = self.node.incarnation;
        let (scope, owner, revision) = (batch.scope, batch.owner, batch.revision);
        if self.node.disk.has_batch_of(scope, owner) {
            let text = format!("{scope:?} submits {revision}, and has a batch at the store");
            self.watch.fail("one-batch", text);
        }
        let most = self.knobs.commit_us;
        let at = self.node.disk.submit(self.now, batch, most, &mut self.rng);
        self.queue.push(at, Event::Committed { incarnation, scope, owner, revision });
        let is_late = revision == Revision(1) || revision.0.is_multiple_of(4);
        let former = self.node.heard.get(&scope).copied();
        if let Some(former) = former.filter(|former| is_late && *former != revision) {
            // A word on a former batch, of an earlier life of the scope perhaps, says nothing about this one.
            let late = Event::CommittedLate { incarnation, scope, revision: former };
            self.queue.push(self.now, late);
        }
    }

    pub(crate) fn committed(&mut self, scope: ScopeId, owner: OwnerEpoch, revision: Revision) {
        let faults = &self.knobs.faults;
        if !self.quiet && self.rng.per_mille(faults.sync_fails) && self.rng.per_mille(100) {
            // What the disk holds now nobody knows; the process ends, and the next one looks.
            self.node.disk.strike("a sync failed");
            return self.crash();
        }
        let luck = self.luck();
        let outcome = self.node.disk.commit(self.now, (scope, owner, revision), luck);
        self.plan_apply();
        self.tell_room(outcome == Commit::Full);
        if self.node.hub.is_none() {
            // It crashed at that.
            return;
        }
        let incarnation = self.node.incarnation;
        let again = Event::Committed { incarnation, scope, owner, revision };
        match outcome {
            Commit::Done => {}
            Commit::Unknown if is_armed(Bug::UnknownTakenForCommitted) => {
                self.node.disk.give_up(scope, 1);
            }
            Commit::Nothing => return,
            Commit::Full | Commit::Unknown | Commit::Behind => {
                let full = self.node.disk.full_until.saturating_sub(self.now);
                let wait = full + self.rng.below(AGAIN_US);
                return self.plan(wait, again);
            }
            Commit::Fenced => {
                // The real driver writes a line to its log and goes on: the scope has its next owner.
                self.tell(|| format!("fenced {scope:?} {owner} {revision}"));
                return self.node.disk.strike("a batch was fenced");
            }
            Commit::Poisoned => {
                self.tell(|| "poisoned".to_owned());
                return self.crash();
            }
        }
        if self.counts_down(scope) && self.crashes_after(scope, false) {
            return;
        }
        self.node.heard.insert(scope, revision);
        self.hear_commit(scope, revision);
        self.crashes_after(scope, true);
    }

    /// The owner of a scope hears of its commit, in time or late.
    pub(crate) fn hear_commit(&mut self, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Zone(zone) => {
                self.zone(zone, ZoneInput::Committed(revision));
            }
            _ if scope.is_directory() => {
                self.directory(DirectoryInput::Committed(scope, revision));
            }
            ScopeId::Account(_) => {
                self.hub(HubInput::Committed(scope, revision));
                self.check_rows();
            }
            _ => self.hub(HubInput::Committed(scope, revision)),
        }
    }

    /// Whether the store can tell what becomes of the next commit.
    fn luck(&mut self) -> Luck {
        if self.quiet || !self.rng.per_mille(self.knobs.faults.unknown) {
            return Luck::Known;
        }
        Luck::Unknown { landing: self.rng.below(3) as usize }
    }

    /// The machines hear when the disk has no room and when it has room again.
    fn tell_room(&mut self, found_full: bool) {
        let is_full = found_full || (self.node.knows_full && self.node.disk.full_until > self.now);
        if std::mem::replace(&mut self.node.knows_full, is_full) == is_full {
            return;
        }
        self.watch.outage.store_full(self.now, is_full);
        let zones: Vec<ZoneId> = self.node.zones.keys().copied().collect();
        for zone in zones {
            self.zone(zone, ZoneInput::StoreFull(is_full));
        }
        self.hub(HubInput::StoreFull(is_full));
    }

    /// Opens a zone, or does so later where the store finds no room.
    pub(crate) fn open_zone(&mut self, incarnation: u64, spec: Box<ZoneSpec>) {
        let is_kept = spec.config.durability != Durability::Memory;
        let full = self.node.disk.full_until.saturating_sub(self.now);
        let store = if is_kept { self.node.disk.settle() } else { Ok(()) };
        match store {
            Ok(()) if !is_kept || full == 0 => {}
            Ok(()) | Err(StoreError::Full) => {
                let wait = full + self.rng.below(AGAIN_US);
                return self.plan(wait, Event::OpenZone { incarnation, spec });
            }
            Err(_) => return self.crash(),
        }
        let id = spec.id;
        self.tell(|| format!("open {:?}", spec.name));
        self.node.open_zone(self.now, *spec, &mut self.rng);
        self.plan_apply();
        self.drain_zone(id);
    }

    /// A full half of the engine's journal waits: a thread would begin with it at any time.
    fn plan_apply(&mut self) {
        if !self.node.disk.wants_apply() {
            return;
        }
        let most = *self.rng.pick(&[2_000, 200_000, 3_000_000]);
        let (incarnation, wait) = (self.node.incarnation, self.rng.below(most));
        self.plan(wait, Event::Apply { incarnation });
    }

    /// A full half of the engine's journal is brought into the tree, or is not.
    pub(crate) fn apply(&mut self) {
        let fails = !self.quiet && self.rng.per_mille(self.knobs.faults.apply_fails);
        let fate = if fails { Fate::draw_bad(&mut self.rng) } else { Fate::Done };
        self.tell(|| format!("apply {fate:?}"));
        self.node.disk.apply(fate);
        if matches!(fate, Fate::PowerGoes(_)) {
            self.crash();
        }
    }

    /// Another process opens scopes of this one, which is stopped a while later.
    pub(crate) fn overtake(&mut self) {
        let count = self.node.disk.overtake(&mut self.rng);
        self.tell(|| format!("overtaken in {count} scopes"));
        if count > 0 {
            let (incarnation, wait) = (self.node.incarnation, self.rng.below(3_000_000));
            self.plan(wait, Event::Ended { incarnation });
        }
    }

    /// Looks at what the store did.
    pub(crate) fn check_store(&mut self) {
        for text in self.node.disk.take_found() {
            self.watch.fail("store-kept", text);
        }
    }
}
