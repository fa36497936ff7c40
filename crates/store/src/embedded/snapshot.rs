//! Looking at a store while it is in use, or while nobody uses it: what is committed at one moment, all
//! of it, without stopping anybody. Backups and surveys are made from this.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use redb::{Database, ReadableDatabase};
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Opened, ScopeId};

use super::disk::Glass;
use super::engine::Engine;
use super::folder::{self, Files, FolderError};
use super::journal::{self, NO_JOURNAL};
use super::layer::{Layer, Look};
use super::opening;
use super::reading;
use super::row;
use crate::memory::Standing;
use crate::{Damaged, Embedded, StoreError, print};

/// What a backup begins and ends with.
const BEGINNING: &[u8; 16] = b"rejoin backup 1\n";
const SCOPE: u8 = 1;
const END: u8 = 2;
/// Batches of a restore that are committed together.
const RESTORE_AT_ONCE: usize = 1_000;

/// Looks at a store. A clone looks at the same.
#[derive(Clone, Default)]
pub struct Snapshots(Arc<Mutex<Sight>>);

/// What there is to see: the tree, and over it what is only in the journal.
#[derive(Default)]
pub(super) struct Sight {
    /// None while the engine is closed.
    pub(super) database: Option<Arc<Database>>,
    /// What is brought into the tree at this time.
    pub(super) older: Option<Arc<Layer>>,
    /// What is written.
    pub(super) newest: Arc<Layer>,
}

impl Sight {
    /// The older one first.
    pub(super) fn layers(&self) -> Vec<Arc<Layer>> {
        self.older.iter().chain([&self.newest]).map(Arc::clone).collect()
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

impl Snapshots {
    pub(super) fn sight(&self) -> MutexGuard<'_, Sight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the store of a folder that nobody uses. What an interrupted write left behind is
    /// mended in memory only; the folder is not touched.
    ///
    /// # Errors
    /// It is not ours, or cannot be read.
    pub fn of_folder(path: &Path) -> Result<Self, FolderError> {
        let (file, id) = folder::data_to_look_at(path)?;
        let system = |error| FolderError::System(path.to_owned(), "store.redb", error);
        let glass = Glass::new(file).map_err(system)?;
        let store = |error: StoreError| FolderError::Store(path.to_owned(), error);
        let engine = Engine::open(Box::new(glass)).map_err(|trouble| store(trouble.into()))?;
        opening::check_about(path, &engine, &id)?;
        let broken = |trouble| opening::refusal(path, trouble);
        let mark = engine.mark().map_err(broken)?.unwrap_or(NO_JOURNAL);
        let files = Files::to_look_at(path);
        let id = print::of_bytes(id.as_bytes());
        let layer = journal::replay(&files, id, mark).map_err(broken)?;
        let snapshots = Self::default();
        *snapshots.sight() = Sight {
            database: Some(Arc::clone(engine.database())),
            older: None,
            newest: Arc::new(layer),
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
        let failed = |error: redb::Error| StoreError::Unreadable(error.to_string());
        // Both at one moment: what leaves the one is in the other.
        let (reading, sight) = {
            let sight = self.sight();
            let database = sight.database.as_ref().ok_or(StoreError::Full)?;
            let reading = database.begin_read().map_err(|error| failed(error.into()))?;
            let (older, newest) = (sight.older.clone(), Arc::clone(&sight.newest));
            (reading, Sight { database: None, older, newest })
        };
        let mut scopes = reading::list(&reading).map_err(failed)?;
        sight.lay_over_list(&mut scopes);
        let reader = reading::Reader::new(&reading).map_err(failed)?;
        for scope in scopes {
            let look = reader.look(scope).map_err(|error| failed(error.into()))?;
            let shown = match sight.lay_over(scope, look) {
                Ok((head, rows)) => {
                    Ok((scope, Opened { owner: head.owner, revision: head.revision, rows }))
                }
                Err(why) => Err(Damaged { scope, why }),
            };
            each(shown).map_err(|error| StoreError::Unreadable(error.to_string()))?;
        }
        let aside = reading::aside(&reading).map_err(failed)?;
        Ok(aside.into_iter().map(|(scope, rows, bytes)| Aside { scope, rows, bytes }).collect())
    }

    /// Writes a backup; says how many scopes it holds. A scope that is damaged is left out and handed
    /// back.
    ///
    /// # Errors
    /// The store cannot be read, or `out` not be written.
    pub fn back_up(&self, out: &mut dyn Write) -> Result<(u64, Vec<Damaged>), StoreError> {
        let mut writer = Hashing { inner: out, hasher: blake3::Hasher::new() };
        let wrong = |error: io::Error| StoreError::Unreadable(error.to_string());
        writer.write_all(BEGINNING).map_err(wrong)?;
        let mut count = 0;
        let mut damaged = Vec::new();
        self.visit(|shown| match shown {
            Ok((scope, opened)) => {
                count += 1;
                write_scope(&mut writer, scope, &opened)
            }
            Err(found) => {
                damaged.push(found);
                Ok(())
            }
        })?;
        let hash = *writer.hasher.finalize().as_bytes();
        writer.write_all(&[END]).and_then(|()| writer.write_all(&hash)).map_err(wrong)?;
        Ok((count, damaged))
    }
}

/// Reads a backup to its end; says how many scopes it holds.
///
/// # Errors
/// It is no backup, or not whole.
pub fn check(backup: &mut impl Read) -> Result<u64, RestoreError> {
    read_backup(backup, |_, _| Ok(()))
}

/// Makes a folder from a backup; says how many scopes it holds. The folder must not exist or be empty.
/// The backup is read to its end before anything is made.
///
/// # Errors
/// The backup is not whole, or the folder cannot be made.
pub fn restore(backup: &mut (impl Read + io::Seek), path: &Path) -> Result<u64, RestoreError> {
    let scopes = check(backup)?;
    let is_taken = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken {
        return Err(RestoreError::Taken(path.display().to_string()));
    }
    backup.rewind().map_err(RestoreError::Unreadable)?;
    // Beside it first: a folder that is there is whole.
    let beside = path.with_file_name(format!(
        "{}.restoring",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    let filled = fill(backup, &beside);
    if filled.is_ok() {
        // An empty folder may be in the way.
        let _ = std::fs::remove_dir(path);
        std::fs::rename(&beside, path).map_err(RestoreError::Unreadable)?;
    } else if let Err(error) = std::fs::remove_dir_all(&beside)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(RestoreError::Unreadable(error));
    }
    filled.map(|()| scopes)
}

fn fill(backup: &mut impl Read, path: &Path) -> Result<(), RestoreError> {
    let mut store = Embedded::open(path).map_err(RestoreError::Folder)?;
    let mut some = Vec::new();
    read_backup(backup, |scope, opened| {
        some.push((scope, opened));
        if some.len() >= RESTORE_AT_ONCE {
            store.put_back(&some).map_err(RestoreError::Store)?;
            some.clear();
        }
        Ok(())
    })?;
    store.put_back(&some).map_err(RestoreError::Store)
}

/// Why a backup was not restored.
#[derive(Debug)]
pub enum RestoreError {
    /// It is no backup.
    Foreign,
    /// It is not whole, or not what was written.
    Damaged,
    /// It cannot be read.
    Unreadable(io::Error),
    /// There is something in the folder already.
    Taken(String),
    /// The folder cannot be made.
    Folder(FolderError),
    /// A scope could not be written.
    Store(StoreError),
}

impl std::fmt::Display for RestoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is no backup of rejoin's"),
            Self::Damaged => {
                f.write_str("the backup is cut off or damaged; nothing was restored, take another")
            }
            Self::Unreadable(error) => write!(f, "the backup cannot be read: {error}"),
            Self::Taken(path) => write!(
                f,
                "{path} is not empty; restore into a folder that does not exist. Nothing was changed"
            ),
            Self::Folder(error) => error.fmt(f),
            Self::Store(error) => write!(f, "a scope could not be written: {error}"),
        }
    }
}

impl std::error::Error for RestoreError {}

struct Hashing<'a> {
    inner: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn write_scope(out: &mut impl Write, scope: ScopeId, opened: &Opened) -> io::Result<()> {
    out.write_all(&[SCOPE])?;
    write_bytes(out, &row::scope_bytes(scope))?;
    out.write_all(&opened.owner.0.to_le_bytes())?;
    out.write_all(&opened.revision.0.to_le_bytes())?;
    out.write_all(&(opened.rows.len() as u32).to_le_bytes())?;
    for (key, value) in &opened.rows {
        write_bytes(out, key)?;
        write_bytes(out, value)?;
    }
    Ok(())
}

fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(bytes)
}

