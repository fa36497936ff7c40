//! The engine under the store: one ordered tree, written in transactions that are synced before they
//! are answered. Here, and for reading in `reading.rs`, is what knows redb.

use std::collections::BTreeSet;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, StorageError, Table, TableDefinition,
    WriteTransaction,
};
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Opened, ScopeId};

use super::disk::{Disk, Watched};
use super::folder::FORMAT;
use super::journal::Mark;
use super::layer::{Layer, Look, Overlay};
use super::reading::{self, Known, Reader, as_slices, stretch};
use super::row::{self, Head};
use crate::StoreError;

/// Heads and rows of all scopes.
pub(super) const SCOPES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("scopes");
/// What was set aside, under a number for each scope, as it was found.
pub(super) const ASIDE: TableDefinition<'_, (u64, &[u8]), &[u8]> = TableDefinition::new("aside");
/// Owner epochs above those in the heads of their scopes.
pub(super) const RAISED: TableDefinition<'_, &[u8], u64> = TableDefinition::new("raised");
/// What the folder says of itself.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
/// Under which name it tells of the journal.
const MARK: &str = "journal";
/// Under which name it tells how many scopes it had when it was closed.
const TALLY: &str = "scopes";

/// Under which name it keeps the highest owner epoch of a scope that is gone.
const FLOOR: &str = "owners";
/// How far that rises when the owner of a scope that is set aside cannot be read: by more starts than
/// there were since its last opening.
const OWNERS_UNREAD: u64 = 1 << 10;

/// Memory for pages of the tree. A scope is read once, when it is opened, and a layer is brought in in the order
/// of its keys, so a page is needed again only within one transaction. With 8 MiB the `engine` example and the
/// starts of `rejoin-bench durable --only recovery` take the same time and write the same bytes, and a server
/// takes 3 to 4 MiB more once the first half of its journal is in the tree.
const CACHE_BYTES: usize = 2 << 20;

/// What went wrong in the engine, by what is to be done about it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no room; the engine must be opened again.
    Full,
    /// A sync failed.
    Poisoned,
    /// A file is damaged, missing, of an unknown format, or its disk failed; the text says which.
    Unreadable(String),
}

impl Trouble {
    /// What an error of a disk amounts to; that of a sync is another matter.
    pub(super) fn of_disk(error: io::Error) -> Self {
        if is_full(&error) {
            Self::Full
        } else {
            Self::Unreadable(format!("the disk says: {error}"))
        }
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full => Self::Full,
            Trouble::Poisoned => Self::Poisoned,
            Trouble::Unreadable(why) => Self::Unreadable(why),
        }
    }
}

/// The engine's own handle. Closing it writes what it has read, so a damaged page can make it panic then, too: the file
/// stays as one that was not closed, and the next start refuses it.
pub(super) struct Handle(Option<Database>);

impl Deref for Handle {
    type Target = Database;

