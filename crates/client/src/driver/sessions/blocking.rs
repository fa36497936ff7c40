//! The same calls for loops that are not async, with a thread of their own behind them. They must not be
//! made from within an async runtime.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::error::SessionError;
use super::shape::{Configuration, Game, NewGame, Page, Placed, Placement, Query};
use super::{Sessions as AsyncSessions, Stay};

/// A provider, asked without async.
pub struct Sessions {
    provider: Arc<dyn AsyncSessions>,
    runtime: Runtime,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions(..)")
    }
}

impl Sessions {
    /// Asks this provider: the registered one, for instance.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(provider: Arc<dyn AsyncSessions>) -> io::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(1).thread_name("rejoin-sessions").enable_all();
        Ok(Self { provider, runtime: threads.build()? })
    }

    /// As [`configure`](AsyncSessions::configure).
    ///
    /// # Errors
    /// The endpoint, its roots, the region or the API key cannot be used.
    pub fn configure(&self, configuration: Configuration) -> Result<(), SessionError> {
        self.provider.configure(configuration)
    }

    /// As [`create`](AsyncSessions::create).
    ///
    /// # Errors
    /// The directory refused it or did not answer, or the Game did not become active in time.
    pub fn create(&self, game: NewGame) -> Result<Game, SessionError> {
        self.wait(self.provider.create(game))
    }

    /// As [`search`](AsyncSessions::search).
    ///
    /// # Errors
    /// The directory refused the query or did not answer in time.
    pub fn search(&self, query: Query) -> Result<Page, SessionError> {
        self.wait(self.provider.search(query))
    }

    /// As [`join`](AsyncSessions::join).
    ///
    /// # Errors
    /// The player was not let in, or got no seat, or the Game refused the join. A reserved seat is returned.
    pub fn join(&self, game: Game) -> Result<Stay, SessionError> {
        self.wait(self.provider.join(game))
    }

    /// As [`leave`](AsyncSessions::leave).
    ///
    /// # Errors
    /// The session or its seat was not seen to end, in time or at all; both may have ended.
    pub fn leave(&self, stay: Stay) -> Result<(), SessionError> {
        self.wait(self.provider.leave(stay))
    }

    /// As [`create_on_queue`](AsyncSessions::create_on_queue).
    ///
    /// # Errors
    /// The directory refused it or did not answer, or the placement ended without a Game.
    pub fn create_on_queue(
        &self,
        queue: impl Into<String>,
        placement: Placement,
    ) -> Result<Placed, SessionError> {
        self.wait(self.provider.create_on_queue(queue.into(), placement))
    }

    /// Waits for anything else of these players: what one of them says or hears.
    pub fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }
}
