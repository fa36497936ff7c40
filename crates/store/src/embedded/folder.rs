//! The folder that a store lives in: whose it is, who holds it, and which format it has. Nothing is
//! ever written into a folder that is not ours, and a folder of ours in which something is missing is
//! not started empty.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::disk::{Disk, DiskFile, Ground, Part};
use super::journal;
use super::lock::{LOCK, lock_to_look_at, take_lock};
use crate::StoreError;

/// The newest format that this program reads and the one it writes.
pub const FORMAT: u32 = 3;

const MARKER: &str = "FORMAT";
const MARKER_UNDER_WAY: &str = "FORMAT.new";
const DATA: &str = "store.redb";
const DATA_UNDER_WAY: &str = "store.redb.new";
const JOURNALS: [&str; 2] = [journal::name(0), journal::name(1)];
const RESERVE: &str = "reserve";
/// Where a running server answers `rejoin backup` and `rejoin inspect`.
pub const CONTROL: &str = "control";
/// The key by which clients know a server that encrypts datagrams.
pub const ENET_KEY: &str = "enet.key";

const OURS: [&str; 10] = [
    MARKER,
    MARKER_UNDER_WAY,
    DATA,
    DATA_UNDER_WAY,
    JOURNALS[0],
    JOURNALS[1],
    LOCK,
    RESERVE,
    CONTROL,
    ENET_KEY,
];

/// Why a folder cannot be used. Nothing in it was changed.
#[derive(Debug)]
pub enum FolderError {
    /// It is a file.
    NotAFolder(PathBuf),
    /// It holds something that is not ours.
    Foreign(PathBuf, String),
    /// There is no store in it.
    Empty(PathBuf),
    /// A server runs on it: its process, and for how long.
    Held(PathBuf, Option<u32>, Option<Duration>),
    /// A newer program has written it.
    Newer(PathBuf, u32),
    /// A part of it is missing, or belongs to another folder.
    Broken(PathBuf, String),
    /// The system refuses: what, and why.
    System(PathBuf, &'static str, io::Error),
    /// The store in it cannot be read.
    Store(PathBuf, StoreError),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFolder(path) => {
                write!(f, "{} is a file; name a folder for the data", path.display())
            }
            Self::Foreign(path, file) => write!(
                f,
                "{} holds {file:?}, which is not ours; name an empty folder or one that does not \
                 exist. Nothing was changed",
                path.display()
            ),
            Self::Empty(path) => write!(f, "there is no data in {}", path.display()),
            Self::Held(path, process, held_for) => {
                write!(f, "{} is in use by ", path.display())?;
                match process {
                    Some(id) => write!(f, "process {id}")?,
                    None => f.write_str("another process")?,
                }
                if let Some(held_for) = held_for {
                    write!(f, ", since {}", Ago(*held_for))?;
                }
                f.write_str("; stop that one or name another folder")
            }
            Self::Newer(path, format) => write!(
                f,
                "{} was written by a newer rejoin (format {format}, this one reads up to {FORMAT}); \
                 use that one. Nothing was changed",
                path.display()
            ),
            Self::Broken(path, why) => write!(
                f,
                "{}: {why}. Nothing was changed: put it back, `rejoin restore` a backup, or \
                 `rejoin reset` to start with nothing",
                path.display()
            ),
            Self::System(path, what, error) => write!(f, "{}: {what}: {error}", path.display()),
            Self::Store(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

/// A span as people say it.
struct Ago(Duration);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ 0..120 => write!(f, "{seconds} s ago"),
            seconds @ 120..7_200 => write!(f, "{} min ago", seconds / 60),
            seconds => write!(f, "{} h ago", seconds / 3_600),
        }
    }
}

/// A folder that this process holds.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    id: String,
    /// The format it was found in.
    format: u32,
    /// Held for as long as it is open; the system gives it back when the process ends, however.
    lock: File,
}

/// What a folder was found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// There is nothing in it, or the making of it was interrupted before anybody was served.
    New,
    Ours,
}

pub(super) fn system(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::System(path, what, error)
}

