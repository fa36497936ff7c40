//! The server's store with time in it: a batch is submitted now and committed later, in order
//! within its scope and in any order across scopes. A crash keeps, for each scope, what was
//! committed and an arbitrary number of the batches that were on their way. In most worlds the real
//! engine is underneath, on a disk that loses power in the middle of a write.

mod apply;
mod model;
mod owners;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rejoin_core::id::{OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};
use rejoin_store::platter::Platter;
use rejoin_store::{Damaged, Embedded, Memory, Outcome, Store, StoreError};

use rejoin_testkit::parts::rng::Rng;

pub use self::apply::Fate;
use self::model::Model;
use self::owners::Owners;

/// All that can go wrong on a disk, and what a crash can interrupt. A long run must see each.
pub const STRIKES: &[&str] = &[
    "a batch was fenced",
    "a commit was unknown and had landed",
    "a commit was unknown and had not landed",
    "a damaged scope was set aside",
    "a former process is paused",
    "a half was applied beside commits",
    "a late batch landed before the next owner came",
    "a late batch was refused",
    "a scope rotted",
    "a sync failed",
    "a sync failed in an apply",
    "a write went astray",
    "an apply found no room",
    "an owner was overtaken",
    "crash after a Game's commit of a seat",
    "crash after a player's commit of a ban",
    "crash after a session's commit of a ban",
    "crash after a session's commit of a join",
    "crash after a session's commit of a move",
    "crash after a session's commit of a part",
    "crash after a session's commit of a seat",
    "crash after a session's commit of a zone's end",
    "crash after a zone's commit of a join",
    "crash after a zone's commit of a part",
    "crash after a zone's commit of its end",
    "crash after the entered zone's commit of a move",
    "crash after the left zone's commit of a move",
    "crash before a seat was freed",
    "crash before a seat was given back",
    "crash while scopes were opened",
    "crash with a seat in use",
    "crash with commits under way",
    "crash with two layers",
    "crash within a join",
    "crash within a part",
    "crash within a transfer",
    "crash within an apply",
    "crash within recovery",
    "crash within the claim of a seat",
    "crash within the confirmation of a seat",
    "crash within the end of a session",
    "crash within the end of a zone",
    "room made on a full disk",
    "the disk stalled",
    "the disk was full",
    "what was not synced is kept",
    "what was not synced is lost",
    "writes are torn",
];

/// What keeps the rows.
enum Kept {
    Memory(Memory),
    /// The real engine; none between a crash and the next opening.
    Engine(Platter, Option<Box<Embedded>>),
}

/// What came of the time of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// It is committed: tell.
    Done,
    /// There is nothing to tell.
    Nothing,
    /// There is no room: again later.
    Full,
    /// The store cannot tell whether it landed: again later, which is safe and tells.
    Unknown,
    /// The end of the scope's former life is not committed yet: again later.
    Behind,
    /// The scope has another owner.
    Fenced,
    /// Nothing is committed any more: the process must end.
    Poisoned,
}

/// Whether a store can tell what becomes of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Luck {
    /// It can.
    Known,
    /// It cannot; so many of the batches land, at most.
    Unknown {
        /// How many.
        landing: usize,
    },
}

/// The store.
pub struct Disk {
    kept: Kept,
    pending: BTreeMap<ScopeId, VecDeque<(Batch, u64)>>,
    /// Scopes that end with their process, kept in memory whatever keeps the others.
    fleeting: BTreeSet<ScopeId>,
    passing: Memory,
    /// Scopes whose rows have rotted: the next opening finds out.
    rotten: BTreeSet<ScopeId>,
    /// Scopes of which a row landed in another's place, or that have another's: the engine itself
    /// must find out.
    astray: BTreeSet<ScopeId>,
    owners: Owners,
    /// What the store must hold.
    model: Model,
    /// There is an event for the half of the journal that waits to be applied.
    apply_is_planned: bool,
    /// The power goes with one of the next writes, whatever becomes of the process.
    power_goes: bool,
    /// Nothing is committed before then.
    pub stalled_until: u64,
    /// There is no room before then.
    pub full_until: u64,
    /// Batches committed.
    pub commits: u64,
    /// What went wrong on this disk, and how often.
    pub struck: BTreeMap<&'static str, u64>,
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            kept: Kept::Memory(Memory::default()),
            pending: BTreeMap::new(),
            fleeting: BTreeSet::new(),
            passing: Memory::default(),
            rotten: BTreeSet::new(),
            astray: BTreeSet::new(),
            owners: Owners::default(),
            model: Model::default(),
            apply_is_planned: false,
            power_goes: false,
            stalled_until: 0,
            full_until: 0,
            commits: 0,
            struck: BTreeMap::new(),
        }
    }
}

