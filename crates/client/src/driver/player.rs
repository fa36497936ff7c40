//! The game's two ends of a player: the handle that gives commands, and the events it hears.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::command::{Command, Say, Steer};
use super::error::{CallError, OpenError, RequestError};
use super::options::Options;
use super::task;
use crate::event::{Event, SendId};

/// The handle of a player. Clones steer the same player; when all are dropped it plays on as long
/// as its [`Events`] are there.
///
/// What is sent is kept until the server has it, with and without a connection. Every call can be
/// dropped while it waits: a command is then taken whole or not at all.
#[derive(Clone, Debug)]
pub struct Player {
    commands: mpsc::Sender<Command>,
}

impl Player {
    /// Starts a player on this runtime and connects it to `ws://host:port/path`. Does not wait for
    /// the connection: [`Event::Connected`] tells of it.
    ///
    /// # Errors
    /// When the address is none, or the stored key cannot be used.
    pub async fn connect(url: &str, options: Options) -> Result<(Self, Events), OpenError> {
        let (commands, events) = task::start(url, options).await?;
        Ok((Self { commands }, Events { events }))
    }

    /// Asks to join the zone of this kind and name; `create` opens it if there is none. Ends in
    /// [`Event::Joined`] or [`Event::Refused`].
    ///
    /// # Errors
    /// When the client does not take it, or the player has ended.
    pub async fn join(
        &self,
        kind: impl Into<String>,
        name: impl Into<String>,
        create: bool,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        let (kind, name, payload) = (kind.into(), name.into(), payload.into());
        self.say(Say::Join { kind, name, create, payload }).await
    }

    /// Asks to join a Game with the seat that was reserved for this player: `game` and `ticket` are
    /// the ids of both as the directory tells them. Ends in [`Event::Joined`] or [`Event::Refused`].
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn join_game(
        &self,
        fleet: impl Into<String>,
        game: impl Into<String>,
        ticket: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        let (fleet, game, ticket) = (fleet.into(), game.into(), ticket.into());
        self.say(Say::JoinGame { fleet, game, ticket, payload: payload.into() }).await
    }

    /// Asks to leave the zone. The session stays.
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn part(&self) -> Result<SendId, CallError> {
        self.say(Say::Part).await
    }

    /// Sends an ordered message: applied exactly once, or refused.
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<SendId, CallError> {
        self.say(Say::Message(payload.into())).await
    }

    /// Sends a value of which only the newest of its key matters.
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn send_latest(
        &self,
        key: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, CallError> {
        self.say(Say::Latest { key: key.into(), payload: payload.into() }).await
    }

    /// Sends a message that is not kept: it may be lost, and is when the connection is behind.
    ///
    /// # Errors
    /// As [`join`](Player::join), and when there is no connection.
    pub async fn send_unreliable(&self, payload: impl Into<Bytes>) -> Result<(), CallError> {
        let (answer, answered) = oneshot::channel();
        self.command(Command::SendUnreliable(payload.into(), answer)).await?;
        Ok(answered.await.map_err(|_| CallError::Gone)??)
    }

    /// Asks the server and waits for the reply. It comes here, not as an event.
    ///
    /// # Errors
    /// Says how the request ended without a reply.
    pub async fn request(&self, payload: impl Into<Bytes>) -> Result<Bytes, RequestError> {
        self.begin_request(payload).await?.await
    }

    /// Asks the server; the reply can be waited for later, or never.
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn begin_request(&self, payload: impl Into<Bytes>) -> Result<Request, CallError> {
        let (answer, answered) = oneshot::channel();
        let (reply_to, reply) = oneshot::channel();
        self.command(Command::Request(payload.into(), reply_to, answer)).await?;
        let id = answered.await.map_err(|_| CallError::Gone)??;
        Ok(Request { id, reply })
    }

    /// Answers a call of the server.
    ///
    /// # Errors
    /// As [`join`](Player::join).
    pub async fn answer(&self, call: u64, payload: impl Into<Bytes>) -> Result<SendId, CallError> {
        self.say(Say::Answer { call, payload: payload.into() }).await
    }

    /// The player leaves for good: what was sent is delivered first, then the session ends and
    /// [`Event::Left`] is told.
    ///
    /// # Errors
    /// When the player has ended.
    pub async fn leave(&self) -> Result<(), CallError> {
        self.command(Command::Steer(Steer::Leave)).await
    }

    /// The game does not want to be connected any more; [`Event::Stopped`] is told. The server holds
    /// the session for a while, and [`retry`](Player::retry) resumes it.
    ///
    /// # Errors
    /// When the player has ended.
    pub async fn cancel(&self) -> Result<(), CallError> {
        self.command(Command::Steer(Steer::Cancel)).await
    }

    /// Tries again, now: after a stop, a takeover or a cancel, or instead of waiting.
    ///
    /// # Errors
    /// When the player has ended.
    pub async fn retry(&self) -> Result<(), CallError> {
        self.command(Command::Steer(Steer::Retry)).await
    }

    /// The platform says that the network may be there again, or that the program has been asleep:
    /// whoever waits tries now, and a live connection is asked whether it lives.
    ///
    /// # Errors
    /// When the player has ended.
    pub async fn hasten(&self) -> Result<(), CallError> {
        self.command(Command::Steer(Steer::Hasten)).await
    }

    /// Gives the session up and connects with a new one.
    ///
    /// # Errors
    /// When the player has ended.
    pub async fn start_over(&self) -> Result<(), CallError> {
        self.command(Command::Steer(Steer::StartOver)).await
    }

    async fn say(&self, say: Say) -> Result<SendId, CallError> {
        let (answer, answered) = oneshot::channel();
        self.command(Command::Send(say, answer)).await?;
        Ok(answered.await.map_err(|_| CallError::Gone)??)
    }

    async fn command(&self, command: Command) -> Result<(), CallError> {
        self.commands.send(command).await.map_err(|_| CallError::Gone)
    }
}

/// A request that is under way; await it for the reply. The request goes on when this is dropped, and its
/// reply is dropped, too.
#[derive(Debug)]
pub struct Request {
    id: SendId,
    reply: oneshot::Receiver<Result<Bytes, RequestError>>,
}

impl Request {
    /// The id that the client gave the request; it is unique among all sends of this player.
    #[must_use]
    pub fn id(&self) -> SendId {
        self.id
    }

    /// How it ended, if it has. Tells once.
    pub fn poll_end(&mut self) -> Option<Result<Bytes, RequestError>> {
        match self.reply.try_recv() {
            Ok(end) => Some(end),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Err(RequestError::Gone)),
        }
    }
}

impl Future for Request {
    type Output = Result<Bytes, RequestError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.reply).poll(cx).map(|end| end.unwrap_or(Err(RequestError::Gone)))
    }
}

/// What happens to a player, in order. Dropping it ends the player: the connection is closed, and
/// the server holds the session for a while.
///
/// While the game does not take its events the connection is not read. So the server notices, holds
/// back, and after a while gives the connection up; the player resumes when the events are taken.
#[derive(Debug)]
pub struct Events {
    events: mpsc::Receiver<Event>,
}

impl Events {
    /// The next event. None when the player has ended: all handles are gone and nothing is to come.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event, if there is one.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// The next event, for those who poll by hand.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(cx)
    }
}
