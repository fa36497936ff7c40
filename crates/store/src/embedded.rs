//! The store in a folder: an ordered tree on disk, synced before it is answered, many batches in one
//! sync. What it wrote it recognises by its own checksums; a scope that is not what was written is set
//! aside and reported. A failed sync poisons it for good. On a full disk nothing is lost: what does
//! not fit is told so and can be submitted again, and a reserve is kept so that what makes room has
//! room to do so.

pub mod disk;
mod engine;
pub mod folder;
mod row;
pub mod snapshot;

use std::fs::File;
use std::io;
use std::path::Path;

use fs4::FileExt as _;
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};

use self::disk::{Disk, DiskFile};
use self::engine::{Engine, Raised, Trouble};
use self::folder::{FORMAT, Folder, FolderError};
use self::snapshot::Snapshots;
use crate::{Damaged, Outcome, ScopeKind, Store, StoreError};

/// Room that is kept back for what makes room.
const RESERVE_BYTES: u64 = 4 << 20;
/// Bytes on disk for a byte that is to be written, at most: pages are copied with what changes.
const ROOM_FACTOR: u64 = 8;
/// On a full disk, how many groups are only asked for what makes room before all is tried again: the
/// file may have found room within itself.
const PATIENCE: u32 = 20;

/// Gives the disk again, when the engine has to be opened again.
type Again = Box<dyn FnMut() -> io::Result<Box<dyn Disk>> + Send>;

/// The store.
pub struct Embedded {
    engine: Option<Engine>,
    snapshots: Snapshots,
    again: Again,
    folder: Option<Folder>,
    raised: Raised,
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

impl Embedded {
    /// Opens the store of a folder, making both if there is nothing yet.
    ///
    /// # Errors
    /// The folder is not ours, is held, is of a newer format or is damaged. Nothing was changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FolderError> {
        let path = path.as_ref();
        let folder = Folder::hold(path, make)?;
        let store = |error| FolderError::Store(path.to_owned(), error);
        let system = |error| FolderError::System(path.to_owned(), "store.redb", error);
        let data = folder.data().map_err(system)?;
        if data.metadata().map_err(system)?.len() == 0 {
            // The engine would take it for a new one.
            let why = "the file store.redb is empty".to_owned();
            return Err(FolderError::Broken(path.to_owned(), why));
        }
        let engine = Engine::open(Box::new(DiskFile::new(data)));
        let engine = engine.map_err(|trouble| match trouble {
            Trouble::Unreadable(why) => FolderError::Broken(path.to_owned(), why),
            trouble => store(trouble.into()),
        })?;
        check_about(path, &engine, folder.id())?;
        let again = folder.data().map_err(system)?;
        let again: Again = Box::new(move || Ok(Box::new(DiskFile::new(again.try_clone()?))));
        let store =
            Self::on(engine, again, Some(folder)).map_err(|trouble| store(trouble.into()))?;
        store.keep_reserve();
        Ok(store)
    }

    /// Opens a store on a disk that is none: `again` gives it, more than once if need be. The disk is
    /// empty at first.
    ///
    /// # Errors
    /// What is on the disk cannot be read.
    pub fn on_disk(
        mut again: impl FnMut() -> io::Result<Box<dyn Disk>> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let disk = again().map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let engine = Engine::open(disk)?;
        if engine.about("format")?.is_none() {
            engine.set_about(&[("format", &FORMAT.to_le_bytes())])?;
        }
        Ok(Self::on(engine, Box::new(again), None)?)
    }

    fn on(engine: Engine, again: Again, folder: Option<Folder>) -> Result<Self, Trouble> {
        let snapshots = Snapshots::default();
        snapshots.show(engine.database());
        let raised = engine.raised()?;
        let engine = Some(engine);
        Ok(Self { engine, snapshots, again, folder, raised, full: None, poisoned: None })
    }

    /// A way to look at what is committed, from any thread, while the store is in use.
    #[must_use]
    pub fn snapshots(&self) -> Snapshots {
        self.snapshots.clone()
    }

    /// Writes scopes of a backup.
    fn put_back(&mut self, scopes: &[(ScopeId, Opened)]) -> Result<(), StoreError> {
        Ok(self.engine()?.0.put_back(scopes)?)
    }

    /// A row of one scope lands in the place of a row of another, as a disk that misdirects a write
    /// would have it; for tests. False: there is nothing to misplace.
    ///
    /// # Errors
    /// The file cannot be written.
    #[cfg(feature = "contract")]
    pub fn misplace(&mut self, from: ScopeId, onto: ScopeId) -> Result<bool, StoreError> {
        Ok(self.engine()?.0.misplace(from, onto)?)
    }

    fn poison(&mut self, why: String) -> Outcome {
        self.poisoned.get_or_insert(why);
        Outcome::Poisoned
    }

    /// The engine, opened again if it had to be closed.
    fn engine(&mut self) -> Result<(&Engine, &mut Raised), Trouble> {
        if self.engine.is_none() {
            let disk = (self.again)().map_err(|error| Trouble::Unreadable(error.to_string()))?;
            let engine = Engine::open(disk)?;
            self.raised = engine.raised()?;
            self.snapshots.show(engine.database());
            self.engine = Some(engine);
        }
        let engine = self.engine.as_ref().ok_or(Trouble::Poisoned)?;
        Ok((engine, &mut self.raised))
    }

