//! How a store is opened: what it stands on is looked at, what the journal has and the tree has not is brought
//! in, and the journal begins anew.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::applier::Applying;
use super::disk::{DiskFile, Ground, Part};
use super::engine::{Engine, Trouble};
use super::folder::{FORMAT, Folder, FolderError};
use super::journal::{self, IN_FOLDER, Journal, JournalSize, Mark, NO_JOURNAL};
use super::room;
use super::snapshot::Snapshots;
use crate::print::{self, Print};
use crate::{Embedded, StoreError};

impl Embedded {
    /// Opens the store of a folder, making both if there is nothing yet.
    ///
    /// # Errors
    /// The folder is not ours, is held, is of a newer format or is damaged. Nothing was changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FolderError> {
        let path = path.as_ref();
        let mut folder = Folder::hold(path, make)?;
        let system = |error| FolderError::System(path.to_owned(), "store.redb", error);
        let data = folder.data().map_err(system)?;
        if data.metadata().map_err(system)?.len() == 0 {
            // The engine would take it for a new one.
            let why = "the file store.redb is empty".to_owned();
            return Err(FolderError::Broken(path.to_owned(), why));
        }
        let failed = |trouble| refusal(path, trouble);
        let engine = Engine::open(Box::new(DiskFile::new(data))).map_err(failed)?;
        check_about(path, &engine, folder.id())?;
        if engine.mark().map_err(failed)?.is_none_or(|mark| mark.is_closed) {
            folder.make_journals()?;
        }
        folder.upgrade()?;
        let about = (print::of_bytes(folder.id().as_bytes()), IN_FOLDER);
        let mut store = match Self::on(engine, Box::new(folder.files()), about) {
            Err(Trouble::Full) => {
                room::give_up_reserve(&folder);
                let data = DiskFile::new(folder.data().map_err(system)?);
                let engine = Engine::open(Box::new(data)).map_err(failed)?;
                Self::on(engine, Box::new(folder.files()), about).map_err(failed)?
            }
            store => store.map_err(failed)?,
        };
        store.folder = Some(folder);
        store.applying = Applying::OnThread;
        store.keep_reserve();
        Ok(store)
    }

    /// Opens a store on files that are none, empty at first. All is done on the thread that asks.
    ///
    /// # Errors
    /// What is in the files cannot be read.
    pub fn on_ground(ground: impl Ground + 'static, size: JournalSize) -> Result<Self, StoreError> {
        let tree = ground.file(Part::Tree);
        let engine =
            Engine::open(tree.map_err(|error| StoreError::Unreadable(error.to_string()))?)?;
        Ok(Self::on(engine, Box::new(ground), (0, size))?)
    }

    fn on(
        engine: Engine,
        ground: Box<dyn Ground>,
        (id, size): (Print, JournalSize),
    ) -> Result<Self, Trouble> {
        let mark = engine.mark()?.unwrap_or(NO_JOURNAL);
        engine.check_tally(mark)?;
        let is_former = is_former(&engine)?;
        let layer = journal::replay(ground.as_ref(), id, mark, is_former)?;
        // Both turns that were read are over, whatever was in them.
        let applied = mark.applied + 2;
        let mut journal = Journal::open(ground.as_ref(), id, size, applied + 1)?;
        let lengths = [size.first; 2];
        let mark = Mark { applied, is_closed: false, is_begun: false, lengths };
        engine.apply(&[&layer], Some(mark))?;
        journal.clear()?;
        journal.begin(0)?;
        engine.apply(&[], Some(Mark { is_begun: true, ..mark }))?;
        let floor = engine.floor()?;
        let snapshots = Snapshots::default();
        snapshots.sight().database = Some(Arc::clone(engine.database()));
        let engine = Some(Arc::new(engine));
        let (applier, applying) = (None, Applying::AtOnce);
        let (folder, full, poisoned) = (None, None, None);
        Ok(Self {
            engine,
            journal,
            snapshots,
            applier,
            applying,
            ground,
            folder,
            floor,
            full,
            poisoned,
        })
    }
}

/// Whether what is in the journal was written in a format before 3.
pub(super) fn is_former(engine: &Engine) -> Result<bool, Trouble> {
    Ok(engine.format()?.is_some_and(|format| format < 3))
}

/// Makes a new store in a file.
fn make(data: File, id: &str) -> Result<(), StoreError> {
    let engine = Engine::open(Box::new(DiskFile::new(data)))?;
    engine.set_about(&[("format", &FORMAT.to_le_bytes()), ("id", id.as_bytes())])?;
    Ok(())
}

pub(super) fn check_about(path: &Path, engine: &Engine, id: &str) -> Result<(), FolderError> {
    let store = |trouble: Trouble| FolderError::Store(path.to_owned(), trouble.into());
    let broken = |why: &str| Err(FolderError::Broken(path.to_owned(), why.to_owned()));
    match engine.format().map_err(store)? {
        Some(format) if format > FORMAT => Err(FolderError::Newer(path.to_owned(), format)),
        None => broken("the file store.redb is not ours"),
        Some(_) if engine.about("id").map_err(store)?.as_deref() != Some(id.as_bytes()) => {
            broken("the file store.redb belongs to another folder")
        }
        Some(_) => Ok(()),
    }
}

/// Why a folder is not served.
pub(super) fn refusal(path: &Path, trouble: Trouble) -> FolderError {
    match trouble {
        Trouble::Unreadable(why) => FolderError::Broken(path.to_owned(), why),
        trouble => FolderError::Store(path.to_owned(), trouble.into()),
    }
}
