//! The engine under the store: one ordered tree, written in transactions that are synced before they
//! are answered. Here is all that knows redb.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, StorageError, Table,
    TableDefinition,
};
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};

use super::disk::{Disk, Watched};
use super::row::{self, Head};
use crate::memory::{Verdict, doomed, judge};
use crate::{Damaged, Outcome, ScopeKind, StoreError, print};

/// Heads and rows of all scopes.
const SCOPES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("scopes");
/// What was set aside, under a number for each scope, as it was found.
const ASIDE: TableDefinition<'_, (u64, &[u8]), &[u8]> = TableDefinition::new("aside");
/// Owner epochs above those in the heads of their scopes.
const RAISED: TableDefinition<'_, &[u8], u64> = TableDefinition::new("raised");
/// What the folder says of itself.
const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");

/// Memory for pages. Scopes are read once, when they are opened; what is written often is small.
const CACHE_BYTES: usize = 32 << 20;

/// What went wrong in the engine, by what is to be done about it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no room; the engine must be opened again.
    Full,
    /// A sync failed.
    Poisoned,
    /// Anything else.
    Unreadable(String),
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

/// An open engine.
pub(super) struct Engine {
    database: Arc<Database>,
    sync_failed: Arc<AtomicBool>,
}

/// Owner epochs that were raised when their scopes were opened, until something is written with them.
pub(super) type Raised = BTreeMap<ScopeId, OwnerEpoch>;

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
        Ok(Self { database: Arc::new(database), sync_failed })
    }

    pub(super) fn database(&self) -> &Arc<Database> {
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

    pub(super) fn commit(
        &self,
        group: &[Batch],
        raised: &mut Raised,
    ) -> Result<Vec<Outcome>, Trouble> {
        let (outcomes, changed) = self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            let (outcomes, changed) = {
                let rows = writing.open_table(SCOPES)?;
                let mut pen = Pen { rows, heads: BTreeMap::new(), raised };
                let mut outcomes = Vec::with_capacity(group.len());
                for (batch, is_doomed) in group.iter().zip(doomed(group)) {
                    outcomes.push(pen.apply(batch, is_doomed)?);
                }
                let changed = pen.write_heads()?;
                if changed.iter().any(|scope| raised.contains_key(scope)) {
                    let mut apart = writing.open_table(RAISED)?;
                    for scope in changed.iter().filter(|scope| raised.contains_key(scope)) {
                        apart.remove(&row::scope_bytes(*scope)[..])?;
                    }
                }
                (outcomes, changed)
            };
            if changed.is_empty() {
                writing.abort()?;
            } else {
                writing.commit()?;
            }
            Ok((outcomes, changed))
        })?;
        for scope in changed {
            raised.remove(&scope);
        }
        Ok(outcomes)
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

    /// What was raised and not written with, as it is in the file.
    pub(super) fn raised(&self) -> Result<Raised, Trouble> {
        self.guard(|database| {
            let reading = database.begin_read()?;
            let table = match reading.open_table(RAISED) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Raised::new()),
                table => table?,
            };
            let mut raised = Raised::new();
            for entry in table.iter()? {
                let (key, owner) = entry?;
                if let Some((scope, _)) = row::split(key.value()) {
                    raised.insert(scope, OwnerEpoch(owner.value()));
                }
            }
            Ok(raised)
        })
    }

    pub(super) fn open_scopes(
        &self,
        scopes: &[ScopeId],
        raised: &mut Raised,
    ) -> Result<Vec<Result<Opened, Damaged>>, Trouble> {
        let found = self.guard(|database| {
            let mut writing = database.begin_write()?;
            writing.set_durability(Durability::Immediate)?;
            let mut found = Vec::with_capacity(scopes.len());
            {
                let mut rows = writing.open_table(SCOPES)?;
                let mut aside = writing.open_table(ASIDE)?;
                let mut apart = writing.open_table(RAISED)?;
                for scope in scopes {
                    let bytes = row::scope_bytes(*scope);
                    found.push(match read_scope(&rows, &bytes)? {
                        Ok((mut head, read)) => {
                            let before = raised.get(scope).copied().unwrap_or(head.owner);
                            let owner = OwnerEpoch(before.0 + 1);
                            if is_raised_apart(*scope) && head.revision > Revision(0) {
                                apart.insert(&bytes[..], owner.0)?;
                            } else {
                                head.owner = owner;
                                let written = head.write(&bytes);
                                rows.insert(&row::head_key(&bytes)[..], &written[..])?;
                            }
                            Ok(Opened { owner, revision: head.revision, rows: read })
                        }
                        Err(why) if *scope == ScopeId::Hub => Err(Damaged { scope: *scope, why }),
                        Err(why) => {
                            set_aside(&mut rows, &mut aside, &bytes)?;
                            apart.remove(&bytes[..])?;
                            Err(Damaged { scope: *scope, why })
                        }
                    });
                }
            }
            writing.commit()?;
            Ok(found)
        })?;
        for (scope, opened) in scopes.iter().zip(&found) {
            match opened {
                Ok(opened) if is_raised_apart(*scope) && opened.revision > Revision(0) => {
                    raised.insert(*scope, opened.owner);
                }
                Ok(_) => {}
                Err(_) => drop(raised.remove(scope)),
            }
        }
        Ok(found)
    }

    pub(super) fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, Trouble> {
        self.guard(|database| {
            let reading = database.begin_read()?;
            let mut scopes = list(&reading)?;
            scopes.retain(|scope| kind.is_none_or(|kind| ScopeKind::of(*scope) == kind));
            Ok(scopes)
        })
    }

    pub(super) fn set_aside(&self) -> Result<Vec<ScopeId>, Trouble> {
        self.guard(|database| {
            let found = aside(&database.begin_read()?)?;
            let mut scopes: Vec<ScopeId> =
                found.into_iter().filter_map(|(scope, ..)| scope).collect();
            scopes.sort();
            scopes.dedup();
            Ok(scopes)
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
        redb::Error::Io(error) if is_full(&error) => Trouble::Full,
        redb::Error::Io(error) => Trouble::Unreadable(format!("the disk says: {error}")),
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

/// Writes batches; heads are read once and written once in a group.
struct Pen<'a> {
    rows: Rows<'a>,
    heads: BTreeMap<ScopeId, Slot>,
    raised: &'a Raised,
}

/// A head under way.
struct Slot {
    head: Option<Head>,
    is_changed: bool,
}

impl Pen<'_> {
    fn apply(&mut self, batch: &Batch, is_doomed: bool) -> Result<Outcome, StorageError> {
        let scope = row::scope_bytes(batch.scope);
        if !self.heads.contains_key(&batch.scope) {
            let written = self.rows.get(&row::head_key(&scope)[..])?;
            let head = match written.map(|written| Head::read(&scope, written.value())) {
                // Damaged since it was opened: whoever writes it is done for, and the next start
                // sets it aside.
                Some(None) => return Ok(Outcome::Fenced { owner: OwnerEpoch(0) }),
                Some(head) => head,
                None => None,
            };
            let raised = self.raised.get(&batch.scope);
            let head = head.map(|head| Head { owner: *raised.unwrap_or(&head.owner), ..head });
            self.heads.insert(batch.scope, Slot { head, is_changed: false });
        }
        let Some(slot) = self.heads.get_mut(&batch.scope) else { return Ok(Outcome::Unknown) };
        let standing = slot.head.map(|head| (head.owner, head.revision, head.last));
        if let Verdict::Answer(outcome) = judge(batch, standing, is_doomed) {
            return Ok(outcome);
        }
        slot.is_changed = true;
        if batch.delete_scope {
            slot.head = None;
            remove_range(&mut self.rows, &scope, |_| {})?;
            return Ok(Outcome::Committed);
        }
        let mut head = slot.head.unwrap_or_default();
        head.owner = batch.owner;
        head.revision = batch.revision;
        head.last = print::of_batch(batch);
        change_rows(&mut self.rows, &scope, &mut head, batch)?;
        slot.head = Some(head);
        Ok(Outcome::Committed)
    }

    /// The scopes that are changed.
    fn write_heads(&mut self) -> Result<Vec<ScopeId>, StorageError> {
        let mut changed = Vec::new();
        for (scope, slot) in self.heads.iter().filter(|(_, slot)| slot.is_changed) {
            changed.push(*scope);
            let scope = row::scope_bytes(*scope);
            if let Some(head) = slot.head {
                self.rows.insert(&row::head_key(&scope)[..], &head.write(&scope)[..])?;
            }
        }
        Ok(changed)
    }
}

fn change_rows(
    rows: &mut Rows<'_>,
    scope: &[u8],
    head: &mut Head,
    batch: &Batch,
) -> Result<(), StorageError> {
    for change in &batch.changes {
        match change {
            Change::Put(key, value) => {
                let written = row::write_row(scope, key, batch.revision, value);
                let before = rows.insert(&row::row_key(scope, key)[..], &written[..])?;
                if let Some(before) = before {
                    head.subtract(row::stored_print(before.value()));
                }
                head.add(row::stored_print(&written));
            }
            Change::Delete(key) => {
                if let Some(before) = rows.remove(&row::row_key(scope, key)[..])? {
                    head.subtract(row::stored_print(before.value()));
                }
            }
            Change::DeletePrefix(prefix) => {
                remove_range(rows, &row::row_key(scope, prefix), |before| {
                    head.subtract(row::stored_print(before));
                })?;
            }
        }
    }
    Ok(())
}

/// From `prefix` to the first key that does not begin so.
fn stretch(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let end = row::behind(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix.to_vec()), end)
}

