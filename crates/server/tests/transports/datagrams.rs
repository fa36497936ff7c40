//! ENet on a loopback port, as the suite sees it: ENet itself, the cookie before its connect, and
//! nothing that is looked after while nobody reads or sends.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rejoin_server::{EnetConfig, Server};
use rejoin_wire::enet::{self, CHANNELS, Cookie, QUESTION_BYTES};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{Encoding, close};
use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};
use tokio::net::UdpSocket;

use crate::dial::{Door, Line, Transport};

#[derive(Clone, Copy)]
pub(crate) struct Datagrams;

pub(crate) struct DatagramDoor(SocketAddr);

pub(crate) struct DatagramLine {
    host: Host<Stamped>,
    socket: Arc<UdpSocket>,
    peer: PeerID,
    incoming: VecDeque<Bytes>,
    /// How it ended.
    ended: Option<Option<CloseCode>>,
    /// One clone in every message that is not acknowledged yet.
    unacked: Arc<()>,
}

/// The socket: a connect is sent with its cookie.
struct Stamped(Arc<UdpSocket>, Cookie);

struct Message(Bytes, #[expect(dead_code, reason = "it is counted")] Arc<()>);

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Messages under way before the next one waits.
const UNACKED_MAX: usize = 16;

impl Transport for Datagrams {
    type Line = DatagramLine;
    type Door = DatagramDoor;
    const ENCODINGS: &[Encoding] = &[Encoding::Protobuf];

    async fn open(self, server: &Server) -> DatagramDoor {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let at = socket.local_addr().expect("it is bound");
        let listening = server.clone();
        tokio::spawn(async move { listening.listen_enet(socket, EnetConfig::default()).await });
        DatagramDoor(at)
    }
}

impl Door for DatagramDoor {
    type Line = DatagramLine;

    async fn dial(&self, _: Encoding) -> DatagramLine {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a free port"));
        let cookie = cookie(&socket, self.0).await;
        let settings = HostSettings { peer_limit: 1, ..HostSettings::default() };
        let mut host = Host::new(Stamped(socket.clone(), cookie), settings).expect("good");
        let peer = host.connect(self.0, CHANNELS, 0).expect("a slot").id();
        let (incoming, unacked) = (VecDeque::new(), Arc::new(()));
        let mut line = DatagramLine { host, socket, peer, incoming, ended: None, unacked };
        while !line.host.peer(line.peer).connected() {
            assert!(line.ended.is_none(), "let in");
            line.look_after().await;
        }
        line
    }
}

async fn cookie(socket: &UdpSocket, server: SocketAddr) -> Cookie {
    loop {
        socket.send_to(&enet::question(), server).await.expect("it is sent");
        let mut room = [0; QUESTION_BYTES];
        let answer = tokio::time::timeout(Duration::from_millis(500), socket.recv(&mut room)).await;
        if let Ok(Ok(len)) = answer {
            return enet::read_answer(&room[..len]).expect("an answer");
        }
    }
}

impl DatagramLine {
    /// Lets ENet do what it has to, and waits a little if that was nothing.
    async fn look_after(&mut self) {
        let mut is_idle = true;
        while let Some(event) = self.host.service().expect("loopback") {
            is_idle = false;
            match event {
                Event::Connect { .. } => {}
                Event::Disconnect { data, .. } => {
                    let status = u16::try_from(data).expect("a close code");
                    self.ended = Some(close::from_status(status));
                }
                Event::Receive { packet, .. } => {
                    self.incoming.push_back(Bytes::copy_from_slice(packet.data()));
                }
            }
        }
        if is_idle {
            let wait = tokio::time::timeout(Duration::from_millis(5), self.socket.readable());
            let _ = wait.await;
        }
    }
}

impl Line for DatagramLine {
    async fn send(&mut self, message: Bytes) -> bool {
        while self.ended.is_none() && Arc::strong_count(&self.unacked) > UNACKED_MAX {
            self.look_after().await;
        }
        let channel = enet::channel_of_client(&message);
        let packet = Packet::reliable(Box::new(Message(message, self.unacked.clone())));
        let sent = self.host.peer_mut(self.peer).send(channel, &packet).is_ok();
        self.host.flush();
        sent
    }

    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>> {
        loop {
            if let Some(bytes) = self.incoming.pop_front() {
                return Ok(bytes);
            }
            if let Some(code) = self.ended {
                return Err(code);
            }
            self.look_after().await;
        }
    }
}

impl Socket for Stamped {
    type Address = SocketAddr;
    type Error = std::io::Error;

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
        let is_connect = bytes[0] & 0x0f == 0x0f && bytes[1] == 0xff;
        let sent = match is_connect {
            true => self.0.try_send_to(&enet::with_cookie(&self.1, bytes), to),
            false => self.0.try_send_to(bytes, to),
        };
        Ok(sent.map_or(0, |_| bytes.len()))
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> std::io::Result<Option<(SocketAddr, PacketReceived)>> {
        match self.0.try_recv_from(buffer) {
            Ok((len, from)) => Ok(Some((from, PacketReceived::Complete(len)))),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