impl Disk {
    /// A disk with the real engine on it.
    #[must_use]
    pub fn with_engine() -> Self {
        Self { kept: Kept::Engine(Platter::default(), None), ..Self::default() }
    }

    /// Notes that something went wrong.
    pub fn strike(&mut self, name: &'static str) {
        debug_assert!(STRIKES.contains(&name), "{name}");
        *self.struck.entry(name).or_default() += 1;
    }

    /// The store of a scope. The real engine is opened when it is first asked for.
    fn store(&mut self, scope: ScopeId) -> &mut dyn Store {
        if self.fleeting.contains(&scope) {
            return &mut self.passing;
        }
        match &mut self.kept {
            Kept::Memory(memory) => memory,
            Kept::Engine(platter, store) => {
                let open = || {
                    Box::new(platter.stepped_store().expect("the engine opens after a power cut"))
                };
                store.get_or_insert_with(open).as_mut()
            }
        }
    }

    /// Whether a batch of a scope and owner is on its way.
    pub fn has_batch_of(&self, scope: ScopeId, owner: OwnerEpoch) -> bool {
        let queue = self.pending.get(&scope).into_iter().flatten();
        queue.into_iter().any(|(batch, _)| batch.owner == owner)
    }

    /// Takes a batch; says when it will be committed.
    pub fn submit(&mut self, now: u64, batch: Batch, most_us: u64, rng: &mut Rng) -> u64 {
        let stalled_until = self.stalled_until;
        let queue = self.pending.entry(batch.scope).or_default();
        let earliest = queue.back().map_or(now, |(_, at)| *at).max(stalled_until);
        let at = earliest.max(now + 1 + rng.below(most_us));
        queue.push_back((batch, at));
        at
    }

    /// The time of a commit has come.
    pub fn commit(
        &mut self,
        now: u64,
        (scope, owner, revision): (ScopeId, OwnerEpoch, Revision),
        luck: Luck,
    ) -> Commit {
        let Some(queue) = self.pending.get(&scope) else { return Commit::Nothing };
        let due = |batch: &Batch| batch.owner == owner && batch.revision <= revision;
        let count = queue.iter().take_while(|(batch, _)| due(batch)).count();
        if count == 0 {
            let is_there = queue.iter().any(|(batch, _)| due(batch) && batch.revision == revision);
            return if is_there { Commit::Behind } else { Commit::Nothing };
        }
        if self.full_until > now && !self.fleeting.contains(&scope) {
            if !queue.iter().take(count).all(|(batch, _)| makes_room(batch)) {
                return Commit::Full;
            }
            self.strike("room made on a full disk");
        }
        let Some(queue) = self.pending.get(&scope) else { return Commit::Nothing };
        let group: Vec<Batch> = queue.iter().take(count).map(|(batch, _)| batch.clone()).collect();
        if let Luck::Unknown { landing } = luck
            && !self.fleeting.contains(&scope)
        {
            let landing = landing.min(count);
            self.store(scope).commit(&group[..landing]);
            self.strike(if landing == count {
                "a commit was unknown and had landed"
            } else {
                "a commit was unknown and had not landed"
            });
            return Commit::Unknown;
        }
        let outcomes = self.store(scope).commit(&group);
        // What has to come again keeps its place, and so does what a poisoned store leaves undecided.
        let is_open = |one: &Outcome| one.is_worth_another_try() || *one == Outcome::Poisoned;
        let settled = outcomes.iter().take_while(|one| !is_open(one)).count();
        self.give_up(scope, settled);
        self.commits += settled as u64;
        if !self.fleeting.contains(&scope) {
            let landed = group.iter().zip(&outcomes);
            let landed = landed.filter(|(_, outcome)| **outcome == Outcome::Committed);
            landed.for_each(|(batch, _)| self.model.acknowledge(batch));
        }
        let last = group.last().map_or(revision, |batch| batch.revision);
        match outcomes.last().copied().unwrap_or(Outcome::Unknown) {
            Outcome::Committed if last == revision => Commit::Done,
            Outcome::Committed => Commit::Nothing,
            Outcome::Full => Commit::Full,
            Outcome::Unknown => Commit::Unknown,
            Outcome::Fenced { .. } => Commit::Fenced,
            Outcome::Poisoned => Commit::Poisoned,
            outcome @ (Outcome::OutOfOrder { .. } | Outcome::TooLarge { .. }) => {
                self.owners.fail(format!("revision {last} of {scope:?}: {outcome}"));
                Commit::Nothing
            }
        }
    }

    /// So many of a scope's batches need not be submitted again.
    pub fn give_up(&mut self, scope: ScopeId, count: usize) {
        let Some(queue) = self.pending.get_mut(&scope) else { return };
        queue.drain(..count.min(queue.len()));
        if queue.is_empty() {
            self.pending.remove(&scope);
        }
    }

