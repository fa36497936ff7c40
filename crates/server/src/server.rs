//! A running server as the game that embeds it sees it. A clone is the same server.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::connection::ConnectionConfig;
use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::{Native, ZoneName};
use rejoin_core::hub::{
    Answer, Changes, Command, HubCounts, Query, Reply, SessionCommand, SessionConfig,
    SessionReport, SessionView,
};
use rejoin_core::id::{CallId, SessionId, ZoneId};
use rejoin_core::session::Flags;
use rejoin_wire::Limits;
use tokio::sync::{broadcast, oneshot, watch};

use crate::accept_guard::AcceptGuard;
use crate::agents::AgentThreads;
use crate::clock::MonotonicClock;
use crate::connection_table::ConnectionTable;
use crate::directory::DirectoryDoor;
use crate::frame_log::FrameLog;
use crate::identity::IdentityChecker;
use crate::local_sessions::{Deliveries, LocalSessions};
use crate::mailbox::{ExternalSender, HubMail, WeakInternalSender};
use crate::sight::SharedSight;
use crate::store_thread::{StoreRequest, StoreSender};
use crate::zones::{WorkerThreads, ZoneInboxes};

/// The value of a reply of the hub, which is of the same name as its query.
macro_rules! expect_reply {
    ($reply:expr, $expected:pat => $value:expr) => {
        match $reply {
            $expected => Ok($value),
            other => Err($crate::server::wrong_reply(&other)),
        }
    };
}
pub(crate) use expect_reply;

#[cold]
pub(crate) fn wrong_reply(reply: &Reply) -> ServerError {
    rejoin_core::never!("another query was answered: {reply:?}");
    ServerError::Stopped
}

/// How long zones have to end what they are doing when the server stops.
const ZONES_STOP: Duration = Duration::from_secs(10);

/// What a server is made of.
pub(crate) struct Parts {
    pub(crate) external: ExternalSender,
    pub(crate) internal: WeakInternalSender,
    pub(crate) sight: SharedSight,
    pub(crate) connections: ConnectionTable,
    pub(crate) accept_guard: AcceptGuard,
    pub(crate) local_sessions: Arc<LocalSessions>,
    pub(crate) is_ready: watch::Receiver<bool>,
    pub(crate) failure: watch::Receiver<Option<String>>,
    pub(crate) clock: MonotonicClock,
    pub(crate) limits: Limits,
    pub(crate) connection_config: Arc<ConnectionConfig>,
    pub(crate) zones: ZoneInboxes,
    pub(crate) store: StoreSender,
    pub(crate) workers: WorkerThreads,
    pub(crate) store_thread: JoinHandle<()>,
    pub(crate) directory: Option<DirectoryDoor>,
    pub(crate) identity: Arc<IdentityChecker>,
}

pub(crate) struct Shared {
    pub(crate) external: ExternalSender,
    pub(crate) internal: WeakInternalSender,
    pub(crate) sight: SharedSight,
    pub(crate) connections: ConnectionTable,
    pub(crate) accept_guard: AcceptGuard,
    pub(crate) clock: MonotonicClock,
    pub(crate) limits: Limits,
    pub(crate) connection_config: Arc<ConnectionConfig>,
    pub(crate) is_ready: watch::Receiver<bool>,
    /// Turned on once: listeners stop accepting.
    pub(crate) stopping: watch::Sender<bool>,
    failure: watch::Receiver<Option<String>>,
    local_sessions: Arc<LocalSessions>,
    pub(crate) agents: AgentThreads,
    pub(crate) zones: ZoneInboxes,
    store: StoreSender,
    workers: WorkerThreads,
    store_thread: Mutex<Option<JoinHandle<()>>>,
    directory: Option<DirectoryDoor>,
    pub(crate) identity: Arc<IdentityChecker>,
}

/// A running server.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

/// Why something asked of a server did not happen.
#[derive(Clone, PartialEq, Debug)]
pub enum ServerError {
    /// The server has stopped.
    Stopped,
    /// The answer was another than the question allows for: what it was.
    Refused(Answer),
    /// The system gave no thread for it.
    Threads(std::io::ErrorKind),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => write!(f, "the server has stopped"),
            Self::Refused(Answer::PlayerRefused(refusal)) => refusal.fmt(f),
            Self::Refused(Answer::Unknown) => write!(f, "there is no such session or zone"),
            Self::Refused(answer) => write!(f, "refused: {answer:?}"),
            Self::Threads(kind) => write!(f, "the system gives no more threads: {kind}"),
        }
    }
}

impl std::error::Error for ServerError {}

