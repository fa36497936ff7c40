//! The agents of a world: the same machine as on a server, played in the world's time.

use rejoin_core::agent::{Agent, AgentCore, AgentInput};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Command, HubInput, SessionConfig};
use rejoin_core::id::SessionId;
use rejoin_core::session::Presence;

use crate::event::Event;
use crate::node::Played;
use crate::world::World;

impl World {
    /// Starts a session that is played by an agent. A crash ends the agent and not its session:
    /// [`attach_agent`](Self::attach_agent) gives that a new one.
    pub fn start_agent<A: Agent>(&mut self, config: SessionConfig, agent: A) -> SessionId {
        let session = match self.command(Command::StartSession(config)) {
            Answer::Session(session) => session,
            other => self.fail(&format!("no session for an agent: {other:?}")),
        };
        self.play(session, agent, None);
        session
    }

    /// Gives a native session that is running to an agent.
    pub fn attach_agent<A: Agent>(&mut self, session: SessionId, agent: A) {
        let view = self.session(session).filter(|view| view.presence == Presence::Native);
        let Some(view) = view else { self.fail(&format!("{session} is no native session")) };
        let room = view.zone.and_then(|zone| self.node.zones.get(&zone));
        let zone = room.map(|room| room.spec.name.clone());
        self.play(session, agent, zone);
    }

    fn play<A: Agent>(&mut self, session: SessionId, agent: A, zone: Option<ZoneName>) {
        let machine = Box::new(AgentCore::new(session, agent));
        self.node.agents.insert(session, Played { machine, wake: None });
        self.feed_agent(session, AgentInput::Start(zone));
    }

    /// One input for an agent, then all that it wants.
    pub(crate) fn feed_agent(&mut self, session: SessionId, input: AgentInput) {
        let time = self.node.time(self.now);
        let Some(played) = self.node.agents.get_mut(&session) else { return };
        played.machine.handle(time, input);
        while let Some(command) = self.next_wish(session) {
            self.last_ticket += 1;
            let ticket = self.last_ticket;
            self.agents_asked.insert(ticket, session);
            self.hub(HubInput::Command { ticket, command });
        }
        let Some(played) = self.node.agents.get(&session) else { return };
        if let Some(text) = played.machine.fault().map(str::to_owned)
            && !self.setup.faults
        {
            self.fail(&format!("the agent of session {session} panicked: {text}"));
        }
        if played.machine.is_over() {
            self.node.agents.remove(&session);
        } else {
            self.plan_agent(session);
        }
    }

    fn next_wish(&mut self, session: SessionId) -> Option<Command> {
        self.node.agents.get_mut(&session)?.machine.next_output()
    }

    fn plan_agent(&mut self, session: SessionId) {
        let played = self.node.agents.get(&session);
        let deadline = played.and_then(|played| played.machine.next_deadline());
        let Some(at) = deadline.map(|at| self.node.world_time(at).max(self.now)) else { return };
        if let Some(played) = self.node.agents.get_mut(&session)
            && played.wake.is_none_or(|planned| at < planned)
        {
            played.wake = Some(at);
            self.queue.push(at, Event::AgentWake { session });
        }
    }
}
