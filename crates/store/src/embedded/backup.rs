//! Backups: one moment of all scopes in one file, and the folder that is made of it again. What was set aside as
//! damaged and the key by which clients know the server are parts of it; what a scope held after the backup is
//! gone, and its owner is told so.

use std::io::{self, Read, Write};
use std::path::Path;

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Opened, RESTORED, ScopeId};

use super::folder::{self, ENET_KEY, FolderError};
use super::reading::{self, AsideRows};
use super::row;
use super::snapshot::Snapshots;
use crate::{Damaged, Embedded, StoreError};

/// What a backup begins with: that it is one, and its format. Those of format 1 have scopes only.
const BEGINNING: &[u8; 16] = b"rejoin backup 2\n";
const FORMER_BEGINNING: &[u8; 16] = b"rejoin backup 1\n";
const ANY_BEGINNING: &[u8] = b"rejoin backup ";
const SCOPE: u8 = 1;
const END: u8 = 2;
/// A scope that is not what was written, row by row as it was found.
const ASIDE: u8 = 3;
/// The key by which clients know the server.
const KEY: u8 = 4;
/// Batches of a restore that are committed together.
const RESTORE_AT_ONCE: usize = 1_000;

/// What a backup holds.
#[derive(Debug, Default)]
pub struct BackedUp {
    /// Scopes that are whole.
    pub scopes: u64,
    /// Scopes that are not what was written: kept as they were found, and set aside by a restore.
    pub damaged: Vec<Damaged>,
    /// Scopes that had been set aside before.
    pub set_aside: u64,
}

impl Snapshots {
    /// Writes a backup of the store and of the server's key, if there is one in the folder.
    ///
    /// # Errors
    /// The store cannot be read, or `out` not be written.
    pub fn back_up(
        &self,
        out: &mut dyn Write,
        folder: Option<&Path>,
    ) -> Result<BackedUp, StoreError> {
        let mut writer = Hashing { inner: out, hasher: blake3::Hasher::new() };
        let wrong = |error: io::Error| StoreError::Unreadable(error.to_string());
        writer.write_all(BEGINNING).map_err(wrong)?;
        let mut done = BackedUp::default();
        let moment = self.moment()?;
        moment.visit(|reader, shown| match shown {
            Ok((scope, opened)) => {
                done.scopes += 1;
                write_scope(&mut writer, scope, &opened)
            }
            Err(found) => {
                let rows = reader.raw_rows(found.scope).map_err(io::Error::other)?;
                done.damaged.push(found);
                write_aside(&mut writer, &rows)
            }
        })?;
        let failed = |error: redb::Error| StoreError::Unreadable(error.to_string());
        for AsideRows { rows, .. } in reading::aside(&moment.reading).map_err(failed)? {
            done.set_aside += 1;
            write_aside(&mut writer, &rows).map_err(wrong)?;
        }
        if let Some(key) = folder.map(read_key).transpose().map_err(wrong)?.flatten() {
            writer.write_all(&[KEY]).map_err(wrong)?;
            write_bytes(&mut writer, &key).map_err(wrong)?;
        }
        let hash = *writer.hasher.finalize().as_bytes();
        writer.write_all(&[END]).and_then(|()| writer.write_all(&hash)).map_err(wrong)?;
        Ok(done)
    }
}

fn read_key(folder: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(folder.join(ENET_KEY)) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a backup to its end; says how many scopes it holds.
///
/// # Errors
/// It is no backup, or not whole.
pub fn check(backup: &mut impl Read) -> Result<u64, RestoreError> {
    read_backup(backup, |_| Ok(()))
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
        let renamed = std::fs::rename(&beside, path).and_then(|()| folder::sync_parent(path));
        renamed.map_err(RestoreError::Unreadable)?;
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
    read_backup(backup, |part| {
        match part {
            Part::Scope(scope, mut opened) => {
                mark_restored(scope, &mut opened);
                some.push((scope, opened));
            }
            Part::Aside(rows) => store.put_back_aside(&rows).map_err(RestoreError::Store)?,
            Part::Key(key) => {
                folder::write_key(path, &key).map_err(RestoreError::Unreadable)?;
            }
        }
        if some.len() >= RESTORE_AT_ONCE {
            store.put_back(&some).map_err(RestoreError::Store)?;
            some.clear();
        }
        Ok(())
    })?;
    store.put_back(&some).map_err(RestoreError::Store)
}

/// Marks a scope so that its owner sees that what was committed after the backup is gone. Only the hub, which
/// gives out session ids, and sessions, which hold positions and numbers that clients know, need the mark.
fn mark_restored(scope: ScopeId, opened: &mut Opened) {
    if matches!(scope, ScopeId::Hub | ScopeId::Session(_)) {
        let place = opened.rows.partition_point(|(key, _)| *key < RESTORED);
        if opened.rows.get(place).is_none_or(|(key, _)| key != RESTORED) {
            opened.rows.insert(place, (Bytes::from_static(RESTORED), Bytes::new()));
        }
    }
}

/// Why a backup was not restored.
#[derive(Debug)]
pub enum RestoreError {
    /// It is no backup.
    Foreign,
    /// A newer program has written it.
    Newer,
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
            Self::Newer => f.write_str(
                "the backup was written by a newer rejoin; use that one. Nothing was restored",
            ),
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

fn write_aside(out: &mut impl Write, rows: &[(Bytes, Bytes)]) -> io::Result<()> {
    out.write_all(&[ASIDE])?;
    out.write_all(&(rows.len() as u32).to_le_bytes())?;
    for (key, value) in rows {
        write_bytes(out, key)?;
        write_bytes(out, value)?;
    }
    Ok(())
}

fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(bytes)
}

/// A part of a backup.
enum Part {
    Scope(ScopeId, Opened),
    /// Rows of a scope that was not what was written.
    Aside(Vec<(Bytes, Bytes)>),
    Key(Bytes),
}

/// Reads a backup to its end; says how many scopes it holds.
fn read_backup(
    backup: &mut impl Read,
    mut each: impl FnMut(Part) -> Result<(), RestoreError>,
) -> Result<u64, RestoreError> {
    let mut reader = Reader { inner: io::BufReader::new(backup), hasher: blake3::Hasher::new() };
    match reader.take::<16>() {
        Ok(first) if [*BEGINNING, *FORMER_BEGINNING].contains(&first) => {}
        Ok(first) if first.starts_with(ANY_BEGINNING) => return Err(RestoreError::Newer),
        _ => return Err(RestoreError::Foreign),
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
                let rows = reader.rows()?;
                each(Part::Scope(scope, Opened { owner, revision, rows }))?;
                scopes += 1;
            }
            [ASIDE] => each(Part::Aside(reader.rows()?))?,
            [KEY] => each(Part::Key(reader.bytes()?))?,
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

    fn rows(&mut self) -> Result<Vec<(Bytes, Bytes)>, RestoreError> {
        let count = u32::from_le_bytes(self.take()?);
        (0..count).map(|_| Ok((self.bytes()?, self.bytes()?))).collect()
    }

    fn bytes(&mut self) -> Result<Bytes, RestoreError> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        // A length that no row has would only be one of a damaged backup. Rows that were set aside have their
        // checksum with them.
        if length > rejoin_core::scope::ROW_BYTES_MAX + row::ROW_HEAD {
            return Err(RestoreError::Damaged);
        }
        let mut bytes = vec![0; length];
        self.inner.read_exact(&mut bytes).map_err(|_| RestoreError::Damaged)?;
        self.hasher.update(&bytes);
        Ok(bytes.into())
    }
}