/// Looks without touching.
fn look(path: &Path) -> Result<State, FolderError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::New),
        Err(error) => return Err(system(path, "cannot be looked at")(error)),
        Ok(about) if !about.is_dir() => return Err(FolderError::NotAFolder(path.to_owned())),
        Ok(_) => {}
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(system(path, "cannot be read"))? {
        let entry = entry.map_err(system(path, "cannot be read"))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    if let Some(foreign) = names.iter().find(|name| !OURS.contains(&&name[..])) {
        return Err(FolderError::Foreign(path.to_owned(), foreign.clone()));
    }
    let has = |name: &str| names.iter().any(|known| known == name);
    let broken = |why: &str| Err(FolderError::Broken(path.to_owned(), why.to_owned()));
    match (has(MARKER), has(DATA)) {
        (true, true) => Ok(State::Ours),
        (true, false) => broken("the file store.redb is missing"),
        (false, true) if !has(MARKER_UNDER_WAY) => broken("the file FORMAT is missing"),
        (false, _) => Ok(State::New),
    }
}

impl Folder {
    /// Takes hold of a folder, making it if there is none. `make` is called with the file of a new
    /// store and the folder's id, and must bring it to the disk.
    pub(super) fn hold(
        path: &Path,
        make: impl FnOnce(File, &str) -> Result<(), StoreError>,
    ) -> Result<Self, FolderError> {
        look(path)?;
        make_folder(path).map_err(system(path, "cannot be made"))?;
        let lock = take_lock(path)?;
        let (format, id) = match look(path)? {
            State::Ours => read_marker(path)?,
            State::New => (FORMAT, create(path, make)?),
        };
        Ok(Self { path: path.to_owned(), id, format, lock })
    }

    /// Whether a server runs on the folder; an error when it is not ours.
    ///
    /// # Errors
    /// There is no store in it, or it cannot be used.
    pub fn is_held(path: &Path) -> Result<bool, FolderError> {
        if look(path)? == State::New {
            return Err(FolderError::Empty(path.to_owned()));
        }
        match OpenOptions::new().read(true).open(path.join(LOCK)) {
            Ok(lock) => Ok(matches!(lock.try_lock(), Err(TryLockError::WouldBlock))),
            // Never run on, as after a restore.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(system(path, "its lock cannot be read")(error)),
        }
    }

