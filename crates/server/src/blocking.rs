//! The server for loops that are not async: the same calls, with a runtime on threads of its own
//! behind them. A frame of such a loop takes the events that are there with
//! [`Server::try_events`], and waits for nothing.
//!
//! These calls must not be made from within an async runtime; there is [`crate::Server`] for that.
//!
//! ```
//! use rejoin_core::event::Event;
//! use rejoin_core::hub::SessionConfig;
//! use rejoin_server::{ServerBuilder, WebConfig, blocking, relay};
//!
//! let builder = ServerBuilder::new().zone("relay", relay::config(), relay::Relay::default);
//! let mut server = blocking::Server::start(builder)?;
//! let address = server.listen("127.0.0.1:0", WebConfig::default())?;
//! println!("players connect to ws://{address}/play");
//!
//! let npc = server.start_session(SessionConfig::default())?;
//! let mut created = false;
//! while !created {
//!     // One frame of the game's own loop.
//!     for event in server.try_events() {
//!         created |= matches!(event, Event::PlayerConnected { session, .. } if session == npc);
//!     }
//! }
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::agent::Agent;
use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::{Native, ZoneName};
use rejoin_core::hub::{Changes, HubCounts, SessionConfig, SessionView};
use rejoin_core::id::{CallId, SessionId, ZoneId};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast::{self, error::TryRecvError};

use crate::builder::{ServerBuilder, StartError};
use crate::listener::WebConfig;
use crate::local_sessions::Deliveries;
use crate::places::Reach;
use crate::server::ServerError;

/// Events that one call of `try_events` gives at most: a flood must not stop a frame.
const EVENTS_PER_FRAME_MAX: usize = 1_024;

