//! The task that owns ENet on one port: it lets ENet read and write, passes received messages to their
//! connections, sends what connections want sent, and drops all state of a peer that is gone. Without
//! peers it only waits for its socket.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rejoin_wire::Encoding;
use rejoin_wire::enet::{CHANNELS, RELIABLE, UNRELIABLE, channel_of_server};
use rejoin_wire::v1::CloseCode;
use rusty_enet::{Event, Host, HostSettings, Packet, PeerID, PeerState};
use tokio::net::UdpSocket;
use tokio::sync::{Semaphore, mpsc, watch};

use super::connection::{
    EnetCommand, EnetConnectionId, EnetSink, EnetSource, ROOM_BYTES, farewell_number,
};
use super::sieve::ReaderBacklog;
use super::socket::EnetSocket;
use super::window::EARLY_BYTES_MAX;
use crate::metrics::Transport;
use crate::server::Server;
use crate::transport::{self, Incoming, Peer};

/// How often ENet runs while there is a peer: it sends again what was lost.
const TICK: Duration = Duration::from_millis(15);
/// How often those are looked for who are late.
const SWEEP: Duration = Duration::from_secs(1);
/// Commands under way to this task; connections wait with more.
const COMMANDS_MAX: usize = 1_024;
/// Commands that are carried out in one turn.
const COMMANDS_PER_TURN: usize = 512;
/// The largest datagram: what every network carries.
const DATAGRAM_BYTES: u16 = 1_392;
/// Without a sign of life ENet gives a peer up between these, a little before a heartbeat would.
const SILENCE_MS: (u32, u32) = (5_000, 10_000);
/// ENet's own measure of tries.
const TRIES: u32 = 32;

pub(super) struct Keeper {
    host: Host<EnetSocket>,
    server: Server,
    socket: Arc<UdpSocket>,
    connections: HashMap<usize, EnetConnection>,
    /// The slot of each address that is connected.
    slots: HashMap<SocketAddr, usize>,
    /// Connections so far.
    last: u64,
    commands: mpsc::Receiver<EnetCommand>,
    /// Cloned for each connection: where its commands and its end go.
    senders: (mpsc::Sender<EnetCommand>, mpsc::UnboundedSender<EnetConnectionId>),
    ended: mpsc::UnboundedReceiver<EnetConnectionId>,
    swept_at: Instant,
}

/// One connection, seen from here.
struct EnetConnection {
    id: EnetConnectionId,
    address: SocketAddr,
    incoming: mpsc::UnboundedSender<Incoming>,
    waiting: Arc<ReaderBacklog>,
    room: Arc<Semaphore>,
}

impl Drop for EnetConnection {
    fn drop(&mut self) {
        // Ends the waits for room of the connection's writer.
        self.room.close();
    }
}

/// What ENet reports, without a hold on it.
enum Happened {
    Connected(usize, Option<SocketAddr>),
    Disconnected(usize),
    Received(usize, u8, Bytes),
}

impl Keeper {
    /// Takes the socket over. The clock that peers see starts anywhere.
    pub(super) fn new(
        enet_socket: EnetSocket,
        socket: Arc<UdpSocket>,
        server: Server,
        peers_max: usize,
        chance: [u8; 8],
    ) -> Result<Self, String> {
        let [a, b, c, d, e, f, g, h] = chance;
        let (start, offset) = (Instant::now(), u64::from(u32::from_be_bytes([0, a, b, c])));
        let settings = HostSettings {
            peer_limit: peers_max,
            channel_limit: CHANNELS,
            // Zero would stand for never.
            time: Box::new(move || start.elapsed() + Duration::from_millis(offset + 1)),
            seed: Some(u32::from_be_bytes([d ^ e, f, g, h])),
            ..HostSettings::default()
        };
        let mut host = Host::new(enet_socket, settings).map_err(|error| error.to_string())?;
        let largest = server.0.limits.server_frame_bytes(Encoding::Protobuf);
        let set = host.set_maximum_packet_size(largest);
        // More than is ever let in: ENet would refuse what all the rest waits for as well.
        let heard_max = server.0.limits.client_frame_bytes(Encoding::Protobuf);
        let early_max = EARLY_BYTES_MAX + 2 * heard_max;
        let set = set.and_then(|()| host.set_maximum_waiting_data(early_max));
        set.and_then(|()| host.set_mtu(DATAGRAM_BYTES)).map_err(|error| error.to_string())?;
        let (command, commands) = mpsc::channel(COMMANDS_MAX);
        let (end, ended) = mpsc::unbounded_channel();
        Ok(Self {
            host,
            server,
            socket,
            connections: HashMap::new(),
            slots: HashMap::new(),
            last: 0,
            commands,
            senders: (command, end),
            ended,
            swept_at: start,
        })
    }

