//! The network of the world: bytes under way, cut anywhere, late, in pieces, or not at all.

use bytes::{Bytes, BytesMut};
use rejoin_core::connection::ConnectionInput;
use rejoin_core::guard::Origin;
use rejoin_core::hub::HubInput;
use rejoin_core::id::ConnectionId;
use rejoin_core::session::Serializer;
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_server, prefix};

use crate::event::Event;
use crate::link::{Link, Who};
use crate::transport::{note_login, read};
use crate::world::World;

impl World {
    /// Makes a connection.
    pub fn dial(&mut self, who: Who, encoding: Encoding) -> u64 {
        self.last_link += 1;
        let id = self.last_link;
        self.links.insert(id, Link::new(who, self.now, encoding));
        let way = self.latency();
        if self.node.hub.is_some() {
            self.plan(way, Event::ServerOpened { link: id });
        } else {
            // Nobody listens.
            self.plan(way, Event::ClientClosed { link: id, code: None });
        }
        id
    }

    /// How long something is under way.
    pub fn latency(&mut self) -> u64 {
        1 + self.rng.below(self.knobs.latency_us)
    }

    pub(crate) fn server_opened(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.up_dead {
            return;
        }
        let (encoding, origin, is_encrypted) = (link.encoding, link.origin, link.is_encrypted);
        if !self.is_admitted(origin) {
            let way = self.latency();
            return self.plan(way, Event::ClientClosed { link: id, code: None });
        }
        let Some(link) = self.links.get_mut(&id) else { return };
        link.server_open = true;
        let serializer = match encoding {
            Encoding::Protobuf => Serializer::Protobuf,
            Encoding::Json => Serializer::Json,
        };
        let way = self.latency();
        self.plan(way, Event::ClientOpened { link: id });
        if let Some(link) = self.links.get_mut(&id) {
            link.down_at = self.now + way;
        }
        let (connection, origin) = (ConnectionId(id), Some(origin));
        let time = self.node.time(self.now);
        if let Some(connections) = &mut self.node.connections {
            connections.open(time, connection);
        }
        self.hub(HubInput::Opened { connection, serializer, origin, is_encrypted });
    }

    /// Whether the door lets somebody in. Places at a time are not played, rates and bars are.
    fn is_admitted(&mut self, origin: Origin) -> bool {
        let now = self.node.time(self.now);
        let Some(door) = &mut self.node.door else { return false };
        match door.admit(now, Some(origin)) {
            Ok(ticket) => {
                door.leave(ticket);
                true
            }
            Err(_) => false,
        }
    }

    /// Sends bytes upwards, cut into pieces; the connection may end anywhere in them.
    pub fn send_up(&mut self, id: u64, frame: &[u8]) {
        let mut bytes = BytesMut::new();
        if prefix(frame, &mut bytes).is_err() {
            return;
        }
        self.frames += 1;
        self.transmit(id, bytes.freeze(), true);
    }

    pub(crate) fn send_down(&mut self, connection: ConnectionId, frame: &SharedFrame) {
        self.check_frame(connection.0, frame);
        let Some(link) = self.links.get(&connection.0) else { return };
        if !link.server_open {
            return;
        }
        let mut bytes = BytesMut::new();
        let Some(encoded) = self.encoded(connection.0, frame) else { return };
        if prefix(&encoded, &mut bytes).is_ok() {
            self.frames += 1;
            self.transmit(connection.0, bytes.freeze(), false);
        }
    }

    fn transmit(&mut self, id: u64, mut bytes: Bytes, up: bool) {
        let way = self.latency();
        let cut = !self.quiet && self.rng.per_mille(self.knobs.faults.cut);
        if self.rng.per_mille(200) && bytes.len() > 1 {
            let at = self.rng.range(1, bytes.len() as u64 - 1) as usize;
            let first = bytes.split_to(at);
            self.transmit_piece(id, first, up, way);
        }
        if cut {
            let at = self.rng.below(bytes.len() as u64 + 1) as usize;
            bytes.truncate(at);
        }
        self.transmit_piece(id, bytes, up, way);
        if cut {
            self.cut(id);
        }
    }

    fn transmit_piece(&mut self, id: u64, bytes: Bytes, up: bool, way: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if (up && (link.up_dead || !link.client_open)) || (!up && link.down_dead) {
            return;
        }
        let last = if up { &mut link.up_at } else { &mut link.down_at };
        *last = (*last).max(self.now + way);
        let at = *last;
        let event = match up {
            true => Event::ServerBytes { link: id, bytes },
            false => Event::ClientBytes { link: id, bytes },
        };
        self.queue.push(at, event);
    }

    /// Ends a connection; one end may not be told.
    pub fn cut(&mut self, id: u64) {
        self.tell(|| format!("cut {id}"));
        let (server_told, client_told) = (!self.half_open(), !self.half_open());
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.up_dead && link.down_dead {
            return;
        }
        (link.up_dead, link.down_dead) = (true, true);
        let (up_at, down_at) = (link.up_at.max(self.now), link.down_at.max(self.now));
        if server_told {
            self.queue.push(up_at + 1, Event::ServerClosed { link: id, code: None });
        }
        if client_told {
            self.queue.push(down_at + 1, Event::ClientClosed { link: id, code: None });
        }
    }

