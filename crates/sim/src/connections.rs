//! The connections of the server: what they are given, and what they give out. What they say to the hub and to
//! zones is under way for a while, on ways of its own: it overtakes what others say, and is overtaken.

use rejoin_core::connection::{
    ConnectionInput, ConnectionOutput, Routed, ToConnection, applied_frame,
};
use rejoin_core::hub::HubInput;
use rejoin_core::id::ConnectionId;
use rejoin_wire::v1::CloseCode;

use crate::event::Event;
use crate::node::Way;
use crate::world::World;

impl World {
    /// Gives a connection one input, and carries out what follows.
    pub(crate) fn connection(&mut self, id: ConnectionId, input: ConnectionInput) {
        let time = self.node.time(self.now);
        if let Some(connections) = &mut self.node.connections {
            connections.handle(time, id, input);
        }
        self.drain_connections();
    }

    /// Tells a connection something, before any frame that comes later.
    pub(crate) fn tell_connection(&mut self, id: ConnectionId, message: ToConnection) {
        self.tell(|| format!("to connection {}: {message:?}", id.0));
        let route = match &message {
            ToConnection::Routed(routed) => Some(*routed),
            _ => None,
        };
        self.connection(id, ConnectionInput::Message(message));
        // The hub and a zone tell it in no order: what one said before may come behind what the other says now.
        let former = route.and_then(|route| self.node.routes.insert(id, route));
        let is_older = |former: &Routed| {
            route.is_some_and(|now| (former.stay, former.route) < (now.stay, now.route))
        };
        if let Some(former) = former.filter(is_older) {
            self.connection(id, ConnectionInput::Message(ToConnection::Routed(former)));
        }
    }

    /// Acknowledges what a client sent.
    pub(crate) fn acknowledge(&mut self, id: ConnectionId, seq: u64) {
        self.connection(id, ConnectionInput::Applied(seq));
        self.send_down(id, &applied_frame(seq));
    }

    /// Wakes the connections whose deadlines have come.
    pub(crate) fn wake_connections(&mut self) {
        if self.node.connections_wake.take_if(|at| *at <= self.now).is_none() {
            return;
        }
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
            if self.crashes_here() {
                return;
            }
            self.carry_out_connection(id, output);
        }
        let incarnation = self.node.incarnation;
        let connections = self.node.connections.as_ref();
        let Some(deadline) = connections.and_then(|it| it.next_deadline()) else { return };
        let at = self.node.world_time(deadline).max(self.now);
        if self.node.connections_wake.is_none_or(|planned| at < planned) {
            self.node.connections_wake = Some(at);
            self.queue.push(at, Event::ConnectionsWake { incarnation });
        }
    }

    fn carry_out_connection(&mut self, id: ConnectionId, output: ConnectionOutput) {
        let incarnation = self.node.incarnation;
        match output {
            ConnectionOutput::Send(frame) => self.send_down(id, &frame),
            ConnectionOutput::Close(code) => self.close_connection(id, code),
            ConnectionOutput::Pause(wait) => {
                if let Some(link) = self.links.get_mut(&id.0) {
                    let until = self.now + wait.as_micros() as u64;
                    link.paused_until = until.max(link.paused_until);
                }
            }
            ConnectionOutput::ToHub(message) => {
                self.mail_hub(id, HubInput::FromConnection(id, message));
            }
            ConnectionOutput::ToZone(zone, owner, message) => {
                let at = self.mail_time(Way::ConnectionToZone(id));
                let message = Box::new(message);
                self.queue.push(at, Event::ToZone { incarnation, zone, owner, message });
            }
            ConnectionOutput::Event(event) => self.overhear(&event),
        }
    }

    /// The close of a connection is carried out: nothing more is given to it.
    pub(crate) fn close_connection(&mut self, id: ConnectionId, code: CloseCode) {
        if let Some(connections) = &mut self.node.connections {
            connections.close(id);
        }
        self.close_down(id.0, code);
    }

    /// The transport has lost a connection. The hub hears of that behind all that the connection said.
    pub(crate) fn lose_connection(&mut self, id: ConnectionId, code: Option<CloseCode>) {
        let Some(connections) = &mut self.node.connections else { return };
        let spent = connections.remove(id);
        self.mail_hub(id, HubInput::Closed { connection: id, code, spent });
    }

    fn mail_hub(&mut self, id: ConnectionId, input: HubInput) {
        let incarnation = self.node.incarnation;
        let at = self.mail_time(Way::ConnectionToHub(id));
        self.queue.push(at, Event::FromConnection { incarnation, input: Box::new(input) });
    }
}
