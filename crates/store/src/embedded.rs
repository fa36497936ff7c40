//! The store in a folder. What is committed is first in a journal, many batches in one write and one
//! sync, and is brought into an ordered tree later, many groups at once. What it wrote it recognises by its
//! own checksums; a scope that is not what was written is set aside and reported. A failed sync poisons it
//! for good. On a full disk nothing is lost: what does not fit is told so and can be submitted again, and a
//! reserve is kept so that what makes room has room to do so.

mod applier;
pub mod backup;
mod beneath;
pub mod disk;
mod engine;
pub mod folder;
pub mod journal;
mod layer;
mod lock;
mod opening;
mod reading;
mod record;
mod room;
mod row;
mod sector;
pub mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Opened, ScopeId};

use self::applier::{Applier, Applying, Work};
use self::beneath::{OlderAndTree, Unknown};
use self::disk::{Ground, Part};
use self::engine::{Engine, Trouble};
use self::folder::Folder;
use self::journal::{Journal, Mark};
use self::layer::{Layer, Look};
use self::reading::Known;
use self::record::Record;
use self::snapshot::{Sight, Snapshots};
use crate::memory::{Verdict, doomed, judge};
use crate::print::{self, Print};
use crate::{Damaged, Outcome, ScopeKind, Store, StoreError};

/// On a full disk, how many groups are only asked for what makes room before all is tried again: the
/// file may have found room within itself.
const PATIENCE: u32 = 20;
/// Memory for what is in one half of the journal and not in the tree.
const LAYER_WEIGHT_MAX: usize = 32 << 20;

/// A store in a folder: commits go to a journal of two halves, and an applier brings each half into a tree.
pub struct Embedded {
    /// None while the engine must be opened again.
    engine: Option<Arc<Engine>>,
    journal: Journal,
    /// What is committed and not in the tree is kept here, so that others can look at it.
    snapshots: Snapshots,
    /// Brings the older layer into the tree.
    applier: Option<Applier>,
    applying: Applying,
    ground: Box<dyn Ground>,
    folder: Option<Folder>,
    /// The highest owner epoch of a scope that is gone: one that is made anew begins above it.
    floor: OwnerEpoch,
    /// Groups to come before a full disk is tried again.
    full: Option<u32>,
    /// Why nothing is committed any more.
    poisoned: Option<String>,
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let folder = self.folder.as_ref().map(Folder::path);
        f.debug_struct("Embedded").field("folder", &folder).finish_non_exhaustive()
    }
}

/// What became of a group before it is written.
struct Judged {
    outcomes: Vec<Outcome>,
    /// Places of batches that are to be written, and their fingerprints.
    accepted: Vec<(usize, Print)>,
}

impl Judged {
    fn records<'a>(&self, group: &'a [Batch]) -> Vec<Record<'a>> {
        self.accepted.iter().map(|(place, print)| Record::Batch(&group[*place], *print)).collect()
    }
}

impl Embedded {
    /// A way to look at what is committed, from any thread, while the store is in use.
    #[must_use]
    pub fn snapshots(&self) -> Snapshots {
        self.snapshots.clone()
    }

    /// Writes scopes of a backup.
    fn put_back(&mut self, scopes: &[(ScopeId, Opened)]) -> Result<(), StoreError> {
        Ok(self.engine()?.put_back(scopes)?)
    }

    /// Writes what was set aside, of a backup.
    fn put_back_aside(&mut self, rows: &[(Bytes, Bytes)]) -> Result<(), StoreError> {
        Ok(self.engine()?.put_back_aside(rows)?)
    }

    /// A row of one scope lands in the place of a row of another, as a disk that misdirects a write
    /// would have it; for tests. False: there is nothing to misplace.
    ///
    /// # Errors
    /// The file cannot be written.
    #[cfg(feature = "contract")]
    pub fn misplace(&mut self, from: ScopeId, onto: ScopeId) -> Result<bool, StoreError> {
        self.flush()?;
        Ok(self.engine()?.misplace(from, onto)?)
    }

