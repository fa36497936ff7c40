//! Who holds a folder: a lock of the system's, which ends with its process however that ends, and a note of who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::folder::{FolderError, system};

/// The lock's file.
pub(super) const LOCK: &str = "lock";

/// Where nothing can be written no server can start: then the lock is taken as it is, if there is one.
pub(super) fn lock_to_look_at(path: &Path) -> Result<Option<File>, FolderError> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match take_lock(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(FolderError::System(_, _, error))
            if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
        {
            let Ok(mut lock) = File::open(path.join(LOCK)) else { return Ok(None) };
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let (process, since) = holder(&mut lock);
                    Err(FolderError::Held(path.to_owned(), process, since))
                }
                _ => Ok(Some(lock)),
            }
        }
        Err(error) => Err(error),
    }
}

/// Takes hold of a folder, and notes who it is.
pub(super) fn take_lock(path: &Path) -> Result<File, FolderError> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut lock = options.open(path.join(LOCK)).map_err(system(path, "cannot be written"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let (process, since) = holder(&mut lock);
            return Err(FolderError::Held(path.to_owned(), process, since));
        }
        Err(TryLockError::Error(error)) => return Err(system(path, "cannot be locked")(error)),
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let note = format!("{} {}\n", std::process::id(), now.as_secs());
    let written = lock.set_len(0).and_then(|()| lock.seek(SeekFrom::Start(0)));
    let written = written.and_then(|_| lock.write_all(note.as_bytes()));
    written.map_err(system(path, "cannot be written"))?;
    Ok(lock)
}

/// Who wrote the note in the lock, and how long ago.
fn holder(lock: &mut File) -> (Option<u32>, Option<Duration>) {
    let mut note = String::new();
    if lock.take(100).read_to_string(&mut note).is_err() {
        return (None, None);
    }
    let mut words = note.split_whitespace();
    let process = words.next().and_then(|word| word.parse().ok());
    let since = words.next().and_then(|word| word.parse().ok()).map(Duration::from_secs);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (process, since.map(|since| now.saturating_sub(since)))
}