    fn half_open(&mut self) -> bool {
        self.rng.per_mille(self.knobs.faults.half_open)
    }

    pub(crate) fn close_down(&mut self, id: u64, code: CloseCode) {
        self.check_close(id, code);
        let Some(link) = self.links.get_mut(&id) else { return };
        link.server_open = false;
        link.up_dead = true;
        if !link.down_dead {
            link.down_dead = true;
            let at = link.down_at.max(self.now) + 1;
            self.queue.push(at, Event::ClientClosed { link: id, code: Some(code) });
        }
        // The transport tells that it is gone, as after any close.
        self.plan(1, Event::ServerClosed { link: id, code: None });
    }

    pub(crate) fn server_bytes(&mut self, order: u64, id: u64, bytes: Bytes) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.paused_until > self.now {
            let until = link.paused_until;
            let event = Event::ServerBytes { link: id, bytes };
            return self.queue.put_off(until, order, event);
        }
        if !link.server_open {
            return;
        }
        self.trace.update(&bytes);
        let mut rest = &bytes[..];
        loop {
            let Some(link) = self.links.get_mut(&id) else { return };
            if !rest.is_empty() {
                let taken = link.server.push(rest);
                rest = &rest[taken..];
            }
            match link.server.next() {
                Ok(Some(frame)) => {
                    let (frame, bytes) = read(link, frame);
                    if let Ok(frame) = &frame {
                        note_login(link, frame);
                    }
                    self.tell(|| format!("link {id} up: {frame:?}"));
                    if let Ok(frame) = &frame {
                        self.note_frame(id, frame);
                    }
                    self.connection(ConnectionId(id), ConnectionInput::Received { frame, bytes });
                }
                Ok(None) if rest.is_empty() => return,
                Ok(None) => {}
                Err(error) => {
                    link.up_dead = true;
                    let code = Some(error.close_code());
                    return self.plan(1, Event::ServerClosed { link: id, code });
                }
            }
        }
    }

    pub(crate) fn server_closed(&mut self, id: u64, code: Option<CloseCode>) {
        if let Some(link) = self.links.get_mut(&id) {
            link.server_open = false;
        }
        self.lose_connection(ConnectionId(id), code);
    }

    pub(crate) fn client_opened(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.client_open = true;
        match link.who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                let time = self.players[player].time(self.now);
                self.players[player].client.opened(time);
                self.drain_player(player);
            }
            _ => {}
        }
    }

    pub(crate) fn client_bytes(&mut self, order: u64, id: u64, bytes: Bytes) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let who = link.who;
        if !link.client_open {
            return;
        }
        if let Who::Player(player) = who
            && self.players[player].frozen_until > self.now
        {
            let until = self.players[player].frozen_until;
            return self.queue.put_off(until, order, Event::ClientBytes { link: id, bytes });
        }
        self.trace.update(&bytes);
        let mut rest = &bytes[..];
        loop {
            let Some(link) = self.links.get_mut(&id) else { return };
            if !rest.is_empty() {
                let taken = link.client.push(rest);
                rest = &rest[taken..];
            }
            match link.client.next() {
                Ok(Some(frame)) => self.client_frame(id, who, frame),
                Ok(None) if rest.is_empty() => return,
                Ok(None) => {}
                Err(error) => {
                    return self.watch.fail("client-sane", format!("framing: {error:?}"));
                }
            }
        }
    }

    fn client_frame(&mut self, id: u64, who: Who, frame: Bytes) {
        match who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                self.deliver(player, id, frame);
            }
            Who::Player(_) => {}
            Who::Hostile(hostile) => {
                let frame = decode_server(Encoding::Protobuf, frame, &Limits::DEFAULT);
                if let Ok(ServerFrame { frame: Some(server_frame::Frame::Welcome(welcome)) }) =
                    frame
                {
                    self.hostiles[hostile].welcomed(&welcome);
                }
            }
        }
    }

    pub(crate) fn client_closed(&mut self, id: u64, code: Option<CloseCode>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        (link.client_open, link.down_dead) = (false, true);
        match link.who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                self.players[player].link = None;
                let time = self.players[player].time(self.now);
                self.players[player].client.closed(time, code);
                self.drain_player(player);
            }
            Who::Hostile(hostile) if self.hostiles[hostile].link == Some(id) => {
                self.hostiles[hostile].link = None;
            }
            _ => {}
        }
    }

    /// The client's end is closed by the client.
    pub fn hang_up(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        (link.client_open, link.up_dead) = (false, true);
        let at = link.up_at.max(self.now) + 1;
        self.queue.push(at, Event::ServerClosed { link: id, code: None });
    }
}
