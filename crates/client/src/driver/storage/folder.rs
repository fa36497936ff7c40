//! A storage of small files in one folder, a file a slot. A file is replaced whole: written beside,
//! synced, renamed, and the folder synced, so that a crash leaves the old one or the new one. Only
//! the user who runs the game may read them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Slot, Storage};

/// Files in a folder, which is made when something is first stored. One player a folder: two
/// programs that share one take each other's session over.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// What no slot comes near; a larger file is not ours.
const FILE_BYTES_MAX: u64 = 4_096;

/// Tells the files apart that one process writes at a time.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

impl Folder {
    /// The storage in this folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn path(&self, slot: Slot) -> PathBuf {
        self.0.join(slot.name())
    }

    fn replace(&self, slot: Slot, beside: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = private().write(true).create_new(true).open(beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(beside, self.path(slot))?;
        sync_folder(&self.0)
    }
}

impl Storage for Folder {
    fn load(&self, slot: Slot) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path(slot)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
        }
        Ok(Some(bytes))
    }

    fn store(&self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        make_folder(&self.0)?;
        let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let beside = self.0.join(format!(".{slot}.{}.{count}.new", std::process::id()));
        let replaced = self.replace(slot, &beside, bytes);
        if replaced.is_err() {
            // Where this fails, too, a file stays behind that nobody reads.
            let _ = fs::remove_file(&beside);
        }
        replaced
    }

    fn forget(&self, slot: Slot) -> io::Result<()> {
        match fs::remove_file(self.path(slot)) {
            Ok(()) => sync_folder(&self.0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(unix)]
fn make_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// A rename survives a power cut only when its folder is synced.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