    /// From now on a full half of the journal waits for [`step_apply`](Self::step_apply); for tests.
    #[cfg(feature = "contract")]
    pub(crate) fn apply_in_steps(&mut self) {
        self.applying = Applying::Stepped;
    }

    /// Whether a full half of the journal waits to be brought into the tree; for tests.
    #[cfg(feature = "contract")]
    #[must_use]
    pub fn awaits_apply(&self) -> bool {
        matches!(self.applier, Some(Applier::Waiting(_)))
    }

    /// Brings a full half of the journal that waits for it into the tree; for tests. What came of it is
    /// noticed by the next group, as it is where a thread does this.
    #[cfg(feature = "contract")]
    pub fn step_apply(&mut self) {
        self.applier = self.applier.take().map(Applier::step);
    }

    /// About how much memory is taken by what is in the journal and not in the tree; for tests.
    #[cfg(feature = "contract")]
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.snapshots.sight().weight()
    }

    fn poison(&mut self, why: String) -> Outcome {
        self.poisoned.get_or_insert(why);
        Outcome::Poisoned
    }

    /// The engine, opened again if it had to be closed.
    fn engine(&mut self) -> Result<Arc<Engine>, Trouble> {
        if let Some(engine) = &self.engine {
            return Ok(Arc::clone(engine));
        }
        let engine =
            Arc::new(Engine::open(self.ground.file(Part::Tree).map_err(Trouble::of_disk)?)?);
        self.snapshots.sight().database = Some(Arc::clone(engine.database()));
        self.engine = Some(Arc::clone(&engine));
        Ok(engine)
    }

    /// Judges a group by what is committed. Nothing is written.
    fn judge(&mut self, group: &[Batch]) -> Result<Judged, Trouble> {
        let mut known = BTreeMap::new();
        let mut missing = Vec::new();
        {
            let sight = self.snapshots.sight();
            for batch in group {
                known.entry(batch.scope).or_insert_with(|| match sight.standing(batch.scope) {
                    Some(standing) => standing.map_or(Known::Absent, Known::At),
                    None => {
                        missing.push(batch.scope);
                        Known::Absent
                    }
                });
            }
        }
        if !missing.is_empty() {
            let found = self.engine()?.standings(&missing)?;
            known.extend(missing.into_iter().zip(found));
        }
        let mut judged = Judged { outcomes: Vec::with_capacity(group.len()), accepted: Vec::new() };
        for ((place, batch), is_doomed) in group.iter().enumerate().zip(doomed(group)) {
            let standing = match known.get(&batch.scope) {
                // Whoever writes it is done for, and the next start sets it aside.
                Some(Known::Damaged) => {
                    judged.outcomes.push(Outcome::Fenced { owner: OwnerEpoch(0) });
                    continue;
                }
                Some(Known::At(standing)) => Some(*standing),
                Some(Known::Absent) | None => None,
            };
            judged.outcomes.push(match judge(batch, standing, is_doomed) {
                Verdict::Answer(outcome) => outcome,
                Verdict::Apply => {
                    let print = print::of_batch(batch);
                    let at = Known::At((batch.owner, batch.revision, print));
                    known.insert(batch.scope, if batch.delete_scope { Known::Absent } else { at });
                    judged.accepted.push((place, print));
                    Outcome::Committed
                }
            });
        }
        Ok(judged)
    }

    fn try_commit(&mut self, group: &[Batch]) -> Result<Vec<Outcome>, Trouble> {
        self.settle()?;
        let judged = self.judge(group)?;
        let bytes = judged.accepted.iter().map(|(place, _)| room::bytes_of(&group[*place])).sum();
        self.keep(&judged.records(group), bytes)?;
        Ok(judged.outcomes)
    }

    /// Makes records durable: in the journal, or in the tree at once where there is little room.
    fn keep(&mut self, records: &[Record<'_>], bytes: usize) -> Result<(), Trouble> {
        if records.is_empty() {
            return Ok(());
        }
        let is_stuck = self.applier.is_none() && self.snapshots.sight().older.is_some();
        if is_stuck || !self.has_room(bytes) {
            self.flush()?;
            if !self.has_room(bytes) {
                return self.write_through(records);
            }
        }
        self.journal.prepare(records);
        let weight = self.snapshots.sight().newest.weight();
        if !self.journal.has_place() || weight >= LAYER_WEIGHT_MAX {
            self.turn()?;
            self.journal.prepare(records);
        }
        match self.journal.append() {
            // Its file cannot grow. What it holds makes way.
            Err(Trouble::Full) => {
                self.flush()?;
                return self.write_through(records);
            }
            appended => appended?,
        }
        self.lay(records);
        Ok(())
    }

    /// What is in the journal now is committed.
    fn lay(&mut self, records: &[Record<'_>]) {
        let mut sight = self.snapshots.sight();
        let Sight { older, newest, .. } = &mut *sight;
        let mut beneath = OlderAndTree::new(older.as_deref(), self.engine.as_deref());
        let layer = Arc::make_mut(newest);
        records.iter().for_each(|record| record.lay(layer, &mut beneath));
        self.floor = layer.floor().max(self.floor);
    }

    /// Past the journal, which must be empty.
    fn write_through(&mut self, records: &[Record<'_>]) -> Result<(), Trouble> {
        let mut layer = Layer::default();
        records.iter().for_each(|record| record.lay(&mut layer, &mut Unknown));
        self.engine()?.apply(&[&layer], None)?;
        self.floor = layer.floor().max(self.floor);
        Ok(())
    }

    /// Half of the journal is full: it is brought into the tree while the other one is written.
    fn turn(&mut self) -> Result<(), Trouble> {
        if self.applying == Applying::AtOnce {
            return self.flush();
        }
        self.wait()?;
        let engine = self.engine()?;
        let mark = Mark { is_begun: true, ..self.mark(false) };
        let end = self.journal.end_sector();
        self.journal.turn();
        let layer = {
            let mut sight = self.snapshots.sight();
            let layer = std::mem::take(&mut sight.newest);
            sight.older = Some(Arc::clone(&layer));
            layer
        };
        // Before the tree says so. If there is no room for it, an older layer without an applier makes the
        // next group bring everything into the tree first: another turn would write over this half.
        self.journal.begin(end)?;
        self.applier = Applier::start(self.applying, Work { engine, layer, mark });
        Ok(())
    }

    /// Takes the result of work that has ended.
    fn settle(&mut self) -> Result<(), Trouble> {
        let has_ended = self.applier.as_ref().is_some_and(Applier::has_ended);
        if has_ended { self.wait() } else { Ok(()) }
    }

    /// Waits for the work. What it could not bring into the tree is still the older layer.
    fn wait(&mut self) -> Result<(), Trouble> {
        let Some(applier) = self.applier.take() else { return Ok(()) };
        applier.join()?;
        self.snapshots.sight().older = None;
        Ok(())
    }

    fn mark(&self, is_closed: bool) -> Mark {
        let (applied, lengths) = (self.journal.generation(), self.journal.lengths());
        Mark { applied, is_closed, is_begun: false, lengths }
    }

    /// Brings everything into the tree.
    fn flush(&mut self) -> Result<(), Trouble> {
        let mut done = self.wait();
        if self.snapshots.sight().is_clear() {
            return done;
        }
        if done.is_ok() {
            done = self.apply_all(false);
        }
        if !matches!(done, Err(Trouble::Full)) {
            return done;
        }
        self.no_room();
        let layers = self.snapshots.sight().layers();
        let layers: Vec<&Layer> = layers.iter().map(Arc::as_ref).collect();
        self.engine()?.make_room(&layers)?;
        self.apply_all(false)
    }

    fn apply_all(&mut self, is_closed: bool) -> Result<(), Trouble> {
        let layers = self.snapshots.sight().layers();
        let layers: Vec<&Layer> = layers.iter().map(Arc::as_ref).collect();
        self.engine()?.apply(&layers, Some(self.mark(is_closed)))?;
        let mut sight = self.snapshots.sight();
        (sight.older, sight.newest) = (None, Arc::default());
        self.journal.turn();
        Ok(())
    }

    /// On a full disk only what makes room is committed, from the reserve.
    fn make_room(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Full; group.len()];
        let mut waiting = BTreeSet::new();
        let mut places = Vec::new();
        for (place, batch) in group.iter().enumerate() {
            if waiting.contains(&batch.scope) || !room::makes_room(batch) {
                waiting.insert(batch.scope);
            } else {
                places.push(place);
            }
        }
        let some: Vec<Batch> = places.iter().map(|place| group[*place].clone()).collect();
        if some.is_empty() {
            return outcomes;
        }
        match self.try_make_room(&some) {
            Ok(done) => {
                // There may be room in the file soon: pages that were given up can be used two
                // commits later.
                self.full = Some(2);
                for (place, outcome) in places.into_iter().zip(done) {
                    outcomes[place] = outcome;
                }
            }
            Err(Trouble::Full) => self.close_engine(),
            Err(Trouble::Poisoned) => {
                outcomes.fill(self.poison("a sync failed".to_owned()));
            }
            Err(Trouble::Unreadable(why)) => outcomes.fill(self.poison(why)),
        }
        outcomes
    }

    /// What is in the journal and finds no room in the tree keeps its place, and this comes behind it.
    fn try_make_room(&mut self, group: &[Batch]) -> Result<Vec<Outcome>, Trouble> {
        let judged = self.judge(group)?;
        let records = judged.records(group);
        if records.is_empty() {
            return Ok(judged.outcomes);
        }
        if self.snapshots.sight().is_clear() {
            self.write_through(&records)?;
        } else {
            self.journal.prepare(&records);
            self.journal.append()?;
            self.lay(&records);
        }
        Ok(judged.outcomes)
    }

    /// Opens scopes; those that are damaged are set aside.
    fn open_scopes(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, Trouble> {
        self.settle()?;
        let looks = self.engine()?.look(scopes)?;
        let looks: Vec<Look> = {
            let sight = self.snapshots.sight();
            let both = scopes.iter().zip(looks);
            both.map(|(scope, look)| sight.lay_over(*scope, look)).collect()
        };
        let damaged = scopes.iter().zip(&looks).filter(|(_, look)| look.is_err());
        let aside: Vec<ScopeId> =
            damaged.map(|(scope, _)| *scope).filter(|scope| *scope != ScopeId::Hub).collect();
        if !aside.is_empty() {
            let least = {
                let sight = self.snapshots.sight();
                let owners = aside.iter().filter_map(|scope| sight.standing(*scope).flatten());
                owners.map(|(owner, ..)| owner).max().unwrap_or_default()
            };
            self.flush()?;
            self.floor = self.engine()?.put_aside(&aside, least)?.max(self.floor);
        }
        let found: Vec<_> = scopes
            .iter()
            .zip(looks)
            .map(|(scope, look)| match look {
                Ok((head, rows)) => {
                    let is_new = head.owner == OwnerEpoch(0) && head.revision == Revision(0);
                    let former = if is_new { self.floor } else { head.owner };
                    let owner = OwnerEpoch(former.0 + 1);
                    Ok((head.last, Opened { owner, revision: head.revision, rows }))
                }
                Err(why) => Err(Damaged { scope: *scope, why }),
            })
            .collect();
        let records: Vec<Record<'_>> = scopes
            .iter()
            .zip(&found)
            .filter_map(|(scope, found)| {
                let (last, opened) = found.as_ref().ok()?;
                Some(Record::Raised(*scope, (opened.owner, opened.revision, *last)))
            })
            .collect();
        self.keep(&records, records.len() * 64)?;
        Ok(found.into_iter().map(|found| found.map(|(_, opened)| opened)).collect())
    }

    /// There is no room: the engine must be opened again, and the reserve is for such times.
    fn no_room(&mut self) {
        self.close_engine();
        if let Some(folder) = &self.folder {
            room::give_up_reserve(folder);
        }
        self.full = Some(PATIENCE);
    }

    fn close_engine(&mut self) {
        self.snapshots.sight().database = None;
        self.engine = None;
    }

    /// Whether there is room for all that waits and so many bytes more.
    fn has_room(&self, bytes: usize) -> bool {
        let waiting = self.snapshots.sight().weight();
        room::has_room(self.ground.as_ref(), waiting + bytes)
    }

    /// Whether a disk that was full is worth another try.
    fn is_worth_a_try(&mut self, group: &[Batch]) -> bool {
        let Some(left) = &mut self.full else { return true };
        let tried_often = *left == 0;
        *left = left.saturating_sub(1);
        tried_often || self.has_room(group.iter().map(room::bytes_of).sum())
    }

    fn keep_reserve(&self) {
        if let Some(folder) = &self.folder {
            room::keep_reserve(folder);
        }
    }
}

impl Drop for Embedded {
    /// A store that is closed in peace needs nothing of its journal. Otherwise the next start reads it.
    fn drop(&mut self) {
        if self.wait().is_ok() && self.poisoned.is_none() && self.engine.is_some() {
            let _ = self.apply_all(true);
        }
        // Others may keep a `Snapshots` for as long as the process lives. The engine marks its file as closed
        // only when nobody has it any more; without that mark the next start reads all of it, and one damaged
        // page costs the whole file.
        self.close_engine();
    }
}

impl Store for Embedded {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        if self.poisoned.is_some() {
            return Err(StoreError::Poisoned);
        }
        match self.open_scopes(scopes) {
            Ok(found) => Ok(found),
            Err(Trouble::Full) => {
                self.no_room();
                Err(StoreError::Full)
            }
            Err(Trouble::Poisoned) => {
                self.poison("a sync failed".to_owned());
                Err(StoreError::Poisoned)
            }
            Err(Trouble::Unreadable(why)) => Err(StoreError::Unreadable(why)),
        }
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        if group.is_empty() {
            return Vec::new();
        }
        let all = |outcome| vec![outcome; group.len()];
        if self.poisoned.is_some() {
            return all(Outcome::Poisoned);
        }
        if !self.is_worth_a_try(group) {
            return self.make_room(group);
        }
        match self.try_commit(group) {
            Ok(outcomes) => {
                if self.full.take().is_some() {
                    self.keep_reserve();
                }
                outcomes
            }
            Err(Trouble::Full) => {
                self.no_room();
                self.make_room(group)
            }
            Err(Trouble::Poisoned) => all(self.poison("a sync failed".to_owned())),
            Err(Trouble::Unreadable(why)) => all(self.poison(why)),
        }
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        match (&self.poisoned, &self.engine) {
            (Some(_), _) => Err(StoreError::Poisoned),
            (None, None) => Err(StoreError::Full),
            (None, Some(engine)) => {
                let mut scopes = engine.scopes()?;
                self.snapshots.sight().lay_over_list(&mut scopes);
                scopes.retain(|scope| kind.is_none_or(|kind| ScopeKind::of(*scope) == kind));
                Ok(scopes.into_iter().collect())
            }
        }
    }

    fn set_aside(&self) -> Result<Vec<ScopeId>, StoreError> {
        match (&self.poisoned, &self.engine) {
            (Some(_), _) => Err(StoreError::Poisoned),
            (None, None) => Err(StoreError::Full),
            (None, Some(engine)) => Ok(engine.set_aside()?),
        }
    }

    fn complaint(&self) -> Option<String> {
        self.poisoned.clone()
    }
}
