//! Reading the tree: a scope with all its checks, the list of scopes, what was set aside.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use redb::{ReadTransaction, ReadableTable, StorageError};
use rejoin_core::id::OwnerEpoch;
use rejoin_core::scope::ScopeId;

use super::engine::{ASIDE, RAISED, SCOPES};
use super::layer::Look;
use super::row::{self, Head};
use crate::memory::Standing;
use crate::print::{self, Print};

/// From `prefix` to the first key that does not begin so.
pub(super) fn stretch(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let end = row::behind(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix.to_vec()), end)
}

pub(super) fn as_slices(
    (start, end): &(Bound<Vec<u8>>, Bound<Vec<u8>>),
) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (start.as_ref().map(|key| &key[..]), end.as_ref().map(|key| &key[..]))
}

/// All of a scope, or what is wrong with it.
fn read_scope(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
    scope: &[u8],
) -> Result<Look, StorageError> {
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

/// All scopes, in order.
pub(super) fn list(reading: &ReadTransaction) -> Result<BTreeSet<ScopeId>, redb::Error> {
    Ok(list_in(&reading.open_table(SCOPES)?)?)
}

/// How many scopes there are, and a sum over their names.
pub(super) fn tally(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
) -> Result<[u8; 16], StorageError> {
    let scopes = list_in(rows)?;
    let prints = scopes.iter().map(|scope| print::of_bytes(&row::scope_bytes(*scope)));
    let sum = prints.fold(0, Print::wrapping_add);
    let mut tally = [0; 16];
    tally[..8].copy_from_slice(&(scopes.len() as u64).to_le_bytes());
    tally[8..].copy_from_slice(&sum.to_le_bytes());
    Ok(tally)
}

fn list_in(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
) -> Result<BTreeSet<ScopeId>, StorageError> {
    let mut scopes = BTreeSet::new();
    let mut from = Bound::Unbounded;
    loop {
        let range = (from.as_ref().map(|key: &Vec<u8>| &key[..]), Bound::Unbounded);
        let Some(entry) = rows.range::<&[u8]>(range)?.next() else { return Ok(scopes) };
        let (key, _) = entry?;
        let key = key.value();
        let is_behind = match &from {
            Bound::Unbounded => true,
            Bound::Included(from) => key >= &from[..],
            Bound::Excluded(from) => key > &from[..],
        };
        if !is_behind {
            // A damaged page leads back, and would do so for ever.
            return Err(StorageError::Corrupted("keys are out of order".to_owned()));
        }
        let Some((scope, _)) = row::split(key) else {
            // No scope of ours: what lies behind it may be.
            from = Bound::Excluded(key.to_vec());
            continue;
        };
        scopes.insert(scope);
        match row::behind(&row::scope_bytes(scope)) {
            Some(next) => from = Bound::Included(next),
            None => return Ok(scopes),
        }
    }
}

/// Reads scopes at one moment.
pub(super) struct Reader {
    rows: redb::ReadOnlyTable<&'static [u8], &'static [u8]>,
    /// There is none in a folder that no scope was opened in.
    raised: Option<redb::ReadOnlyTable<&'static [u8], u64>>,
}

/// What is known of where a scope stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// There is none.
    Absent,
    At(Standing),
    /// Its head is not what was written.
    Damaged,
}

impl Reader {
    pub(super) fn new(reading: &ReadTransaction) -> Result<Self, redb::Error> {
        let raised = match reading.open_table(RAISED) {
            Err(redb::TableError::TableDoesNotExist(_)) => None,
            table => Some(table?),
        };
        Ok(Self { rows: reading.open_table(SCOPES)?, raised })
    }

    fn raised(&self, scope: &[u8]) -> Result<Option<OwnerEpoch>, StorageError> {
        let Some(raised) = &self.raised else { return Ok(None) };
        Ok(raised.get(scope)?.map(|owner| OwnerEpoch(owner.value())))
    }

    /// Where a scope stands.
    pub(super) fn standing(&self, scope: ScopeId) -> Result<Known, StorageError> {
        let bytes = row::scope_bytes(scope);
        let Some(written) = self.rows.get(&row::head_key(&bytes)[..])? else {
            return Ok(Known::Absent);
        };
        let Some(head) = Head::read(&bytes, written.value()) else { return Ok(Known::Damaged) };
        let owner = self.raised(&bytes)?.unwrap_or(head.owner);
        Ok(Known::At((owner, head.revision, head.last)))
    }

    /// Whether anything of a scope is there, were it only what is left of a damaged one.
    pub(super) fn has_scope(&self, scope: ScopeId) -> Result<bool, StorageError> {
        let bytes = row::scope_bytes(scope);
        let stretch = stretch(&bytes);
        let first = self.rows.range::<&[u8]>(as_slices(&stretch))?.next().transpose()?;
        Ok(first.is_some() || self.raised(&bytes)?.is_some())
    }

    /// Whether a row is there.
    pub(super) fn has_row(&self, scope: ScopeId, key: &[u8]) -> Result<bool, StorageError> {
        let place = row::row_key(&row::scope_bytes(scope), key);
        Ok(self.rows.get(&place[..])?.is_some())
    }

    /// All of a scope, or what is wrong with it.
    pub(super) fn look(&self, scope: ScopeId) -> Result<Look, StorageError> {
        let bytes = row::scope_bytes(scope);
        let mut look = read_scope(&self.rows, &bytes)?;
        if let (Ok((head, _)), Some(owner)) = (&mut look, self.raised(&bytes)?) {
            head.owner = owner;
        }
        Ok(look)
    }

    /// The rows of a scope as the tree has them, whatever they are.
    pub(super) fn raw_rows(&self, scope: ScopeId) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
        let stretch = stretch(&row::scope_bytes(scope));
        let rows = self.rows.range::<&[u8]>(as_slices(&stretch))?;
        rows.map(|entry| {
            let (key, value) = entry?;
            Ok((Bytes::copy_from_slice(key.value()), Bytes::copy_from_slice(value.value())))
        })
        .collect()
    }
}

/// A scope that was set aside, row by row as it was found.
#[derive(Debug, Default)]
pub(super) struct AsideRows {
    /// Which; none when not even that can be read.
    pub(super) scope: Option<ScopeId>,
    /// Keys and values as the tree has them.
    pub(super) rows: Vec<(Bytes, Bytes)>,
}

/// What was set aside, in that order.
pub(super) fn aside(reading: &ReadTransaction) -> Result<Vec<AsideRows>, redb::Error> {
    let table = reading.open_table(ASIDE)?;
    let mut found: BTreeMap<u64, AsideRows> = BTreeMap::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        let (number, key) = key.value();
        let slot = found.entry(number).or_default();
        slot.scope = row::split(key).map(|(scope, _)| scope);
        slot.rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value.value())));
    }
    Ok(found.into_values().collect())
}