/// Reads a backup to its end; says how many scopes it holds.
fn read_backup(
    backup: &mut impl Read,
    mut each: impl FnMut(ScopeId, Opened) -> Result<(), RestoreError>,
) -> Result<u64, RestoreError> {
    let mut reader = Reader { inner: io::BufReader::new(backup), hasher: blake3::Hasher::new() };
    if reader.take::<16>().ok().as_ref() != Some(BEGINNING) {
        return Err(RestoreError::Foreign);
    }
    let mut scopes = 0;
    loop {
        let hash = *reader.hasher.finalize().as_bytes();
        match reader.take::<1>()? {
            [SCOPE] => {
                let name = reader.bytes()?;
                let (scope, _) = row::split(&name).ok_or(RestoreError::Damaged)?;
                let owner = OwnerEpoch(u64::from_le_bytes(reader.take()?));
                let revision = Revision(u64::from_le_bytes(reader.take()?));
                let count = u32::from_le_bytes(reader.take()?);
                let mut rows = Vec::new();
                for _ in 0..count {
                    rows.push((reader.bytes()?, reader.bytes()?));
                }
                each(scope, Opened { owner, revision, rows })?;
                scopes += 1;
            }
            [END] if reader.take::<32>()? == hash => return Ok(scopes),
            _ => return Err(RestoreError::Damaged),
        }
    }
}

struct Reader<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Reader<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], RestoreError> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes).map_err(|_| RestoreError::Damaged)?;
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    fn bytes(&mut self) -> Result<Bytes, RestoreError> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        // A length that no row has would only be one of a damaged backup.
        if length > rejoin_core::scope::ROW_BYTES_MAX {
            return Err(RestoreError::Damaged);
        }
        let mut bytes = vec![0; length];
        self.inner.read_exact(&mut bytes).map_err(|_| RestoreError::Damaged)?;
        self.hasher.update(&bytes);
        Ok(bytes.into())
    }
}
