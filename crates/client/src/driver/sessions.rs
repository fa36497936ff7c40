//! Games as a game asks for them: create, search, join and leave, behind one trait, so that another
//! backend can take the place of this one. One provider is registered at a time; everything it is asked
//! ends once, in the answer and in an event that carries the error.
//!
//! ```no_run
//! use std::sync::Arc;
//! use rejoin_client::driver::sessions::{self, Configuration, DirectorySessions, NewGame, Sessions as _};
//!
//! # async fn play() -> Result<(), Box<dyn std::error::Error>> {
//! let _registered = sessions::register(Arc::new(DirectorySessions::new()))?;
//! let sessions = sessions::sessions()?;
//! sessions.configure(Configuration::new("http://localhost:7400").credentials("rejoin_client_..."))?;
//! let game = sessions.create(NewGame::new("arena", 8)).await?;
//! let stay = sessions.join(game).await?; // The seat is ours, and we are in.
//! sessions.leave(stay).await?; // It is really over.
//! # Ok(())
//! # }
//! ```

pub mod blocking;

mod asking;
mod directory;
mod error;
mod following;
mod shape;
mod stay;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

pub use directory::DirectorySessions;
pub use error::SessionError;
pub use shape::{Configuration, Game, NewGame, Page, Placed, PlacedSeat, Placement, Query};
pub use stay::Stay;

/// What is under way. Dropping it gives it up; a seat that was reserved meanwhile is given back.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionError>> + Send + 'a>>;

/// What a provider is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// [`Sessions::create`].
    Create,
    /// [`Sessions::search`].
    Search,
    /// [`Sessions::join`].
    Join,
    /// [`Sessions::leave`].
    Leave,
    /// [`Sessions::create_on_queue`].
    CreateOnQueue,
}

/// Something has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// The operation that ended, whether it succeeded or not.
    pub operation: Operation,
    /// Why not, if it did not come about.
    pub error: Option<SessionError>,
}

/// What a provider must do. Before [`configure`](Self::configure) everything ends with
/// [`SessionError::NotConfigured`].
pub trait Sessions: Send + Sync {
    /// Where the server is, where Games shall run, and who asks.
    ///
    /// # Errors
    /// The endpoint, its roots, the region or the API key cannot be used.
    fn configure(&self, configuration: Configuration) -> Result<(), SessionError>;

    /// Makes a Game, or finds the one that was made with the same key. Ends when it runs.
    fn create(&self, game: NewGame) -> Pending<'_, Game>;

    /// Games that can be joined.
    fn search(&self, query: Query) -> Pending<'_, Page>;

    /// Takes a seat and goes there. Ends when the seat is this player's, its connection is welcomed and
    /// it is in; if one of these fails, the seat is given back at once.
    fn join(&self, game: Game) -> Pending<'_, Stay>;

    /// Leaves for good. Ends when the session is over and its seat is free.
    fn leave(&self, stay: Stay) -> Pending<'_, ()>;

    /// Asks a queue for a Game with seats. Ends when there is one.
    fn create_on_queue(&self, queue: String, placement: Placement) -> Pending<'_, Placed>;

    /// Every completion from now on. Whoever falls far behind misses some, and is told so.
    fn completions(&self) -> broadcast::Receiver<Completed>;
}

static REGISTERED: Mutex<Option<Arc<dyn Sessions>>> = Mutex::new(None);

/// A provider is registered as long as this is there.
#[derive(Debug)]
#[must_use = "the provider is taken away when this is dropped"]
pub struct Registered(());

impl Drop for Registered {
    fn drop(&mut self) {
        *REGISTERED.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Makes a provider the one that is asked.
///
/// # Errors
/// There is one already.
pub fn register(provider: Arc<dyn Sessions>) -> Result<Registered, SessionError> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.is_some() {
        return Err(SessionError::AlreadyRegistered);
    }
    *registered = Some(provider);
    Ok(Registered(()))
}

/// The provider that is registered.
///
/// # Errors
/// There is none, and without one there is no way in.
pub fn sessions() -> Result<Arc<dyn Sessions>, SessionError> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.clone().ok_or(SessionError::NotRegistered)
}