/// A running server. Dropping it stops it.
pub struct Server {
    server: crate::Server,
    events: broadcast::Receiver<Event>,
    missed: u64,
    /// Gone only while this is dropped.
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// The system gives no threads or no randomness.
    pub fn start(builder: ServerBuilder) -> Result<Self, StartError> {
        let runtime = Builder::new_multi_thread().thread_name("rejoin").enable_all().build()?;
        let server = {
            let _within = runtime.enter();
            builder.start()?
        };
        let events = server.events();
        let ready = runtime.block_on(server.ready());
        ready.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { server, events, missed: 0, runtime: Some(runtime) })
    }

    /// Lets players in at an address; port 0 takes a free one. Gives the address it listens at.
    ///
    /// # Errors
    /// The address is taken or none.
    pub fn listen(&self, at: impl ToSocketAddrs, web: WebConfig) -> io::Result<SocketAddr> {
        let at = at.to_socket_addrs()?.next();
        let at = at.ok_or_else(|| io::Error::other("the name has no address"))?;
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("stopped"))?;
        let listener = runtime.block_on(TcpListener::bind(at))?;
        let address = listener.local_addr()?;
        let server = self.server.clone();
        runtime.spawn(async move { server.listen(listener, web).await });
        Ok(address)
    }

    /// What has happened since the last call, oldest first, at most 1,024 events at a time. Never
    /// waits. A loop that does not come for very long misses some, and [`missed_events`] counts them.
    ///
    /// [`missed_events`]: Self::missed_events
    pub fn try_events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while events.len() < EVENTS_PER_FRAME_MAX {
            match self.events.try_recv() {
                Ok(event) => events.push(event),
                Err(TryRecvError::Lagged(missed)) => self.missed += missed,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        events
    }

    /// How many events were missed so far.
    #[must_use]
    pub fn missed_events(&self) -> u64 {
        self.missed
    }

    /// As [`start_session`](crate::Server::start_session).
    ///
    /// # Errors
    /// There is no room for another session.
    pub fn start_session(&self, config: SessionConfig) -> Result<SessionId, ServerError> {
        self.run(self.server.start_session(config))
    }

    /// As [`start_agent`](crate::Server::start_agent).
    ///
    /// # Errors
    /// There is no room for another session, or no thread for it.
    pub fn start_agent<A: Agent>(
        &self,
        config: SessionConfig,
        agent: A,
    ) -> Result<SessionId, ServerError> {
        self.run(self.server.start_agent(config, agent))
    }

    /// As [`attach_agent`](crate::Server::attach_agent).
    ///
    /// # Errors
    /// There is no such native session, or no thread for it.
    pub fn attach_agent<A: Agent>(&self, id: SessionId, agent: A) -> Result<(), ServerError> {
        self.run(self.server.attach_agent(id, agent))
    }

    /// As [`deliveries`](crate::Server::deliveries); taken with `try_recv`.
    #[must_use]
    pub fn deliveries(&self, session: SessionId) -> Deliveries {
        self.server.deliveries(session)
    }

    /// As [`join`](crate::Server::join).
    ///
    /// # Errors
    /// It is in a zone already, or there is no such kind.
    pub fn join(
        &self,
        session: SessionId,
        zone: ZoneName,
        payload: impl Into<Bytes>,
    ) -> Result<ZoneId, ServerError> {
        self.run(self.server.join(session, zone, payload.into()))
    }

    /// As [`say`](crate::Server::say).
    ///
    /// # Errors
    /// It is in no zone.
    pub fn say(&self, session: SessionId, message: Native) -> Result<(), ServerError> {
        self.run(self.server.say(session, message))
    }

    /// As [`answer`](crate::Server::answer).
    ///
    /// # Errors
    /// No question of this number waits for an answer.
    pub fn answer(&self, id: SessionId, call: CallId, answer: Native) -> Result<(), ServerError> {
        self.run(self.server.answer(id, call, answer))
    }

    /// As [`part`](crate::Server::part).
    ///
    /// # Errors
    /// There is no such session, or it is in no zone.
    pub fn part(&self, session: SessionId) -> Result<(), ServerError> {
        self.run(self.server.part(session))
    }

    /// As [`move_to`](crate::Server::move_to).
    ///
    /// # Errors
    /// There is no such session or kind, or it is just on its way into another zone.
    pub fn move_to(
        &self,
        session: SessionId,
        zone: ZoneName,
        payload: impl Into<Bytes>,
    ) -> Result<ZoneId, ServerError> {
        self.run(self.server.move_to(session, zone, payload))
    }

    /// As [`session`](crate::Server::session).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionView>, ServerError> {
        self.run(self.server.session(id))
    }

    /// As [`sessions`](crate::Server::sessions).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn sessions(&self) -> Result<Vec<SessionView>, ServerError> {
        self.run(self.server.sessions())
    }

    /// As [`active_count`](crate::Server::active_count).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn active_count(&self) -> Result<usize, ServerError> {
        self.run(self.server.active_count())
    }

    /// As [`counts`](crate::Server::counts).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn counts(&self) -> Result<HubCounts, ServerError> {
        self.run(self.server.counts())
    }

    /// As [`end`](crate::Server::end).
    ///
    /// # Errors
    /// There is no such session.
    pub fn end(&self, id: SessionId, cause: EndCause) -> Result<(), ServerError> {
        self.run(self.server.end(id, cause))
    }

    /// As [`configure`](crate::Server::configure).
    ///
    /// # Errors
    /// There is no such session.
    pub fn configure(&self, id: SessionId, changes: Changes) -> Result<(), ServerError> {
        self.run(self.server.configure(id, changes))
    }

    /// As [`send`](crate::Server::send).
    ///
    /// # Errors
    /// There is no such session, it ended before it could hear the message, too much waits for it
    /// already, or the payload is larger than clients take.
    pub fn send(&self, id: SessionId, payload: impl Into<Bytes>) -> Result<(), ServerError> {
        self.run(self.server.send(id, payload))
    }

    /// As [`call`](crate::Server::call): waits for the answer.
    ///
    /// # Errors
    /// There is no such session, or it did not answer within `deadline`.
    pub fn call(
        &self,
        id: SessionId,
        payload: impl Into<Bytes>,
        deadline: Duration,
    ) -> Result<Bytes, ServerError> {
        self.run(self.server.call(id, payload, deadline))
    }

    /// As [`broadcast`](crate::Server::broadcast).
    ///
    /// # Errors
    /// It is larger than clients take.
    pub fn broadcast(&self, payload: impl Into<Bytes>) -> Result<Reach, ServerError> {
        self.run(self.server.broadcast(payload))
    }

    /// As [`broadcast_to`](crate::Server::broadcast_to).
    ///
    /// # Errors
    /// There is no such zone, or it is larger than clients take.
    pub fn broadcast_to(
        &self,
        zone: ZoneId,
        payload: impl Into<Bytes>,
    ) -> Result<Reach, ServerError> {
        self.run(self.server.broadcast_to(zone, payload))
    }

    /// As [`zones`](crate::Server::zones).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn zones(&self) -> Result<Vec<(ZoneId, ZoneName)>, ServerError> {
        self.run(self.server.zones())
    }

    /// As [`is_open`](crate::Server::is_open).
    ///
    /// # Errors
    /// The server has stopped.
    pub fn is_open(&self, zone: &ZoneName) -> Result<bool, ServerError> {
        self.run(self.server.is_open(zone))
    }

    /// As [`open_zone`](crate::Server::open_zone).
    ///
    /// # Errors
    /// There is no such kind, or no room for another zone.
    pub fn open_zone(&self, zone: ZoneName) -> Result<ZoneId, ServerError> {
        self.run(self.server.open_zone(zone))
    }

    /// As [`end_zone`](crate::Server::end_zone).
    ///
    /// # Errors
    /// There is no such zone.
    pub fn end_zone(&self, zone: ZoneId) -> Result<(), ServerError> {
        self.run(self.server.end_zone(zone))
    }

    /// The same server for async code beside this loop.
    #[must_use]
    pub fn handle(&self) -> crate::Server {
        self.server.clone()
    }

    /// Stops, with a farewell to everybody, and waits for that.
    pub fn stop(self) {
        drop(self);
    }

    fn run<T>(
        &self,
        asked: impl Future<Output = Result<T, ServerError>>,
    ) -> Result<T, ServerError> {
        let runtime = self.runtime.as_ref().ok_or(ServerError::Stopped)?;
        runtime.block_on(asked)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.server.stop());
            // Connections have had their farewell; nothing that is left is waited for.
            runtime.shutdown_background();
        }
    }
}