    /// Opens a scope: what was on its way either landed before or never will. One that has rotted is
    /// set aside.
    ///
    /// # Errors
    /// It has rotted.
    pub fn open(&mut self, scope: ScopeId, rng: &mut Rng) -> Result<Opened, Damaged> {
        self.land_some(scope, rng);
        if self.rotten.remove(&scope) {
            if let Kept::Memory(memory) = &mut self.kept {
                memory.forget(scope);
            }
            self.model.forget(scope);
            return Err(Damaged { scope, why: "it has rotted".to_owned() });
        }
        let is_astray = self.astray.remove(&scope);
        match self.store(scope).open_one(scope) {
            Ok(_) if is_astray => panic!("{scope:?} passes for what was written"),
            Ok(opened) => {
                self.note_opened(scope, &opened);
                Ok(opened)
            }
            Err(StoreError::Damaged(damaged)) => {
                self.model.forget(scope);
                Err(damaged)
            }
            Err(other) => panic!("{scope:?} cannot be opened: {other}"),
        }
    }

    /// A scope that is gone with its process.
    pub fn mark_fleeting(&mut self, zone: ZoneId) {
        self.fleeting.insert(ScopeId::Zone(zone));
    }

    /// The process is gone.
    pub fn crash(&mut self, rng: &mut Rng) {
        let scopes: Vec<ScopeId> = self.pending.keys().copied().collect();
        if !scopes.is_empty() {
            self.strike("crash with commits under way");
        }
        if self.awaits_apply() {
            self.strike("crash with two layers");
        }
        (self.apply_is_planned, self.power_goes) = (false, false);
        self.cut_power(&scopes, rng);
        for scope in scopes {
            self.land_some(scope, rng);
        }
        self.fleeting.clear();
        self.passing = Memory::default();
        if let Kept::Engine(_, store) = &mut self.kept {
            *store = None;
        }
    }

    /// A row of a session or a zone rots, or lands in another's place; which scopes that costs. Only
    /// where the engine's own check of its pages would not refuse the whole file first.
    pub fn rot(&mut self, rng: &mut Rng) -> Vec<ScopeId> {
        let mut scopes = self.scopes();
        scopes.retain(|scope| matches!(scope, ScopeId::Session(_) | ScopeId::Zone(_)));
        scopes.retain(|scope| !self.astray.contains(scope) && !self.is_awaited(*scope));
        if scopes.len() < 2 {
            return Vec::new();
        }
        let from = *rng.pick(&scopes);
        if let Kept::Memory(_) = &self.kept {
            self.rotten.insert(from);
            self.strike("a scope rotted");
            return vec![from];
        }
        scopes.retain(|scope| *scope != from);
        let onto = *rng.pick(&scopes);
        let Kept::Engine(_, Some(store)) = &mut self.kept else { return Vec::new() };
        if store.misplace(from, onto) != Ok(true) {
            return Vec::new();
        }
        self.strike("a write went astray");
        self.astray.extend([from, onto]);
        vec![from, onto]
    }

    /// All scopes there are.
    #[must_use]
    pub fn scopes(&mut self) -> Vec<ScopeId> {
        self.store(ScopeId::Hub).scopes(None).unwrap_or_default()
    }

    /// The real engine is in the middle of a commit when the power goes.
    fn cut_power(&mut self, scopes: &[ScopeId], rng: &mut Rng) {
        let lasting = scopes.iter().filter(|scope| !self.fleeting.contains(scope));
        let firsts = lasting.filter_map(|scope| self.pending.get(scope)?.front());
        let group: Vec<Batch> = firsts.map(|(batch, _)| batch.clone()).collect();
        let Kept::Engine(platter, store) = &mut self.kept else { return };
        platter.die_in(rng.below(12));
        if let Some(store) = store {
            // Whether it landed is found out when it is opened again.
            store.commit(&group);
        }
        *store = None;
        let share = rng.below(3);
        platter.revive(|| share == 2 || (share == 1 && rng.per_mille(500)));
        let fate =
            ["what was not synced is lost", "writes are torn", "what was not synced is kept"];
        self.strike(fate[share as usize]);
    }

    fn land_some(&mut self, scope: ScopeId, rng: &mut Rng) {
        let Some(queue) = self.pending.remove(&scope) else { return };
        let landed = rng.below(queue.len() as u64 + 1) as usize;
        if !self.fleeting.contains(&scope) {
            // Some may also have landed before, in a commit that was interrupted or unknown.
            queue.iter().for_each(|(batch, _)| self.model.may_land(batch));
        }
        for (batch, _) in queue.iter().take(landed) {
            // Whatever refuses one batch refuses all after it.
            if self.store(scope).apply(batch) != Outcome::Committed {
                break;
            }
        }
    }
}

fn makes_room(batch: &Batch) -> bool {
    batch.delete_scope || batch.changes.iter().all(|change| !matches!(change, Change::Put(..)))
}
