//! Agents on a server: each is a task on a few threads of its own, apart from connections, hub and
//! zones. A slow agent makes only other agents wait; one that panics ends its session
//! with a cause.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use rejoin_core::agent::{Agent, AgentCore, AgentInput, AgentMachine};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Query, Reply, SessionConfig};
use rejoin_core::id::SessionId;
use rejoin_core::session::Presence;
use rejoin_wire::v1::RefusalCode;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::clock::MonotonicClock;
use crate::local_sessions::Deliveries;
use crate::server::{Server, ServerError, Shared, expect_reply};

/// Threads on which agents play.
const AGENT_THREADS: usize = 2;
/// A callback that takes longer is logged as slow.
const SLOW: Duration = Duration::from_millis(50);

/// The agents' threads, started with the first of them.
#[derive(Default)]
pub(crate) struct AgentThreads(Mutex<Option<Runtime>>);

impl AgentThreads {
    fn handle(&self) -> std::io::Result<Handle> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_none() {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(AGENT_THREADS).thread_name("rejoin-agent").enable_time();
            *threads = Some(builder.build()?);
        }
        match threads.as_ref() {
            Some(runtime) => Ok(runtime.handle().clone()),
            None => Err(std::io::Error::other("the agents' threads have ended")),
        }
    }

    /// Ends them, without waiting for a callback that hangs.
    pub(crate) fn stop(&self) {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = threads {
            runtime.shutdown_background();
        }
    }
}

impl Drop for AgentThreads {
    fn drop(&mut self) {
        // Dropping the runtime would block until its tasks end, which is not allowed in async code.
        self.stop();
    }
}

impl Server {
    /// Starts a session that is played by an agent: an NPC. To its zones it is a member as any other.
    ///
    /// ```
    /// # use rejoin_core::agent::{Agent, Cue};
    /// # use rejoin_core::exchange::ZoneName;
    /// # use rejoin_core::hub::SessionConfig;
    /// # use rejoin_server::{ServerBuilder, relay};
    /// # use bytes::Bytes;
    /// struct Parrot;
    ///
    /// impl Agent for Parrot {
    ///     type In = Bytes;
    ///     type Out = Bytes;
    ///
    ///     fn on_start(&mut self, cue: &mut Cue<'_, Bytes>) {
    ///         cue.join(ZoneName::new("relay", "square"), "");
    ///     }
    ///
    ///     fn on_message(&mut self, cue: &mut Cue<'_, Bytes>, heard: &Bytes) {
    ///         cue.say(heard.clone());
    ///     }
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ServerBuilder::new().zone("relay", relay::config(), relay::Relay::default).start()?;
    /// let parrot = server.start_agent(SessionConfig::default(), Parrot).await?;
    /// assert!(server.session(parrot).await?.is_some());
    /// server.stop().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// There is no room for another session, or no thread for it.
    pub async fn start_agent<A: Agent>(
        &self,
        config: SessionConfig,
        agent: A,
    ) -> Result<SessionId, ServerError> {
        let session = self.start_session(config).await?;
        self.play(session, agent, None)?;
        Ok(session)
    }

    /// Gives a native session that is running, one of before a restart perhaps, to an agent.
    ///
    /// # Errors
    /// There is no such native session, or no thread for it.
    pub async fn attach_agent<A: Agent>(
        &self,
        session: SessionId,
        agent: A,
    ) -> Result<(), ServerError> {
        let found = self.session(session).await?;
        let Some(view) = found.filter(|view| view.presence == Presence::Native) else {
            return Err(ServerError::Refused(Answer::Unknown));
        };
        let zone = match view.zone {
            Some(zone) => {
                let reply = self.query(Query::Zone(zone)).await?;
                expect_reply!(reply, Reply::Zone(name) => name)?
            }
            None => None,
        };
        self.play(session, agent, zone)
    }

    fn play<A: Agent>(
        &self,
        session: SessionId,
        agent: A,
        zone: Option<ZoneName>,
    ) -> Result<(), ServerError> {
        let handle = self.0.agents.handle().map_err(|error| ServerError::Threads(error.kind()))?;
        let player = Player {
            session,
            machine: Box::new(AgentCore::new(session, agent)),
            deliveries: self.deliveries(session),
            refused: VecDeque::new(),
            clock: self.0.clock,
            server: std::sync::Arc::downgrade(&self.0),
        };
        handle.spawn(player.run(zone));
        Ok(())
    }
}

/// An agent and what it needs. It does not keep the server alive.
struct Player {
    session: SessionId,
    machine: Box<dyn AgentMachine>,
    deliveries: Deliveries,
    /// Refusals of its own commands that were not given to the agent yet.
    refused: VecDeque<RefusalCode>,
    clock: MonotonicClock,
    server: Weak<Shared>,
}

impl Player {
    async fn run(mut self, zone: Option<ZoneName>) {
        let mut input = AgentInput::Start(zone);
        loop {
            if self.feed(input).await.is_none() {
                return;
            }
            let missed = self.deliveries.take_missed();
            input = if missed > 0 {
                AgentInput::Lagged(missed)
            } else {
                let Some(next) = self.next().await else { return };
                next
            };
        }
    }

    async fn next(&mut self) -> Option<AgentInput> {
        if let Some(delivery) = self.deliveries.try_recv() {
            return Some(AgentInput::Told(delivery));
        }
        if let Some(code) = self.refused.pop_front() {
            return Some(AgentInput::Refused(code));
        }
        let Some(at) = self.machine.next_deadline() else {
            return self.deliveries.recv().await.map(AgentInput::Told);
        };
        let sleep = tokio::time::sleep(self.clock.until(at));
        tokio::select! {
            biased;
            delivery = self.deliveries.recv() => delivery.map(AgentInput::Told),
            () = sleep => Some(AgentInput::Wake),
        }
    }

    /// One input, then all that follows from it; none when the agent is over.
    async fn feed(&mut self, input: AgentInput) -> Option<()> {
        self.handle(input);
        while let Some(command) = self.machine.next_output() {
            let server = Server(self.server.upgrade()?);
            if let Answer::Refused(code) = server.command(command).await.ok()? {
                self.refused.push_back(code);
            }
        }
        if let Some(text) = self.machine.fault() {
            let session = self.session;
            tracing::error!(%session, text = ?text, "an agent failed; its session ends");
        }
        (!self.machine.is_over()).then_some(())
    }

    fn handle(&mut self, input: AgentInput) {
        let begun = self.clock.now();
        self.machine.handle(begun, input);
        let took = self.clock.now().since(begun);
        if took > SLOW {
            let (session, took_ms) = (self.session, took.as_millis() as u64);
            tracing::warn!(%session, took_ms, "slow agent");
        }
    }
}