    fn deref(&self) -> &Database {
        match &self.0 {
            Some(database) => database,
            None => unreachable!("it is taken when it is dropped"),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let database = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

/// An open engine.
pub(super) struct Engine {
    database: Arc<Handle>,
    sync_failed: Arc<AtomicBool>,
}

/// Whether opening a scope leaves its head as it is and writes the owner's epoch to a table of its
/// own. Opening a hundred thousand sessions would otherwise write every page again.
fn is_raised_apart(scope: ScopeId) -> bool {
    matches!(scope, ScopeId::Session(_) | ScopeId::Player(_))
}

type Rows<'a> = Table<'a, &'static [u8], &'static [u8]>;

impl Engine {
    pub(super) fn open(disk: Box<dyn Disk>) -> Result<Self, Trouble> {
        let sync_failed = Arc::new(AtomicBool::new(false));
        let watched = Watched::new(disk, Arc::clone(&sync_failed));
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES).create_with_backend(watched)
        }));
        let trouble = |error| judge_error(&sync_failed, error);
        let database = opened.map_err(|_| damaged())?.map_err(|error| trouble(error.into()))?;
        Ok(Self { database: Arc::new(Handle(Some(database))), sync_failed })
    }

    pub(super) fn database(&self) -> &Arc<Handle> {
        &self.database
    }

    pub(super) fn about(&self, name: &str) -> Result<Option<Vec<u8>>, Trouble> {
        self.guard(|database| {
            let reading = database.begin_read()?;
            let table = match reading.open_table(ABOUT) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
                table => table?,
            };
            Ok(table.get(name)?.map(|value| value.value().to_vec()))
        })
    }

    pub(super) fn set_about(&self, all: &[(&str, &[u8])]) -> Result<(), Trouble> {
        self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            {
                let mut table = writing.open_table(ABOUT)?;
                for (name, value) in all {
                    table.insert(*name, *value)?;
                }
                writing.open_table(SCOPES)?;
                writing.open_table(ASIDE)?;
            }
            Ok(writing.commit()?)
        })
    }

    /// The format it was written in; none in a new one.
    pub(super) fn format(&self) -> Result<Option<u32>, Trouble> {
        let format = self.about("format")?;
        Ok(format.and_then(|bytes| bytes.first_chunk().copied().map(u32::from_le_bytes)))
    }

    /// The highest owner epoch of a scope that is gone.
    pub(super) fn floor(&self) -> Result<OwnerEpoch, Trouble> {
        let written = self.about(FLOOR)?;
        Ok(written.as_deref().map(read_floor).unwrap_or_default())
    }

    /// What the tree says of the journal; none in a folder that had none.
    pub(super) fn mark(&self) -> Result<Option<Mark>, Trouble> {
        let Some(written) = self.about(MARK)? else { return Ok(None) };
        let wrong = || Trouble::Unreadable("what it says of the journal is damaged".to_owned());
        Mark::read(&written).map(Some).ok_or_else(wrong)
    }

    /// Finds out whether a tree that was closed has the scopes that it had then: the engine compares its pages only if
    /// it was not closed, and a damaged one could hide scopes without a trace.
    pub(super) fn check_tally(&self, mark: Mark) -> Result<(), Trouble> {
        let Some(told) = self.about(TALLY)?.filter(|_| mark.is_closed) else { return Ok(()) };
        let found = self
            .guard(|database| Ok(reading::tally(&database.begin_read()?.open_table(SCOPES)?)?))?;
        if told == found {
            return Ok(());
        }
        let count = |tally: &[u8]| tally.first_chunk().copied().map_or(0, u64::from_le_bytes);
        Err(Trouble::Unreadable(format!(
            "the data file is damaged where it holds itself together: it had {} scopes, and {} others are found",
            count(&told),
            count(&found)
        )))
    }

    /// Brings layers into the tree, the older one first, and notes so: all of it or nothing. What the journal holds
    /// from then on is of today's format.
    pub(super) fn apply(&self, layers: &[&Layer], mark: Option<Mark>) -> Result<(), Trouble> {
        self.write(|writing| {
            let mut rows = writing.open_table(SCOPES)?;
            let mut raised = writing.open_table(RAISED)?;
            for (scope, overlay) in layers.iter().flat_map(|layer| layer.iter()) {
                bring_in(&mut rows, &mut raised, scope, overlay)?;
            }
            let mut about = writing.open_table(ABOUT)?;
            if let Some(floor) = layers.iter().map(|layer| layer.floor()).max() {
                raise_floor(&mut about, floor)?;
            }
            if let Some(mark) = mark {
                writing.open_table(ASIDE)?;
                if mark.is_closed {
                    about.insert(TALLY, &reading::tally(&rows)?[..])?;
                }
                about.insert(MARK, &mark.write()[..])?;
                about.insert("format", &FORMAT.to_le_bytes()[..])?;
            }
            Ok(())
        })
    }

    /// Removes scopes that will be gone once the layers are applied: that makes room for the rest.
    pub(super) fn make_room(&self, layers: &[&Layer]) -> Result<(), Trouble> {
        self.write(|writing| {
            let mut rows = writing.open_table(SCOPES)?;
            for (scope, overlay) in layers.iter().flat_map(|layer| layer.iter()) {
                if overlay.is_anew {
                    remove_range(&mut rows, &row::scope_bytes(scope), |_| {})?;
                }
            }
            Ok(())
        })
    }

    /// Moves damaged scopes away, as they are. Gives back the owner epoch above which they begin anew:
    /// at least `least`, and above that of each owner that can be read.
    pub(super) fn put_aside(
        &self,
        scopes: &[ScopeId],
        least: OwnerEpoch,
    ) -> Result<OwnerEpoch, Trouble> {
        self.write(|writing| {
            let mut rows = writing.open_table(SCOPES)?;
            let mut aside = writing.open_table(ASIDE)?;
            let mut raised = writing.open_table(RAISED)?;
            let mut about = writing.open_table(ABOUT)?;
            let mut floor = raise_floor(&mut about, least)?;
            for scope in scopes {
                let bytes = row::scope_bytes(*scope);
                let head = match rows.get(&row::head_key(&bytes)[..])? {
                    Some(written) => Head::read(&bytes, written.value()),
                    None => None,
                };
                let above = raised.remove(&bytes[..])?.map(|owner| OwnerEpoch(owner.value()));
                floor = match above.or(head.map(|head| head.owner)) {
                    Some(owner) => floor.max(owner),
                    None => OwnerEpoch(floor.0 + OWNERS_UNREAD),
                };
                set_aside(&mut rows, &mut aside, &bytes)?;
            }
            Ok(raise_floor(&mut about, floor)?)
        })
    }

    /// Writes scopes as a backup has them, whatever their owners and revisions.
    pub(super) fn put_back(&self, scopes: &[(ScopeId, Opened)]) -> Result<(), Trouble> {
        self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            {
                let mut rows = writing.open_table(SCOPES)?;
                for (scope, opened) in scopes {
                    let bytes = row::scope_bytes(*scope);
                    let (owner, revision) = (opened.owner, opened.revision);
                    let mut head = Head { owner, revision, ..Head::default() };
                    for (key, value) in &opened.rows {
                        let written = row::write_row(&bytes, key, revision, value);
                        rows.insert(&row::row_key(&bytes, key)[..], &written[..])?;
                        head.add(row::stored_print(&written));
                    }
                    rows.insert(&row::head_key(&bytes)[..], &head.write(&bytes)[..])?;
                }
            }
            Ok(writing.commit()?)
        })
    }

    /// Writes rows of a scope that was set aside when its backup was made, or was damaged then.
    pub(super) fn put_back_aside(&self, rows: &[(Bytes, Bytes)]) -> Result<(), Trouble> {
        self.write(|writing| {
            let mut aside = writing.open_table(ASIDE)?;
            let number = aside.last()?.map_or(1, |(key, _)| key.value().0 + 1);
            for (key, value) in rows {
                aside.insert((number, &key[..]), &value[..])?;
            }
            Ok(())
        })
    }

    /// A row of `from` is written where a row of `onto` is, and not where it belongs.
    #[cfg(feature = "contract")]
    pub(super) fn misplace(&self, from: ScopeId, onto: ScopeId) -> Result<bool, Trouble> {
        self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            let is_done = {
                let mut rows = writing.open_table(SCOPES)?;
                let first = |rows: &Rows<'_>, scope: ScopeId| -> Result<_, StorageError> {
                    let stretch = stretch(&row::row_key(&row::scope_bytes(scope), b""));
                    let Some(entry) = rows.range::<&[u8]>(as_slices(&stretch))?.next() else {
                        return Ok(None);
                    };
                    let (key, value) = entry?;
                    Ok(Some((key.value().to_vec(), value.value().to_vec())))
                };
                match (first(&rows, from)?, first(&rows, onto)?) {
                    (Some((key, value)), Some((place, _))) => {
                        rows.remove(&key[..])?;
                        rows.insert(&place[..], &value[..])?;
                        true
                    }
                    _ => false,
                }
            };
            writing.commit()?;
            Ok(is_done)
        })
    }

    /// Where scopes stand.
    pub(super) fn standings(&self, scopes: &[ScopeId]) -> Result<Vec<Known>, Trouble> {
        self.read(|reader| scopes.iter().map(|scope| Ok(reader.standing(*scope)?)).collect())
    }

    /// All of some scopes.
    pub(super) fn look(&self, scopes: &[ScopeId]) -> Result<Vec<Look>, Trouble> {
        self.read(|reader| scopes.iter().map(|scope| Ok(reader.look(*scope)?)).collect())
    }

    pub(super) fn scopes(&self) -> Result<BTreeSet<ScopeId>, Trouble> {
        self.guard(|database| reading::list(&database.begin_read()?))
    }

    pub(super) fn set_aside(&self) -> Result<Vec<ScopeId>, Trouble> {
        self.guard(|database| {
            let found = reading::aside(&database.begin_read()?)?;
            let scopes: BTreeSet<ScopeId> =
                found.into_iter().filter_map(|found| found.scope).collect();
            Ok(scopes.into_iter().collect())
        })
    }

    fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, redb::Error>) -> Result<T, Trouble> {
        self.guard(|database| work(&Reader::new(&database.begin_read()?)?))
    }

    /// Whether anything of a scope is there. `reader` is made if there is none, and shows the same moment to
    /// all that is asked of it.
    pub(super) fn has_scope(
        &self,
        reader: &mut Option<Reader>,
        scope: ScopeId,
    ) -> Result<bool, Trouble> {
        self.ask(reader, |reader| reader.has_scope(scope))
    }

    /// Whether a row is there, asked in the same way.
    pub(super) fn has_row(
        &self,
        reader: &mut Option<Reader>,
        scope: ScopeId,
        key: &[u8],
    ) -> Result<bool, Trouble> {
        self.ask(reader, |reader| reader.has_row(scope, key))
    }

    fn ask<T>(
        &self,
        reader: &mut Option<Reader>,
        question: impl FnOnce(&Reader) -> Result<T, StorageError>,
    ) -> Result<T, Trouble> {
        self.guard(|database| {
            let reader = match reader {
                Some(reader) => reader,
                None => reader.insert(Reader::new(&database.begin_read()?)?),
            };
            Ok(question(reader)?)
        })
    }

    /// Writes something, synced when this returns.
    fn write<T>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, Trouble> {
        self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            let done = work(&writing)?;
            writing.commit()?;
            Ok(done)
        })
    }

    /// Runs something on the engine. It checks little of what it reads, so a damaged page can make
    /// it panic: that is one more way of being unreadable.
    fn guard<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, Trouble> {
        let done = catch_unwind(AssertUnwindSafe(|| work(&self.database)));
        done.map_err(|_| damaged())?.map_err(|error| judge_error(&self.sync_failed, error))
    }
}