    /// Runs until the server has stopped and no connection is left.
    pub(super) async fn run(mut self) {
        let mut stopping = self.server.0.stopping.subscribe();
        loop {
            let has_more = self.turn();
            let is_stopping = *stopping.borrow();
            self.host.socket_mut().is_stopping = is_stopping;
            if is_stopping && self.connections.is_empty() {
                return;
            }
            if has_more {
                tokio::task::yield_now().await;
            } else {
                self.wait(&mut stopping, is_stopping).await;
            }
        }
    }

    async fn wait(&mut self, stopping: &mut watch::Receiver<bool>, is_stopping: bool) {
        let is_idle = self.host.socket_mut().is_empty() && self.connections.is_empty();
        tokio::select! {
            command = self.commands.recv() => {
                if let Some(command) = command {
                    self.carry_out(command);
                }
            }
            ended = self.ended.recv() => {
                if let Some(id) = ended {
                    self.let_go(id);
                }
            }
            _ = self.socket.readable() => {}
            () = tokio::time::sleep(TICK), if !is_idle => {}
            _ = stopping.changed(), if !is_stopping => {}
        }
    }

    /// Everything that can be done at once. True: there was more than fits into one turn.
    fn turn(&mut self) -> bool {
        for _ in 0..COMMANDS_PER_TURN {
            let Ok(command) = self.commands.try_recv() else { break };
            self.carry_out(command);
        }
        while let Ok(id) = self.ended.try_recv() {
            self.let_go(id);
        }
        self.host.socket_mut().next_turn();
        while let Some(happened) = self.service() {
            match happened {
                Happened::Connected(slot, address) => self.connected(slot, address),
                Happened::Disconnected(slot) => self.gone(slot),
                Happened::Received(slot, channel, bytes) => self.received(slot, channel, bytes),
            }
        }
        self.tell_broken();
        self.sweep();
        self.host.socket_mut().next_turn() || !self.commands.is_empty()
    }

    fn service(&mut self) -> Option<Happened> {
        let happened = match self.host.service() {
            Ok(Some(happened)) => happened,
            Ok(None) => return None,
            Err(never) => match never {},
        };
        Some(match happened {
            Event::Connect { peer, .. } => Happened::Connected(peer.id().0, peer.address()),
            Event::Disconnect { peer, .. } => Happened::Disconnected(peer.id().0),
            Event::Receive { peer, channel_id, packet } => {
                let bytes = Bytes::copy_from_slice(packet.data());
                Happened::Received(peer.id().0, channel_id, bytes)
            }
        })
    }