    fn try_commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let all = |outcome| vec![outcome; group.len()];
        match self.engine().and_then(|(engine, raised)| engine.commit(group, raised)) {
            Ok(outcomes) => {
                if self.full.take().is_some() {
                    self.keep_reserve();
                }
                outcomes
            }
            Err(Trouble::Full) => {
                self.close_engine();
                self.give_up_reserve();
                self.full = Some(PATIENCE);
                self.make_room(group)
            }
            Err(Trouble::Poisoned) => all(self.poison("a sync failed".to_owned())),
            Err(Trouble::Unreadable(why)) => all(self.poison(why)),
        }
    }

    /// On a full disk only what makes room is committed, from the reserve.
    fn make_room(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Full; group.len()];
        let mut waiting = std::collections::BTreeSet::new();
        let mut places = Vec::new();
        for (place, batch) in group.iter().enumerate() {
            if waiting.contains(&batch.scope) || !makes_room(batch) {
                waiting.insert(batch.scope);
            } else {
                places.push(place);
            }
        }
        let some: Vec<Batch> = places.iter().map(|place| group[*place].clone()).collect();
        if some.is_empty() {
            return outcomes;
        }
        match self.engine().and_then(|(engine, raised)| engine.commit(&some, raised)) {
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

    fn close_engine(&mut self) {
        self.snapshots.hide();
        self.engine = None;
    }

    /// Whether a disk that was full is worth another try.
    fn is_worth_a_try(&mut self, group: &[Batch]) -> bool {
        let Some(left) = &mut self.full else { return true };
        let tried_often = *left == 0;
        *left = left.saturating_sub(1);
        let Some(folder) = &self.folder else { return true };
        let bytes: usize = group.iter().map(bytes_of).sum();
        let needed = RESERVE_BYTES + (bytes as u64).saturating_mul(ROOM_FACTOR);
        tried_often || fs4::available_space(folder.path()).is_ok_and(|free| free >= needed)
    }

    /// Takes the reserve, if there is room; without it all goes on.
    fn keep_reserve(&self) {
        let Some(folder) = &self.folder else { return };
        let enough = fs4::available_space(folder.path()).is_ok_and(|free| free > 2 * RESERVE_BYTES);
        if !folder.reserve().exists() && enough {
            let taken = File::create(folder.reserve());
            let _ = taken.and_then(|file| file.allocate(RESERVE_BYTES));
        }
    }

    fn give_up_reserve(&self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_file(folder.reserve());
        }
    }
}

fn bytes_of(batch: &Batch) -> usize {
    let changes = batch.changes.iter().map(|change| match change {
        Change::Put(key, value) => key.len() + value.len() + row::ROW_HEAD,
        Change::Delete(key) | Change::DeletePrefix(key) => key.len(),
    });
    changes.sum::<usize>() + 64
}

fn makes_room(batch: &Batch) -> bool {
    batch.delete_scope || batch.changes.iter().all(|change| !matches!(change, Change::Put(..)))
}

/// Makes a new store in a file.
fn make(data: File, id: &str) -> Result<(), StoreError> {
    let engine = Engine::open(Box::new(DiskFile::new(data)))?;
    engine.set_about(&[("format", &FORMAT.to_le_bytes()), ("id", id.as_bytes())])?;
    Ok(())
}

fn check_about(path: &Path, engine: &Engine, id: &str) -> Result<(), FolderError> {
    let store = |trouble: Trouble| FolderError::Store(path.to_owned(), trouble.into());
    let broken = |why: &str| Err(FolderError::Broken(path.to_owned(), why.to_owned()));
    let format = engine.about("format").map_err(store)?;
    let format = format.and_then(|bytes| bytes.first_chunk().copied().map(u32::from_le_bytes));
    match format {
        Some(format) if format > FORMAT => Err(FolderError::Newer(path.to_owned(), format)),
        None => broken("the file store.redb is not ours"),
        Some(_) if engine.about("id").map_err(store)?.as_deref() != Some(id.as_bytes()) => {
            broken("the file store.redb belongs to another folder")
        }
        Some(_) => Ok(()),
    }
}

impl Store for Embedded {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        if self.poisoned.is_some() {
            return Err(StoreError::Poisoned);
        }
        match self.engine().and_then(|(engine, raised)| engine.open_scopes(scopes, raised)) {
            Ok(found) => Ok(found),
            Err(Trouble::Full) => {
                self.close_engine();
                self.give_up_reserve();
                self.full = Some(PATIENCE);
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
        if self.poisoned.is_some() {
            return vec![Outcome::Poisoned; group.len()];
        }
        if self.is_worth_a_try(group) { self.try_commit(group) } else { self.make_room(group) }
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        match (&self.poisoned, &self.engine) {
            (Some(_), _) => Err(StoreError::Poisoned),
            (None, None) => Err(StoreError::Full),
            (None, Some(engine)) => Ok(engine.scopes(kind)?),
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