impl Server {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(Shared {
            external: parts.external,
            internal: parts.internal,
            sight: parts.sight,
            connections: parts.connections,
            accept_guard: parts.accept_guard,
            clock: parts.clock,
            limits: parts.limits,
            connection_config: parts.connection_config,
            is_ready: parts.is_ready,
            stopping: watch::channel(false).0,
            failure: parts.failure,
            local_sessions: parts.local_sessions,
            agents: AgentThreads::default(),
            zones: parts.zones,
            store: parts.store,
            workers: parts.workers,
            store_thread: Mutex::new(Some(parts.store_thread)),
            directory: parts.directory,
            identity: parts.identity,
        }))
    }

    /// Starts a session that lives in the server, once that is ready. [`start_agent`] has it played;
    /// by hand there are [`deliveries`], [`join`], [`say`] and [`answer`].
    ///
    /// [`start_agent`]: Self::start_agent
    /// [`deliveries`]: Self::deliveries
    /// [`join`]: Self::join
    /// [`say`]: Self::say
    /// [`answer`]: Self::answer
    ///
    /// # Errors
    /// There is no room for another session.
    pub async fn start_session(&self, config: SessionConfig) -> Result<SessionId, ServerError> {
        self.ready().await?;
        match self.command(Command::StartSession(config)).await? {
            Answer::Session(id) => Ok(id),
            other => Err(ServerError::Refused(other)),
        }
    }

    /// The deliveries to a native session from now on. A later call takes the place of an earlier one.
    #[must_use]
    pub fn deliveries(&self, session: SessionId) -> Deliveries {
        self.0.local_sessions.listen(session)
    }

    /// A native session joins a zone, opening it if need be.
    ///
    /// # Errors
    /// It is in a zone already, or there is no such kind.
    pub async fn join(
        &self,
        session: SessionId,
        zone: ZoneName,
        payload: Bytes,
    ) -> Result<ZoneId, ServerError> {
        match self.command(Command::Session(session, SessionCommand::Join(zone, payload))).await? {
            Answer::Zone(zone) => Ok(zone),
            other => Err(ServerError::Refused(other)),
        }
    }

    /// A native session says something in its zone, as a value of the zone's own type.
    ///
    /// # Errors
    /// It is in no zone.
    pub async fn say(&self, session: SessionId, message: Native) -> Result<(), ServerError> {
        self.done(Command::Session(session, SessionCommand::Say(message))).await
    }

    /// A native session answers what it was asked: its zone with a value of the zone's own type,
    /// or a caller outside with [`Bytes`].
    ///
    /// # Errors
    /// No question of this number waits for an answer.
    pub async fn answer(
        &self,
        session: SessionId,
        call: CallId,
        answer: Native,
    ) -> Result<(), ServerError> {
        self.done(Command::Session(session, SessionCommand::Answer(call, answer))).await
    }

    /// What is known of a session now; none if there is no such session.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn session(&self, id: SessionId) -> Result<Option<SessionView>, ServerError> {
        Ok(self.session_report(id).await?.map(|found| found.view))
    }

    /// The same with its last story and its seats.
    pub(crate) async fn session_report(
        &self,
        id: SessionId,
    ) -> Result<Option<Box<SessionReport>>, ServerError> {
        let reply = self.query(Query::Session(id)).await?;
        expect_reply!(reply, Reply::Session(found) => found)
    }

    /// All sessions, in the order of their ids.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn sessions(&self) -> Result<Vec<SessionView>, ServerError> {
        self.sessions_after(SessionId(0), usize::MAX).await
    }

    /// Sessions above this one in the order of their ids, at most so many.
    ///
    /// # Errors
    /// The server has stopped.
    pub(crate) async fn sessions_after(
        &self,
        after: SessionId,
        most: usize,
    ) -> Result<Vec<SessionView>, ServerError> {
        let reply = self.query(Query::Sessions { after, most }).await?;
        expect_reply!(reply, Reply::Sessions(page) => page)
    }

    /// How many sessions are connected; held ones are not counted.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn active_count(&self) -> Result<usize, ServerError> {
        let reply = self.query(Query::ActiveCount).await?;
        expect_reply!(reply, Reply::ActiveCount(count) => count)
    }

    /// Figures of the hub.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn counts(&self) -> Result<HubCounts, ServerError> {
        let reply = self.query(Query::Counts).await?;
        expect_reply!(reply, Reply::Counts(counts) => counts)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn end(&self, id: SessionId, cause: EndCause) -> Result<(), ServerError> {
        self.done(Command::Session(id, SessionCommand::End(cause))).await
    }

    /// Changes a session's properties.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn configure(&self, id: SessionId, changes: Changes) -> Result<(), ServerError> {
        self.done(Command::Session(id, SessionCommand::Configure(changes))).await
    }

    /// Logs the frames of a session, or stops it. The session's switch is kept with it, so the log
    /// goes on over reconnects; that payloads are shown is forgotten with this process.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn log_frames(&self, id: SessionId, log: FrameLog) -> Result<(), ServerError> {
        let flags = Some((Flags::PACKET_LOGGING, log != FrameLog::Off));
        self.configure(id, Changes { flags, ..Changes::default() }).await?;
        if let Some(tally) = self.0.sight.tallies.get(id) {
            tally.set_frame_log(log);
        }
        Ok(())
    }

    /// Says something to a session, wherever it is: into its own stream, so that a client hears it
    /// once and in order, over any drop. A session on its way between two places hears it where it
    /// arrives. Returns when the message is committed.
    ///
    /// # Errors
    /// There is no such session, it ended before it could hear the message, too much waits for it
    /// already (`Answer::Busy`), or the payload is larger than clients take.
    pub async fn send(&self, id: SessionId, payload: impl Into<Bytes>) -> Result<(), ServerError> {
        self.done(Command::Session(id, SessionCommand::Send(payload.into()))).await
    }

    /// Asks a session something and waits for its answer.
    ///
    /// # Errors
    /// There is no such session, or it did not answer within `deadline`.
    pub async fn call(
        &self,
        id: SessionId,
        payload: impl Into<Bytes>,
        deadline: Duration,
    ) -> Result<Bytes, ServerError> {
        match self
            .command(Command::Session(id, SessionCommand::Call(payload.into(), deadline)))
            .await?
        {
            Answer::Called(Ok(payload)) => Ok(payload),
            other => Err(ServerError::Refused(other)),
        }
    }

    /// The zones that are open or being opened.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn zones(&self) -> Result<Vec<(ZoneId, ZoneName)>, ServerError> {
        let reply = self.query(Query::Zones).await?;
        expect_reply!(reply, Reply::Zones(zones) => zones)
    }

    /// Whether a zone is open or being opened.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn is_open(&self, zone: &ZoneName) -> Result<bool, ServerError> {
        let id = ZoneId::of(&zone.kind, &zone.name);
        let reply = self.query(Query::Zone(id)).await?;
        expect_reply!(reply, Reply::Zone(found) => found.is_some())
    }

    /// The events from now on. A reader that falls far behind misses some, and gets an error that says how
    /// many. See [`on`](Self::on) for listeners that have a thread of their own.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.0.sight.events()
    }

    /// Whether all that ran before the last stop runs again and players are let in. False for good
    /// once too many callbacks hang: a restart is due.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let has_failed = self.0.failure.borrow().is_some();
        *self.0.is_ready.borrow() && !has_failed && !self.is_stopping() && self.0.zones.are_open()
    }

    /// Resolves with the reason when nothing can be kept any more. The process must end then and
    /// start again from what the store holds: durable zones and logins stand still.
    pub async fn failed(&self) -> String {
        let mut failure = self.0.failure.clone();
        let found = failure.wait_for(Option::is_some).await;
        let why = found.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            // The store's thread has ended in peace.
            None => std::future::pending().await,
        }
    }

    /// Connections that are open.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.0.connections.len()
    }

    /// The way to the directory; none when the server was put together without one.
    #[must_use]
    pub fn directory(&self) -> Option<DirectoryDoor> {
        self.0.directory.clone()
    }

    /// Stops: no more connections, a farewell to everybody, then hub, zones and store in turn.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.agents.stop();
        let (done, stopped) = oneshot::channel();
        if self.0.external.send(HubMail::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
        if let Some(directory) = &self.0.directory {
            directory.stop().await;
        }
        self.0.zones.stop();
        let store_thread =
            self.0.store_thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (workers, store) = (self.0.workers.clone(), self.0.store.clone());
        let join = move || {
            if !workers.join(ZONES_STOP) {
                tracing::error!("a callback does not return; the server stops without it");
            }
            // Last, so that every cut of a zone is in.
            let _ = store.send(StoreRequest::Stop);
            if let Some(thread) = store_thread {
                let _ = thread.join();
            }
        };
        let _ = tokio::task::spawn_blocking(join).await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Carries out a command of the hub and waits for its answer.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn command(&self, command: Command) -> Result<Answer, ServerError> {
        let (sender, answer) = oneshot::channel();
        let mail = HubMail::Command(command, sender);
        self.0.external.send(mail).await.map_err(|_| ServerError::Stopped)?;
        answer.await.map_err(|_| ServerError::Stopped)
    }

    pub(crate) async fn done(&self, command: Command) -> Result<(), ServerError> {
        match self.command(command).await? {
            Answer::Done => Ok(()),
            other => Err(ServerError::Refused(other)),
        }
    }

    /// Asks the hub.
    pub(crate) async fn query(&self, query: Query) -> Result<Reply, ServerError> {
        let (sender, answer) = oneshot::channel();
        let mail = HubMail::Query(query, sender);
        self.0.external.send(mail).await.map_err(|_| ServerError::Stopped)?;
        answer.await.map_err(|_| ServerError::Stopped)
    }
}
