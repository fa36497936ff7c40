//! The server's side of a world: inputs to the hub and the zones, and what they give out, carried
//! to where it belongs, in order.

use rejoin_core::connection::{ConnectionInput, ConnectionOutput, ToConnection, applied_frame};
use rejoin_core::event::Event as Told;
use rejoin_core::exchange::ToZone;
use rejoin_core::hub::{AccountProof, Answer, HubInput, HubOutput};
use rejoin_core::id::{ConnectionId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::seat::SeatRefusal;
use rejoin_core::zone::{ZoneInput, ZoneOutput};
use rejoin_wire::v1::CloseCode;

use crate::event::Event;
use crate::world::World;

/// The most a message between two machines is under way, in microseconds.
const MAIL_US: u64 = 100;
/// The most that a check of a signature or an admission takes, and a job.
const CHECK_US: u64 = 500;

impl World {
    /// Gives the hub one input and carries out what follows.
    pub(crate) fn hub(&mut self, input: HubInput) {
        let time = self.node.time(self.now);
        let Some(hub) = &mut self.node.hub else { return };
        hub.handle(time, input);
        self.drain_hub();
    }

    /// Gives a connection one input and carries out what follows.
    pub(crate) fn connection(&mut self, id: ConnectionId, input: ConnectionInput) {
        let time = self.node.time(self.now);
        if let Some(connections) = &mut self.node.connections {
            connections.handle(time, id, input);
        }
        self.drain_connections();
    }

    pub(crate) fn wake_connections(&mut self) {
        self.node.connections_wake = None;
        let time = self.node.time(self.now);
        if let Some(connections) = &mut self.node.connections {
            connections.wake(time);
        }
        self.drain_connections();
    }

    fn drain_connections(&mut self) {
        while let Some((id, output)) =
            self.node.connections.as_mut().and_then(|connections| connections.next_output())
        {
            self.carry_out_connection(id, output);
        }
        let connections = self.node.connections.as_ref();
        let Some(deadline) = connections.and_then(|it| it.next_deadline()) else { return };
        let at = self.node.world_time(deadline).max(self.now);
        if self.node.connections_wake.is_none_or(|planned| at < planned) {
            self.node.connections_wake = Some(at);
            self.queue.push(at, Event::ConnectionsWake);
        }
    }

    fn carry_out_connection(&mut self, id: ConnectionId, output: ConnectionOutput) {
        match output {
            ConnectionOutput::Send(frame) => self.send_down(id, &frame),
            ConnectionOutput::Close(code) => self.close_connection(id, code),
            ConnectionOutput::Pause(wait) => {
                let until = self.now + wait.as_micros() as u64;
                self.pause(id.0, until);
            }
            ConnectionOutput::ToHub(message) => {
                self.mail_hub(HubInput::FromConnection(id, message))
            }
            ConnectionOutput::ToZone(zone, owner, message) => {
                self.mail_zone(zone, owner, message);
            }
            ConnectionOutput::Event(event) => self.overhear(event),
        }
    }

    /// The hub hears this after what it gives out now is carried out.
    pub(crate) fn mail_hub(&mut self, input: HubInput) {
        self.queue.push(self.now, Event::Hub(Box::new(input)));
    }

    fn close_connection(&mut self, id: ConnectionId, code: CloseCode) {
        if let Some(connections) = &mut self.node.connections {
            connections.close(id);
        }
        self.close_down(id.0, code);
    }

    fn tell_connection(&mut self, id: ConnectionId, message: ToConnection) {
        self.connection(id, ConnectionInput::Message(message));
    }

    /// Acknowledges what a client sent.
    fn acknowledge(&mut self, id: ConnectionId, seq: u64) {
        self.connection(id, ConnectionInput::Applied(seq));
        self.send_down(id, &applied_frame(seq));
    }

    fn mail_zone(&mut self, zone: ZoneId, owner: OwnerEpoch, message: ToZone) {
        let at = self.mail_time(zone, true);
        let message = Box::new(message);
        self.queue.push(at, Event::ToZone { zone, owner, message });
    }

    pub(crate) fn drain_hub(&mut self) {
        while let Some(output) = self.node.hub.as_mut().and_then(|hub| hub.next_output()) {
            self.carry_out_hub(output);
        }
        let deadline = self.node.hub.as_ref().and_then(|hub| hub.next_deadline());
        let Some(at) = deadline.map(|at| self.node.world_time(at).max(self.now)) else { return };
        if self.node.hub_wake.is_none_or(|planned| at < planned) {
            self.node.hub_wake = Some(at);
            self.queue.push(at, Event::HubWake);
        }
    }

    fn carry_out_hub(&mut self, output: HubOutput) {
        match output {
            HubOutput::Send { connection, frame } => self.send_down(connection, &frame),
            HubOutput::Close { connection, code } => self.close_connection(connection, code),
            HubOutput::Applied { connection, seq } => self.acknowledge(connection, seq),
            HubOutput::ToConnection(connection, message) => {
                self.tell_connection(connection, message);
            }
            // Nobody here has an address, and frames go as they are.
            HubOutput::Bar { .. } | HubOutput::Compress { .. } | HubOutput::Warn(_) => {}
            HubOutput::Verify { connection, ask, public_key, text, signature } => {
                let good = self.knows_signature(&public_key, &text, &signature);
                self.check(HubInput::Verified { connection, ask, good });
            }
            HubOutput::AskAdmission { connection, ask, player, payload } => {
                let rule = self.setup.doorman.as_ref();
                let verdict = rule.map_or(Ok(()), |rule| rule(player, &payload));
                self.check(HubInput::Admission { connection, ask, verdict });
            }
            // There are no accounts in this world.
            HubOutput::CheckAccount { connection, ask, .. } => {
                self.check(HubInput::Account { connection, ask, proof: AccountProof::None });
            }
            // There is no directory in this world, so nobody has a seat.
            HubOutput::Seat(request) => {
                self.check(HubInput::Seat(request, Err(SeatRefusal::Unknown)));
            }
            HubOutput::Game(..) => {}
            HubOutput::RunCallback { session, callback } => {
                self.callbacks.push((session, callback))
            }
            HubOutput::Native { session, delivery } => {
                self.plan(1, Event::Told { session, delivery });
            }
            HubOutput::ToZone(zone, owner, message) => self.mail_zone(zone, owner, message),
            HubOutput::OpenZone(spec) => {
                self.node.zones.remove(&spec.id);
                let wait = self.rng.below(CHECK_US);
                self.plan(wait, Event::OpenZone(spec));
            }
            HubOutput::DropZone(zone) => drop(self.node.zones.remove(&zone)),
            HubOutput::Commit(batch) => self.submit(batch),
            HubOutput::Event(event) => self.overhear(event),
            HubOutput::Answer { ticket, answer } => self.answered(ticket, answer),
        }
    }

    fn answered(&mut self, ticket: u64, answer: Answer) {
        match self.agents_asked.remove(&ticket) {
            Some(session) => {
                if let Answer::Refused(code) = answer {
                    self.plan(1, Event::Refused { session, code });
                }
            }
            None => drop(self.answers.insert(ticket, answer)),
        }
    }

    fn check(&mut self, input: HubInput) {
        let wait = self.rng.below(CHECK_US);
        self.plan(wait, Event::Hub(Box::new(input)));
    }

    /// Gives a zone one input, if it takes any.
    pub(crate) fn zone(&mut self, zone: ZoneId, input: ZoneInput) {
        let time = self.node.time(self.now);
        let Some(room) = self.node.zones.get_mut(&zone) else { return };
        match input {
            ZoneInput::FromHub(..) => room.mailbox.push_back(input),
            other => {
                room.machine.handle(time, other);
                self.drain_zone(zone);
            }
        }
        while let Some(room) = self.node.zones.get_mut(&zone) {
            if !room.machine.is_accepting() {
                return;
            }
            let Some(input) = room.mailbox.pop_front() else { return };
            room.machine.handle(time, input);
            self.drain_zone(zone);
        }
    }

    /// Carries out what a zone gives out.
    pub(crate) fn drain_zone(&mut self, zone: ZoneId) {
        while let Some(room) = self.node.zones.get_mut(&zone) {
            let owner = room.machine.owner();
            let Some(output) = room.machine.next_output() else { break };
            self.carry_out_zone(zone, owner, output);
        }
        let room = self.node.zones.get(&zone);
        let deadline = room.and_then(|room| room.machine.next_deadline());
        let Some(at) = deadline.map(|at| self.node.world_time(at).max(self.now)) else { return };
        if let Some(room) = self.node.zones.get_mut(&zone)
            && room.wake.is_none_or(|planned| at < planned)
        {
            room.wake = Some(at);
            self.queue.push(at, Event::ZoneWake { zone });
        }
    }

    fn carry_out_zone(&mut self, zone: ZoneId, owner: OwnerEpoch, output: ZoneOutput) {
        match output {
            ZoneOutput::Send { link, frame, .. } => self.send_down(link.connection, &frame),
            ZoneOutput::SendToMany { to, frame } => {
                for (_, link) in to {
                    self.send_down(link.connection, &frame);
                }
            }
            ZoneOutput::SendAll { link, frames, .. } => {
                for frame in frames {
                    self.send_down(link.connection, &frame);
                }
            }
            ZoneOutput::Applied { link, seq, .. } => self.acknowledge(link.connection, seq),
            ZoneOutput::ToConnection { link, message, .. } => {
                self.tell_connection(link.connection, message);
            }
            ZoneOutput::Native { session, delivery } => {
                self.plan(1, Event::Told { session, delivery });
            }
            ZoneOutput::ToHub(message) => {
                let at = self.mail_time(zone, false);
                let message = Box::new(message);
                self.queue.push(at, Event::ToHub { zone, owner, message });
            }
            ZoneOutput::Commit(batch) => self.submit(batch),
            ZoneOutput::StartJob { job, request } => {
                let Some(room) = self.node.zones.get(&zone) else { return };
                let result = (self.setup.worker)(&room.spec.name, request);
                let wait = self.rng.below(CHECK_US);
                self.plan(wait, Event::JobDone { zone, owner, job, result });
            }
            ZoneOutput::Event(event) => self.overhear(event),
        }
    }

    fn overhear(&mut self, event: Told) {
        self.tell(|_| format!("server: {event:?}"));
        if let Told::ZoneFault { text, .. } = &event
            && !self.setup.faults
        {
            self.fail(&format!("a zone panicked: {text}"));
        }
        self.events.push(event);
    }

    fn mail_time(&mut self, zone: ZoneId, down: bool) -> u64 {
        let at = self.now + self.rng.below(MAIL_US);
        let last = self.node.mail_at.entry((zone, down)).or_default();
        *last = at.max(*last);
        *last
    }

    fn submit(&mut self, batch: Batch) {
        let (scope, owner, revision) = (batch.scope, batch.owner, batch.revision);
        let most = self.setup.commit.as_micros() as u64;
        let at = self.node.disk.submit(self.now, batch, most, &mut self.rng);
        self.queue.push(at, Event::Committed { scope, owner, revision });
    }

    pub(crate) fn committed(&mut self, scope: ScopeId, owner: OwnerEpoch, revision: Revision) {
        if !self.node.disk.commit(scope, owner, revision) {
            return;
        }
        match scope {
            ScopeId::Zone(zone) => self.zone(zone, ZoneInput::Committed(revision)),
            _ => self.hub(HubInput::Committed(scope, revision)),
        }
    }
}