fn as_slices((start, end): &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (start.as_ref().map(|key| &key[..]), end.as_ref().map(|key| &key[..]))
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

type Pairs = Vec<(Bytes, Bytes)>;

/// All of a scope, or what is wrong with it.
pub(super) fn read_scope(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
    scope: &[u8],
) -> Result<Result<(Head, Pairs), String>, StorageError> {
    let stretch = stretch(scope);
    let mut head = None;
    let mut read = Vec::new();
    let (mut sum, mut newest) = (0u64, 0);
    let mut wrong = None;
    for entry in rows.range::<&[u8]>(as_slices(&stretch))? {
        let (key, value) = entry?;
        let rest = key.value().get(scope.len()..).unwrap_or_default();
        let Some(own) = row::own_key(rest) else {
            head = Head::read(scope, value.value());
            if head.is_none() {
                wrong.get_or_insert_with(|| "its head is not what was written".to_owned());
            }
            continue;
        };
        match row::read_row(scope, own, value.value()) {
            Some((revision, print, value)) => {
                sum = sum.wrapping_add(print);
                newest = newest.max(revision.0);
                read.push((Bytes::copy_from_slice(own), Bytes::copy_from_slice(value)));
            }
            None => {
                let name = own.escape_ascii();
                wrong.get_or_insert_with(|| format!("the row {name} is not what was written"));
            }
        }
    }
    if let Some(wrong) = wrong {
        return Ok(Err(wrong));
    }
    Ok(match head {
        None if read.is_empty() => Ok((Head::default(), read)),
        None => Err("its head is missing".to_owned()),
        Some(head) if head.rows != read.len() as u64 || head.sum != sum => {
            Err(format!("{} rows were written and {} others are there", head.rows, read.len()))
        }
        Some(head) if newest > head.revision.0 => {
            Err(format!("a row of revision {newest} is there before its time"))
        }
        Some(head) => Ok((head, read)),
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

/// All scopes, in order.
pub(super) fn list(reading: &ReadTransaction) -> Result<Vec<ScopeId>, redb::Error> {
    let rows = reading.open_table(SCOPES)?;
    let mut scopes = Vec::new();
    let mut from = Bound::Unbounded;
    loop {
        let range = (from.as_ref().map(|key: &Vec<u8>| &key[..]), Bound::Unbounded);
        let Some(entry) = rows.range::<&[u8]>(range)?.next() else { return Ok(scopes) };
        let (key, _) = entry?;
        let Some((scope, _)) = row::split(key.value()) else {
            // No scope of ours: what lies behind it may be.
            from = Bound::Excluded(key.value().to_vec());
            continue;
        };
        scopes.push(scope);
        match row::behind(&row::scope_bytes(scope)) {
            Some(next) => from = Bound::Included(next),
            None => return Ok(scopes),
        }
    }
}

/// One scope as a snapshot shows it.
pub(super) fn look(
    reading: &ReadTransaction,
    scope: ScopeId,
) -> Result<Result<(Head, Pairs), String>, redb::Error> {
    let rows = reading.open_table(SCOPES)?;
    Ok(read_scope(&rows, &row::scope_bytes(scope))?)
}

/// What was set aside: scope, rows and bytes of each.
pub(super) fn aside(
    reading: &ReadTransaction,
) -> Result<Vec<(Option<ScopeId>, u64, u64)>, redb::Error> {
    let table = reading.open_table(ASIDE)?;
    let mut found: BTreeMap<u64, (Option<ScopeId>, u64, u64)> = BTreeMap::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        let (number, key) = key.value();
        let slot = found.entry(number).or_default();
        slot.0 = row::split(key).map(|(scope, _)| scope);
        slot.1 += 1;
        slot.2 += value.value().len() as u64;
    }
    Ok(found.into_values().collect())
}