fn damaged() -> Trouble {
    Trouble::Unreadable("the data file is damaged where it holds itself together".to_owned())
}

fn judge_error(sync_failed: &AtomicBool, error: redb::Error) -> Trouble {
    if sync_failed.load(Ordering::Acquire) {
        return Trouble::Poisoned;
    }
    match error {
        redb::Error::Io(error) => Trouble::of_disk(error),
        redb::Error::Corrupted(why) => {
            Trouble::Unreadable(format!("the data file is damaged: {why}"))
        }
        redb::Error::UpgradeRequired(version) => Trouble::Unreadable(format!(
            "the data file is of the engine's format {version}, which this program does not read"
        )),
        other => Trouble::Unreadable(other.to_string()),
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn read_floor(written: &[u8]) -> OwnerEpoch {
    OwnerEpoch(written.first_chunk().copied().map_or(0, u64::from_le_bytes))
}

/// Keeps the highest owner epoch of a scope that is gone, and says what it is now.
fn raise_floor(
    about: &mut Table<'_, &'static str, &'static [u8]>,
    owner: OwnerEpoch,
) -> Result<OwnerEpoch, StorageError> {
    let kept = about.get(FLOOR)?.map(|written| read_floor(written.value())).unwrap_or_default();
    if owner > kept {
        about.insert(FLOOR, &owner.0.to_le_bytes()[..])?;
    }
    Ok(owner.max(kept))
}

/// Brings what becomes of a scope into the tree.
fn bring_in(
    rows: &mut Rows<'_>,
    raised: &mut Table<'_, &'static [u8], u64>,
    scope: ScopeId,
    overlay: &Overlay,
) -> Result<(), StorageError> {
    let bytes = row::scope_bytes(scope);
    let head_key = row::head_key(&bytes);
    let head = if overlay.is_anew {
        remove_range(rows, &bytes, |_| {})?;
        Some(Head::default())
    } else {
        match rows.get(&head_key[..])? {
            Some(written) => Head::read(&bytes, written.value()),
            None => Some(Head::default()),
        }
    };
    let Some((owner, revision, last)) = overlay.standing else {
        raised.remove(&bytes[..])?;
        return Ok(());
    };
    // A head that was damaged since it was read is left as it is: the next opening sets all of it aside.
    let is_sound = head.is_some();
    let mut head = head.unwrap_or_default();
    if !overlay.is_written && is_raised_apart(scope) && head.revision > Revision(0) {
        raised.insert(&bytes[..], owner.0)?;
        return Ok(());
    }
    change_rows(rows, &bytes, &mut head, overlay)?;
    if is_sound {
        (head.owner, head.revision, head.last) = (owner, revision, last);
        rows.insert(&head_key[..], &head.write(&bytes)[..])?;
        raised.remove(&bytes[..])?;
    }
    Ok(())
}

fn change_rows(
    rows: &mut Rows<'_>,
    scope: &[u8],
    head: &mut Head,
    overlay: &Overlay,
) -> Result<(), StorageError> {
    for prefix in &overlay.gone {
        remove_range(rows, &row::row_key(scope, prefix), |before| {
            head.subtract(row::stored_print(before));
        })?;
    }
    for (key, value) in &overlay.rows {
        let place = row::row_key(scope, key);
        let before = match value {
            Some((revision, value)) => {
                let written = row::write_row(scope, key, *revision, value);
                head.add(row::stored_print(&written));
                rows.insert(&place[..], &written[..])?
            }
            None => rows.remove(&place[..])?,
        };
        if let Some(before) = before {
            head.subtract(row::stored_print(before.value()));
        }
    }
    Ok(())
}

fn remove_range(
    rows: &mut Rows<'_>,
    prefix: &[u8],
    mut gone: impl FnMut(&[u8]),
) -> Result<(), StorageError> {
    let stretch = stretch(prefix);
    rows.retain_in::<&[u8], _>(as_slices(&stretch), |_, value| {
        gone(value);
        false
    })
}

/// Moves all of a scope away, as it is.
fn set_aside(
    rows: &mut Rows<'_>,
    aside: &mut Table<'_, (u64, &'static [u8]), &'static [u8]>,
    scope: &[u8],
) -> Result<(), StorageError> {
    let number = aside.last()?.map_or(1, |(key, _)| key.value().0 + 1);
    let stretch = stretch(scope);
    for entry in rows.range::<&[u8]>(as_slices(&stretch))? {
        let (key, value) = entry?;
        aside.insert((number, key.value()), value.value())?;
    }
    remove_range(rows, scope, |_| {})
}
