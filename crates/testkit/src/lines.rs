//! The network of a world: whole frames, late by chance, in order on each link, or lost with it.

use bytes::Bytes;
use rejoin_core::connection::ConnectionInput;
use rejoin_core::hub::HubInput;
use rejoin_core::id::ConnectionId;
use rejoin_core::session::Serializer;
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_client};

use crate::event::Event;
use crate::world::World;

/// One connection.
#[derive(Debug)]
pub(crate) struct Line {
    client: usize,
    /// Each end's own belief.
    server_open: bool,
    client_open: bool,
    /// Nothing gets through any more, in either direction.
    dead: bool,
    /// When the last frame arrives upwards, and downwards.
    up_at: u64,
    down_at: u64,
    paused_until: u64,
}

impl World {
    /// A client makes a connection.
    pub(crate) fn dial(&mut self, client: usize) -> u64 {
        self.last_line += 1;
        let (link, now) = (self.last_line, self.now);
        let line = Line {
            client,
            server_open: false,
            client_open: false,
            dead: false,
            up_at: now,
            down_at: now,
            paused_until: 0,
        };
        self.lines.insert(link, line);
        let way = self.way();
        match self.node.hub {
            Some(_) if !self.clients[client].offline => {
                self.plan(way, Event::ServerOpened { link });
            }
            // Nobody listens, or nobody is reached.
            _ => self.plan(way, Event::ClientClosed { link, code: None }),
        }
        link
    }

    /// How long something is under way.
    fn way(&mut self) -> u64 {
        let most = self.setup.latency.as_micros() as u64;
        1 + self.rng.below(most)
    }

    pub(crate) fn server_opened(&mut self, link: u64) {
        let way = self.way();
        let Some(line) = self.lines.get_mut(&link).filter(|line| !line.dead) else { return };
        line.server_open = true;
        line.down_at = self.now + way;
        self.plan(way, Event::ClientOpened { link });
        let connection = ConnectionId(link);
        let (serializer, origin) = (Serializer::Protobuf, None);
        let time = self.node.time(self.now);
        if let Some(connections) = &mut self.node.connections {
            connections.open(time, connection);
        }
        self.hub(HubInput::Opened { connection, serializer, origin, is_encrypted: false });
    }

    pub(crate) fn client_opened(&mut self, link: u64) {
        let Some(line) = self.lines.get_mut(&link).filter(|line| !line.dead) else { return };
        line.client_open = true;
        let client = line.client;
        self.with_client(client, link, |client, now| client.opened(now));
    }

    pub(crate) fn send_up(&mut self, link: u64, frame: Bytes) {
        let way = self.way();
        let Some(line) = self.lines.get_mut(&link).filter(|line| !line.dead) else { return };
        line.up_at = line.up_at.max(self.now + way);
        let at = line.up_at;
        self.queue.push(at, Event::Up { link, frame });
    }

    pub(crate) fn send_down(&mut self, connection: ConnectionId, frame: &SharedFrame) {
        let way = self.way();
        let link = connection.0;
        let Some(line) = self.lines.get_mut(&link) else { return };
        if line.dead || !line.server_open {
            return;
        }
        line.down_at = line.down_at.max(self.now + way);
        let at = line.down_at;
        // Protobuf can hold whatever the core says.
        if let Ok(frame) = frame.bytes(Encoding::Protobuf) {
            self.queue.push(at, Event::Down { link, frame });
        }
    }

    pub(crate) fn up(&mut self, order: u64, link: u64, frame: Bytes) {
        let Some(line) = self.lines.get(&link) else { return };
        if line.dead || !line.server_open {
            return;
        }
        if line.paused_until > self.now {
            let until = line.paused_until;
            return self.queue.put_off(until, order, Event::Up { link, frame });
        }
        let bytes = frame.len();
        let frame = decode_client(Encoding::Protobuf, frame, &Limits::DEFAULT);
        self.connection(ConnectionId(link), ConnectionInput::Received { frame, bytes });
    }

    pub(crate) fn down(&mut self, link: u64, frame: Bytes) {
        let Some(line) = self.lines.get(&link) else { return };
        if line.dead || !line.client_open {
            return;
        }
        let client = line.client;
        self.with_client(client, link, |client, now| client.received(now, frame));
    }

    pub(crate) fn pause(&mut self, link: u64, until: u64) {
        if let Some(line) = self.lines.get_mut(&link) {
            line.paused_until = line.paused_until.max(until);
        }
    }

    /// The link dies with all that is on it. The ends learn of it soon, or only time tells them.
    pub(crate) fn cut_line(&mut self, link: u64, told: bool) {
        let way = self.way();
        let Some(line) = self.lines.get_mut(&link).filter(|line| !line.dead) else { return };
        line.dead = true;
        if told {
            self.plan(way, Event::ServerClosed { link });
            self.plan(way, Event::ClientClosed { link, code: None });
        }
    }

    /// The server closes: what it said before still arrives.
    pub(crate) fn close_down(&mut self, link: u64, code: CloseCode) {
        let Some(line) = self.lines.get_mut(&link) else { return };
        line.server_open = false;
        let at = line.down_at.max(self.now) + 1;
        if !line.dead {
            self.queue.push(at, Event::ClientClosed { link, code: Some(code) });
        }
        self.plan(1, Event::ServerClosed { link });
    }

    /// The client closes: what it said before still arrives. On a dead link nobody hears of it.
    pub(crate) fn hang_up(&mut self, link: u64) {
        let Some(line) = self.lines.get_mut(&link) else { return };
        line.client_open = false;
        if line.dead {
            return;
        }
        let at = line.up_at.max(self.now) + 1;
        self.queue.push(at, Event::ServerClosed { link });
    }

    pub(crate) fn server_closed(&mut self, link: u64) {
        if let Some(line) = self.lines.get_mut(&link) {
            line.server_open = false;
        }
        let connection = ConnectionId(link);
        let Some(connections) = &mut self.node.connections else { return };
        let spent = connections.remove(connection);
        self.mail_hub(HubInput::Closed { connection, code: None, spent });
    }

    pub(crate) fn client_closed(&mut self, link: u64, code: Option<CloseCode>) {
        let Some(line) = self.lines.remove(&link) else { return };
        self.link_closed(line.client, link, code);
    }

    /// The server's process is gone, and with it its ends.
    pub(crate) fn lose_server(&mut self) {
        let links: Vec<u64> = self.lines.keys().copied().collect();
        for link in links {
            self.cut_line(link, true);
        }
    }
}