    /// Deletes everything of ours in a folder that nobody holds; the folder itself stays.
    ///
    /// # Errors
    /// It is held, or something in it is not ours.
    pub fn reset(path: &Path) -> Result<(), FolderError> {
        if let Err(error @ (FolderError::NotAFolder(_) | FolderError::Foreign(..))) = look(path) {
            return Err(error);
        }
        if !path.exists() {
            return Err(FolderError::Empty(path.to_owned()));
        }
        let lock = take_lock(path)?;
        for name in OURS.into_iter().filter(|name| *name != LOCK) {
            match fs::remove_file(path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(system(path, "cannot be emptied")(error));
                }
                _ => {}
            }
        }
        drop(lock);
        fs::remove_file(path.join(LOCK)).map_err(system(path, "cannot be emptied"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn data(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path.join(DATA))
    }

    pub(super) fn files(&self) -> Files {
        Files { path: self.path.clone(), is_writable: true }
    }

    /// Makes files for the journal where there are none. Only for a store that needs nothing of them.
    pub(super) fn make_journals(&self) -> Result<(), FolderError> {
        make_journals(&self.path, false).map_err(system(&self.path, "the journal cannot be made"))
    }

    /// From now on only programs that know of today's format can read it.
    pub(super) fn upgrade(&mut self) -> Result<(), FolderError> {
        if self.format < FORMAT {
            let failed = |what| system(&self.path, what);
            let (new, marker) = (self.path.join(MARKER_UNDER_WAY), self.path.join(MARKER));
            write_marker(&new, &self.id).map_err(failed("cannot be written"))?;
            fs::rename(new, marker).map_err(failed("cannot be written"))?;
            sync_folder(&self.path).map_err(failed("cannot be synced"))?;
            self.format = FORMAT;
        }
        Ok(())
    }

    pub(super) fn reserve(&self) -> PathBuf {
        self.path.join(RESERVE)
    }
}

/// The files of a folder.
#[derive(Clone, Debug)]
pub(super) struct Files {
    path: PathBuf,
    is_writable: bool,
}

impl Files {
    /// For somebody who writes nothing.
    pub(super) fn to_look_at(path: &Path) -> Self {
        Self { path: path.to_owned(), is_writable: false }
    }
}

impl Ground for Files {
    fn file(&self, part: Part) -> io::Result<Box<dyn Disk>> {
        let name = match part {
            Part::Tree => DATA,
            Part::Journal(half) => journal::name(half),
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(self.is_writable).open(self.path.join(name))?;
        Ok(Box::new(DiskFile::new(file)))
    }

    fn room(&self) -> Option<u64> {
        fs4::available_space(&self.path).ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing gives the lock back as well; an error here changes nothing.
        let _ = self.lock.unlock();
    }
}

/// The data of a folder for somebody who only looks, the lock that is held meanwhile, and the folder's id.
pub(super) fn data_to_look_at(path: &Path) -> Result<(File, Option<File>, String), FolderError> {
    if look(path)? == State::New {
        return Err(FolderError::Empty(path.to_owned()));
    }
    let lock = lock_to_look_at(path)?;
    let (_, id) = read_marker(path)?;
    let file = File::open(path.join(DATA)).map_err(system(path, "store.redb cannot be read"))?;
    Ok((file, lock, id))
}

/// The folder's format and id, if it is one that we read.
fn read_marker(path: &Path) -> Result<(u32, String), FolderError> {
    let broken = |why: &str| FolderError::Broken(path.to_owned(), why.to_owned());
    let text = fs::read_to_string(path.join(MARKER)).map_err(system(path, "FORMAT"))?;
    let mut lines = text.lines();
    if lines.next() != Some("rejoin data") {
        return Err(broken("the file FORMAT is not ours"));
    }
    let format = lines.next().and_then(|line| line.strip_prefix("format "));
    let format = match format.and_then(|number| number.parse::<u32>().ok()) {
        Some(format) if format > FORMAT => {
            return Err(FolderError::Newer(path.to_owned(), format));
        }
        Some(format @ 1..=FORMAT) => format,
        _ => return Err(broken("the file FORMAT names no format")),
    };
    let id = lines.next().and_then(|line| line.strip_prefix("id ")).map(str::to_owned);
    id.map(|id| (format, id)).ok_or_else(|| broken("the file FORMAT names no id"))
}

fn write_marker(path: &Path, id: &str) -> io::Result<()> {
    let text = format!("rejoin data\nformat {FORMAT}\nid {id}\n\nMade by rejoin. Do not edit.\n");
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn make_journals(path: &Path, is_new: bool) -> io::Result<()> {
    for name in JOURNALS {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(is_new).open(path.join(name))?;
    }
    sync_folder(path)
}

/// Makes a new store. The marker comes last: without it, nothing has been served from here.
fn create(
    path: &Path,
    make: impl FnOnce(File, &str) -> Result<(), StoreError>,
) -> Result<String, FolderError> {
    let failed = |what| system(path, what);
    let id = new_id(path);
    let written = write_marker(&path.join(MARKER_UNDER_WAY), &id);
    written.map_err(failed("cannot be written"))?;
    make_journals(path, true).map_err(failed("the journal cannot be made"))?;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(true);
    let data = options.open(path.join(DATA_UNDER_WAY)).map_err(failed("cannot be written"))?;
    make(data, &id).map_err(|error| FolderError::Store(path.to_owned(), error))?;
    for (from, to) in [(DATA_UNDER_WAY, DATA), (MARKER_UNDER_WAY, MARKER)] {
        fs::rename(path.join(from), path.join(to)).map_err(failed("cannot be written"))?;
        sync_folder(path).map_err(failed("cannot be synced"))?;
    }
    Ok(id)
}

/// Makes a folder, and the ones it is in, that nobody else may read. Each is known to the disk when this returns:
/// otherwise a power cut could take a new folder away with all that was synced in it.
fn make_folder(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)?;
    missing.into_iter().rev().try_for_each(sync_parent)
}

/// Has the disk know that there is something of this name.
///
/// # Errors
/// The folder it is in cannot be synced.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Writes the server's key into a folder, for nobody else to read.
pub(super) fn write_key(path: &Path, key: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path.join(ENET_KEY))?;
    file.write_all(key)?;
    file.sync_all()?;
    sync_folder(path)
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Tells this folder from others; it is no secret.
fn new_id(path: &Path) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let about = format!("{now} {} {}", std::process::id(), path.display());
    format!("{:016x}", crate::print::of_bytes(about.as_bytes()))
}
