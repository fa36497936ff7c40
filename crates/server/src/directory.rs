//! The directory inside the server: one task owns it, the store's thread keeps its scopes, and
//! everybody else speaks to it through a [`DirectoryDoor`]. What it decides and what is refused is
//! in `rejoin-directory`; here are its clock, its mailbox and its channels to hosts and subscribers.

mod channels;
mod door;
mod games;
mod hooks;
mod local;
mod mail;
mod recovery;
mod task;

pub use rejoin_directory as rules;

pub use self::channels::{HostOrders, Notice, Notices};
pub use self::door::{AskError, DirectoryDoor};
pub use self::local::GamesConfig;

pub(crate) use self::games::GamesHandle;
pub(crate) use self::local::{GameKinds, start_hosts};

pub(crate) use self::mail::DirectoryCommits;

use rejoin_directory::DirectoryConfig;
use rejoin_store::Store;
use tokio::sync::{broadcast, mpsc, watch};

use self::mail::{FROM_STORE_MAX, MAIL_MAX};
use self::task::DirectoryTask;
use crate::clock::wall;
use crate::zones::Surroundings;

/// Events that a listener may fall behind before it misses some.
const EVENTS_MAX: usize = 4_096;

/// Opens the directory and starts its task, if there is to be one. Returned are the way to it, and
/// who tells it of commits.
///
/// # Errors
/// What the store holds of it cannot be read.
pub(crate) fn start(
    config: Option<DirectoryConfig>,
    store: &mut dyn Store,
    seed: [u8; 32],
    around: &Surroundings,
    failure: &watch::Receiver<Option<String>>,
) -> Result<(Option<DirectoryDoor>, DirectoryCommits), String> {
    let Some(config) = config else { return Ok((None, DirectoryCommits::new(None))) };
    let (now, search_work_max) = ((around.clock.now(), wall()), config.search_work_max);
    let directory = recovery::open(store, now, config, seed)?;
    let (mail, waiting) = mpsc::channel(MAIL_MAX);
    let (commits, from_store) = mpsc::channel(FROM_STORE_MAX);
    let (events, _) = broadcast::channel(EVENTS_MAX);
    let task = DirectoryTask::new(directory, around, events.clone());
    tokio::spawn(task.run(from_store, waiting, failure.clone()));
    Ok((
        Some(DirectoryDoor::new(mail, events, search_work_max)),
        DirectoryCommits::new(Some(commits)),
    ))
}