    fn connected(&mut self, slot: usize, address: Option<SocketAddr>) {
        let known = address.and_then(|address| self.host.socket_mut().peer(&address));
        let (Some(address), Some(known)) = (address, known) else {
            return self.host.peer_mut(PeerID(slot)).reset();
        };
        known.is_connected = true;
        let (waiting, permit) = (known.sieve.waiting.clone(), known.permit.take());
        let bell = known.bell.clone();
        let is_encrypted = known.seal.is_some();
        self.host.peer_mut(PeerID(slot)).set_timeout(TRIES, SILENCE_MS.0, SILENCE_MS.1);
        self.last += 1;
        let id = EnetConnectionId { slot, number: self.last };
        let (incoming, heard) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(ROOM_BYTES as usize));
        let source = EnetSource { incoming: heard, waiting: waiting.clone(), bell };
        let (commands, ended) = self.senders.clone();
        let sink = EnetSink { id, commands, ended, room: room.clone() };
        self.connections.insert(slot, EnetConnection { id, address, incoming, waiting, room });
        self.slots.insert(address, slot);
        let address = Some(address.ip().to_canonical());
        let peer = Peer { transport: Transport::Enet, address, is_encrypted };
        let server = self.server.clone();
        tokio::spawn(async move {
            transport::serve(source, sink, Encoding::Protobuf, peer, server).await;
            drop(permit);
        });
    }

    fn received(&mut self, slot: usize, channel: u8, bytes: Bytes) {
        let Some(connection) = self.connections.get(&slot) else { return };
        if let Some(known) = self.host.socket_mut().peer(&connection.address) {
            known.sieve.delivered(channel);
        }
        connection.waiting.add(bytes.len());
        // Who does not read any more is about to be let go.
        let _ = connection.incoming.send(Incoming::Message(bytes));
    }

    /// ENet has forgotten the peer.
    fn gone(&mut self, slot: usize) {
        if let Some(connection) = self.connections.remove(&slot) {
            self.slots.remove(&connection.address);
            self.host.socket_mut().forget(&connection.address);
        }
    }

    fn tell_broken(&mut self) {
        let socket = self.host.socket_mut();
        let (broken, replaced) =
            (std::mem::take(&mut socket.broken), std::mem::take(&mut socket.replaced));
        for (address, error) in broken {
            let connection = self.slots.get(&address).and_then(|slot| self.connections.get(slot));
            if let Some(connection) = connection {
                let _ = connection.incoming.send(Incoming::Broken(error));
            }
        }
        self.drop_all_of(&replaced);
    }

    fn sweep(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.swept_at) < SWEEP {
            return;
        }
        self.swept_at = now;
        let late = self.host.socket_mut().late(now);
        self.drop_all_of(&late);
    }

    /// Drops all that ENet has of these addresses. One walk for all of them: a peer that is not connected
    /// yet has a slot that only ENet knows.
    fn drop_all_of(&mut self, addresses: &BTreeSet<SocketAddr>) {
        if addresses.is_empty() {
            return;
        }
        let is_there = |state| state != PeerState::Disconnected;
        let is_meant = |address: Option<SocketAddr>| {
            address.is_some_and(|address| addresses.contains(&address))
        };
        let peers = self.host.peers_mut();
        peers
            .filter(|peer| is_there(peer.state()) && is_meant(peer.address()))
            .for_each(rusty_enet::Peer::reset);
        for address in addresses {
            if let Some(slot) = self.slots.remove(address) {
                self.connections.remove(&slot);
            }
            self.host.socket_mut().forget(address);
        }
    }

    fn carry_out(&mut self, command: EnetCommand) {
        let (EnetCommand::Send(id, _) | EnetCommand::Close(id, _)) = &command;
        if self.connections.get(&id.slot).is_none_or(|connection| connection.id != *id) {
            return;
        }
        let peer = self.host.peer_mut(PeerID(id.slot));
        match command {
            EnetCommand::Send(_, parcel) => {
                let is_loose = channel_of_server(parcel.as_ref()) == UNRELIABLE;
                let packet = if is_loose {
                    Packet::unreliable(Box::new(parcel))
                } else {
                    Packet::reliable(Box::new(parcel))
                };
                // A peer that asked for one channel has everything on it.
                let has_both = peer.channel_count() >= CHANNELS;
                let channel = if is_loose && has_both { UNRELIABLE } else { RELIABLE };
                // Not taken: the peer is leaving, and ENet reports when it has.
                let _ = peer.send(channel, &packet);
            }
            EnetCommand::Close(_, code) => peer.disconnect_later(farewell_number(code)),
        }
    }

    /// The connection's task has ended: so has everything else of it.
    fn let_go(&mut self, id: EnetConnectionId) {
        if self.connections.get(&id.slot).is_none_or(|connection| connection.id != id) {
            return;
        }
        let number = farewell_number(CloseCode::Unspecified);
        self.host.peer_mut(PeerID(id.slot)).disconnect_now(number);
        self.gone(id.slot);
    }
}
