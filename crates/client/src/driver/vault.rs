//! What the task asks of its storage: off the runtime's workers, one call at a time, and with every
//! failure as an event instead of a panic.

use std::io;
use std::sync::Arc;

use super::error::OpenError;
use super::key::Key;
use super::options::Login;
use super::record::{self, Read};
use super::storage::{Slot, Storage};
use crate::event::Event;
use crate::identity::{Identity, ResumeState, Secret};

/// The storage of one player on one server.
pub(super) struct Vault {
    storage: Arc<dyn Storage>,
    server: String,
}

/// What was found at the start.
pub(super) struct Found {
    pub identity: Identity,
    pub session: Option<ResumeState>,
    pub server_key: Option<[u8; 32]>,
    /// What went wrong and does not keep anybody from playing.
    pub failures: Vec<Event>,
}

impl Vault {
    pub(super) fn new(storage: Arc<dyn Storage>, server: String) -> Self {
        Self { storage, server }
    }

    /// Reads everything; makes the key if there is none.
    pub(super) async fn open(&self, login: Login) -> Result<Found, OpenError> {
        let (storage, server) = (Arc::clone(&self.storage), self.server.clone());
        let found = blocking(move || Ok(find(storage.as_ref(), &server, login))).await;
        found.unwrap_or_else(|error| Err(OpenError::Key(error)))
    }

    pub(super) async fn store_session(&self, state: &ResumeState) -> Option<Event> {
        self.store(Slot::Session, record::write_session(&self.server, state)).await
    }

    pub(super) async fn store_secret(&self, secret: &Secret) -> Option<Event> {
        self.store(Slot::Secret, record::write_secret(&self.server, secret)).await
    }

    pub(super) async fn store_server_key(&self, key: &[u8; 32]) -> Option<Event> {
        self.store(Slot::ServerKey, record::write_server_key(&self.server, key)).await
    }

    pub(super) async fn forget_session(&self) -> Option<Event> {
        let storage = Arc::clone(&self.storage);
        let forgotten = blocking(move || storage.forget(Slot::Session)).await;
        forgotten.err().map(|error| failed(Slot::Session, &error))
    }

    async fn store(&self, slot: Slot, record: Vec<u8>) -> Option<Event> {
        let storage = Arc::clone(&self.storage);
        let stored = blocking(move || storage.store(slot, &record)).await;
        stored.err().map(|error| failed(slot, &error))
    }
}

/// A storage of the game's own may panic; that costs the call.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(format!("the storage failed: {error}"))))
}

fn find(storage: &dyn Storage, server: &str, login: Login) -> Result<Found, OpenError> {
    let mut failures = Vec::new();
    let mut has_lost_key = false;
    let identity = match login {
        Login::Anonymous => Identity::Anonymous,
        Login::Key(key) => Identity::Key(Box::new(key)),
        Login::StoredKey => {
            let (key, is_new) = stored_key(storage, &mut failures)?;
            has_lost_key = is_new;
            Identity::Key(Box::new(key))
        }
        Login::Secret => {
            let loaded = storage.load(Slot::Secret);
            let read = |bytes: &[u8]| record::read_secret(server, bytes);
            Identity::Secret(value(Slot::Secret, loaded, read, &mut failures))
        }
    };
    let read = |bytes: &[u8]| record::read_session(server, bytes);
    let mut session = value(Slot::Session, storage.load(Slot::Session), read, &mut failures);
    if has_lost_key && session.take().is_some() {
        // A token without its key opens nothing: to show it would stop the player for good.
        let forgotten = storage.forget(Slot::Session);
        failures.extend(forgotten.err().map(|error| failed(Slot::Session, &error)));
    }
    let read = |bytes: &[u8]| record::read_server_key(server, bytes);
    let loaded = storage.load(Slot::ServerKey);
    let server_key = value(Slot::ServerKey, loaded, read, &mut failures);
    Ok(Found { identity, session, server_key, failures })
}

/// A key that is there and cannot be used stops everything: a new one in its place would be another
/// player. One that cannot be stored serves until the program ends. True: it was made just now.
fn stored_key(storage: &dyn Storage, failures: &mut Vec<Event>) -> Result<(Key, bool), OpenError> {
    if let Some(key) = Key::load(storage).map_err(OpenError::Key)? {
        return Ok((key, false));
    }
    let key = Key::generate().map_err(OpenError::Chance)?;
    if let Err(error) = key.store(storage) {
        failures.push(failed(Slot::Key, &error));
    }
    Ok((key, true))
}

fn value<T>(
    slot: Slot,
    loaded: io::Result<Option<Vec<u8>>>,
    read: impl FnOnce(&[u8]) -> Read<T>,
    failures: &mut Vec<Event>,
) -> Option<T> {
    match loaded.map(|bytes| bytes.map(|bytes| read(&bytes))) {
        Ok(Some(Read::Value(value))) => return Some(value),
        Ok(None | Some(Read::Foreign)) => {}
        Ok(Some(Read::Damaged)) => {
            let error = io::Error::new(io::ErrorKind::InvalidData, "what is stored is damaged");
            failures.push(failed(slot, &error));
        }
        Err(error) => failures.push(failed(slot, &error)),
    }
    None
}

fn failed(slot: Slot, error: &io::Error) -> Event {
    Event::StorageFailed { slot: slot.name(), text: error.to_string() }
}
