//! The player for loops that are not async: the same commands and events, with a thread of its own
//! behind them. Nothing here waits for the network but what says so.
//!
//! These calls must not be made from within an async runtime; there is [`super::Player`] for that.

use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use super::error::{CallError, OpenError, RequestError};
use super::options::Options;
use super::player::{Events, Player as AsyncPlayer, Request as AsyncRequest};
use crate::event::{Event, SendId};

/// A player and its events. Dropping it ends the player; the server holds the session for a while.
#[derive(Debug)]
pub struct Player {
    player: AsyncPlayer,
    /// Gone only while this is dropped.
    events: Option<Events>,
    /// Runs the player's task on a thread of its own; none only while this is dropped.
    runtime: Option<Runtime>,
}

/// A request that is under way.
#[derive(Debug)]
pub struct Request(AsyncRequest);

impl Player {
    /// Starts a player and connects it to `ws://host:port/path`. Does not wait for the connection:
    /// [`Event::Connected`] tells of it.
    ///
    /// # Errors
    /// When the address is none, the stored key cannot be used, or no thread can be started.
    pub fn connect(url: &str, options: Options) -> Result<Self, OpenError> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("rejoin-client").enable_all();
        let runtime = builder.build().map_err(OpenError::Thread)?;
        let (player, events) = runtime.block_on(AsyncPlayer::connect(url, options))?;
        Ok(Self { player, events: Some(events), runtime: Some(runtime) })
    }

    /// The next event, if there is one: for a loop that goes round anyway.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.as_mut()?.try_next()
    }

    /// The next event, waiting for it at most so long.
    pub fn wait(&mut self, timeout: Duration) -> Option<Event> {
        let (runtime, events) = (self.runtime.as_ref()?, self.events.as_mut()?);
        runtime.block_on(async { tokio::time::timeout(timeout, events.next()).await.ok()? })
    }

    /// As [`join`](AsyncPlayer::join).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn join(
        &self,
        kind: impl Into<String>,
        name: impl Into<String>,
        create: bool,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        self.run(self.player.join(kind, name, create, payload))
    }

    /// As [`join_game`](AsyncPlayer::join_game).
    ///
    /// # Errors
    /// When the client does not take it, or the player has ended.
    pub fn join_game(
        &self,
        fleet: impl Into<String>,
        game: impl Into<String>,
        ticket: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        self.run(self.player.join_game(fleet, game, ticket, payload))
    }

    /// As [`part`](AsyncPlayer::part).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn part(&self) -> Result<SendId, CallError> {
        self.run(self.player.part())
    }

    /// As [`send`](AsyncPlayer::send).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn send(&self, payload: impl Into<Bytes>) -> Result<SendId, CallError> {
        self.run(self.player.send(payload))
    }

    /// As [`send_latest`](AsyncPlayer::send_latest).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn send_latest(
        &self,
        key: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        self.run(self.player.send_latest(key, payload))
    }

    /// As [`send_unreliable`](AsyncPlayer::send_unreliable).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn send_unreliable(&self, payload: impl Into<Bytes>) -> Result<(), CallError> {
        self.run(self.player.send_unreliable(payload))
    }

    /// Asks the server. Does not wait for the reply: the request tells it.
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn request(&self, payload: impl Into<Bytes>) -> Result<Request, CallError> {
        self.run(self.player.begin_request(payload)).map(Request)
    }

    /// How a request ended, waiting for it at most so long.
    pub fn wait_for(
        &self,
        request: &mut Request,
        timeout: Duration,
    ) -> Option<Result<Bytes, RequestError>> {
        let runtime = self.runtime.as_ref()?;
        runtime.block_on(async { tokio::time::timeout(timeout, &mut request.0).await.ok() })
    }

    /// As [`answer`](AsyncPlayer::answer).
    ///
    /// # Errors
    /// When the client does not take it.
    pub fn answer(&self, call: u64, payload: impl Into<Bytes>) -> Result<SendId, CallError> {
        self.run(self.player.answer(call, payload))
    }

    /// As [`leave`](AsyncPlayer::leave).
    ///
    /// # Errors
    /// When the player has ended.
    pub fn leave(&self) -> Result<(), CallError> {
        self.run(self.player.leave())
    }

    /// As [`cancel`](AsyncPlayer::cancel).
    ///
    /// # Errors
    /// When the player has ended.
    pub fn cancel(&self) -> Result<(), CallError> {
        self.run(self.player.cancel())
    }

    /// As [`retry`](AsyncPlayer::retry).
    ///
    /// # Errors
    /// When the player has ended.
    pub fn retry(&self) -> Result<(), CallError> {
        self.run(self.player.retry())
    }

    /// As [`hasten`](AsyncPlayer::hasten).
    ///
    /// # Errors
    /// When the player has ended.
    pub fn hasten(&self) -> Result<(), CallError> {
        self.run(self.player.hasten())
    }

    /// As [`start_over`](AsyncPlayer::start_over).
    ///
    /// # Errors
    /// When the player has ended.
    pub fn start_over(&self) -> Result<(), CallError> {
        self.run(self.player.start_over())
    }

    /// The task answers at once, whatever the network does.
    fn run<T, E: From<CallError>>(&self, call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(call),
            None => Err(CallError::Gone.into()),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // Ends the task, which closes its connection.
        self.events = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Request {
    /// How it ended, if it has. Tells once.
    pub fn poll(&mut self) -> Option<Result<Bytes, RequestError>> {
        self.0.poll_end()
    }
}
