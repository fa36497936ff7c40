//! Looking at a store while it is in use, or while nobody uses it: what is committed at one moment, all
//! of it, without stopping anybody. Backups and surveys are made from this. A folder that nobody uses is held
//! for as long as it is looked at.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{ReadTransaction, ReadableDatabase};
use rejoin_core::planted::{Bug, is_armed};
use rejoin_core::scope::{Opened, ScopeId};

use super::disk::Glass;
use super::engine::{Engine, Handle};
use super::folder::{self, Files, FolderError};
use super::journal::{self, NO_JOURNAL};
use super::layer::{Layer, Look};
use super::opening;
use super::reading::{self, AsideRows};
use crate::memory::Standing;
use crate::{Damaged, StoreError, print};

/// Looks at a store. A clone looks at the same.
#[derive(Clone, Default)]
pub struct Snapshots(Arc<Mutex<Sight>>);

/// What there is to see: the tree, and over it what is only in the journal.
#[derive(Default)]
pub(super) struct Sight {
    /// None while the engine is closed.
    pub(super) database: Option<Arc<Handle>>,
    /// What is brought into the tree at this time.
    pub(super) older: Option<Arc<Layer>>,
    /// What is written.
    pub(super) newest: Arc<Layer>,
    /// Held while a folder at rest is looked at, so that no server starts meanwhile.
    _lock: Option<File>,
}

impl Sight {
    /// The older one first.
    pub(super) fn layers(&self) -> Vec<Arc<Layer>> {
        let mut layers: Vec<_> = self.older.iter().chain([&self.newest]).map(Arc::clone).collect();
        if is_armed(Bug::LayersSwapped) {
            layers.reverse();
        }
        layers
    }

    /// Where a scope stands that is not only in the tree.
    pub(super) fn standing(&self, scope: ScopeId) -> Option<Option<Standing>> {
        let older = || self.older.as_ref().and_then(|layer| layer.standing(scope));
        self.newest.standing(scope).or_else(older)
    }

    pub(super) fn lay_over(&self, scope: ScopeId, look: Look) -> Look {
        let look = match &self.older {
            Some(layer) => layer.lay_over(scope, look),
            None => look,
        };
        self.newest.lay_over(scope, look)
    }

    pub(super) fn lay_over_list(&self, scopes: &mut BTreeSet<ScopeId>) {
        self.older.iter().chain([&self.newest]).for_each(|layer| layer.lay_over_list(scopes));
    }

    /// Whether everything is in the tree.
    pub(super) fn is_clear(&self) -> bool {
        self.older.is_none() && self.newest.is_empty()
    }

    pub(super) fn weight(&self) -> usize {
        self.older.iter().chain([&self.newest]).map(|layer| layer.weight()).sum()
    }
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}

/// What a snapshot shows: each scope, or what is wrong with it.
pub type Shown = Result<(ScopeId, Opened), Damaged>;

/// A scope that was set aside when it was found damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aside {
    /// Which; none when not even that can be read.
    pub scope: Option<ScopeId>,
    /// Its rows, the head included.
    pub rows: u64,
    /// The bytes of their values.
    pub bytes: u64,
}

impl Aside {
    fn of(found: &AsideRows) -> Self {
        let (rows, bytes) = (found.rows.len() as u64, found.rows.iter().map(|(_, v)| v.len()));
        Self { scope: found.scope, rows, bytes: bytes.sum::<usize>() as u64 }
    }
}

impl Snapshots {
    pub(super) fn sight(&self) -> MutexGuard<'_, Sight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the store of a folder that nobody uses, and holds it until the last clone is gone. What an
    /// interrupted write left behind is mended in memory only; but for the lock nothing is written.
    ///
    /// # Errors
    /// It is not ours, is in use, or cannot be read.
    pub fn of_folder(path: &Path) -> Result<Self, FolderError> {
        let (file, lock, id) = folder::data_to_look_at(path)?;
        let system = |error| FolderError::System(path.to_owned(), "store.redb", error);
        let glass = Glass::new(file).map_err(system)?;
        let store = |error: StoreError| FolderError::Store(path.to_owned(), error);
        let engine = Engine::open(Box::new(glass)).map_err(|trouble| store(trouble.into()))?;
        opening::check_about(path, &engine, &id)?;
        let broken = |trouble| opening::refusal(path, trouble);
        let mark = engine.mark().map_err(broken)?.unwrap_or(NO_JOURNAL);
        let files = Files::to_look_at(path);
        let id = print::of_bytes(id.as_bytes());
        engine.check_tally(mark).map_err(broken)?;
        let is_former = opening::is_former(&engine).map_err(broken)?;
        let layer = journal::replay(&files, id, mark, is_former).map_err(broken)?;
        let snapshots = Self::default();
        *snapshots.sight() = Sight {
            database: Some(Arc::clone(engine.database())),
            older: None,
            newest: Arc::new(layer),
            _lock: lock,
        };
        Ok(snapshots)
    }

    /// Hands out each scope as it was at one moment, in order, then what was set aside.
    ///
    /// # Errors
    /// The store cannot be read, or `each` failed.
    pub fn visit(
        &self,
        mut each: impl FnMut(Shown) -> io::Result<()>,
    ) -> Result<Vec<Aside>, StoreError> {
        let visited = catch_unwind(AssertUnwindSafe(|| {
            let moment = self.moment()?;
            moment.visit(|_, shown| each(shown))?;
            let aside = reading::aside(&moment.reading).map_err(failed)?;
            Ok(aside.iter().map(Aside::of).collect())
        }));
        // The engine checks little of what it reads.
        let damaged = "the data file is damaged where it holds itself together";
        visited.unwrap_or_else(|_| Err(StoreError::Unreadable(damaged.to_owned())))
    }

    /// The present moment. Both parts of it are of the same one: what leaves the one is in the other.
    pub(super) fn moment(&self) -> Result<Moment, StoreError> {
        let sight = self.sight();
        let database = sight.database.as_ref().ok_or(StoreError::Full)?;
        let reading = database.begin_read().map_err(|error| failed(error.into()))?;
        let (older, newest) = (sight.older.clone(), Arc::clone(&sight.newest));
        Ok(Moment { reading, sight: Sight { older, newest, ..Sight::default() } })
    }
}

fn failed(error: redb::Error) -> StoreError {
    StoreError::Unreadable(error.to_string())
}

/// What is committed at one moment.
pub(super) struct Moment {
    pub(super) reading: ReadTransaction,
    sight: Sight,
}

impl Moment {
    /// Hands out each scope, in order, with the reader that found it.
    pub(super) fn visit(
        &self,
        mut each: impl FnMut(&reading::Reader, Shown) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let mut scopes = reading::list(&self.reading).map_err(failed)?;
        self.sight.lay_over_list(&mut scopes);
        let reader = reading::Reader::new(&self.reading).map_err(failed)?;
        for scope in scopes {
            let look = reader.look(scope).map_err(|error| failed(error.into()))?;
            let shown = match self.sight.lay_over(scope, look) {
                Ok((head, rows)) => {
                    Ok((scope, Opened { owner: head.owner, revision: head.revision, rows }))
                }
                Err(why) => Err(Damaged { scope, why }),
            };
            each(&reader, shown).map_err(|error| StoreError::Unreadable(error.to_string()))?;
        }
        Ok(())
    }
}
