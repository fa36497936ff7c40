//! ENet on a loopback port, as the suite sees it: ENet itself, with the cookie before its connect.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use rejoin_server::{EnetConfig, Server};
use rejoin_wire::enet::datagram::Datagram;
use rejoin_wire::enet::{self, Answer, CHANNELS, Cookie, QUESTION_BYTES};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{Encoding, close};
use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::dial::{Door, Line, Transport};

#[derive(Clone, Copy)]
pub(crate) struct Datagrams;

pub(crate) struct DatagramDoor(SocketAddr);

/// Its other end is a task, so that ENet is looked after while nobody reads. It ends with this.
pub(crate) struct DatagramLine {
    outgoing: mpsc::Sender<Bytes>,
    incoming: mpsc::Receiver<Bytes>,
    code: Arc<OnceLock<CloseCode>>,
    task: JoinHandle<()>,
}

impl Drop for DatagramLine {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Keeper {
    host: Host<Stamped>,
    peer: PeerID,
    outgoing: mpsc::Receiver<Bytes>,
    incoming: mpsc::Sender<Bytes>,
    code: Arc<OnceLock<CloseCode>>,
    /// One clone in every message that is not acknowledged yet.
    unacked: Arc<()>,
}

/// The socket: a connect is sent with its cookie, and while nobody reads, no message is let in.
struct Stamped {
    socket: Arc<UdpSocket>,
    cookie: Cookie,
    is_held: bool,
}

struct Message(Bytes, #[expect(dead_code, reason = "it is counted")] Arc<()>);

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Messages under way before the next one waits.
const UNDER_WAY_MAX: usize = 512;
/// Messages that wait for whoever reads before no more are let in; ENet may have some already.
const UNREAD_MAX: usize = 16;
const ROOM_MAX: usize = 1 << 16;

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
        let stamped = Stamped { socket, cookie, is_held: false };
        let mut host = Host::new(stamped, settings).expect("good");
        let peer = host.connect(self.0, CHANNELS, 0).expect("a slot").id();
        let (outgoing, orders) = mpsc::channel(1);
        let (heard, incoming) = mpsc::channel(ROOM_MAX);
        let code = Arc::new(OnceLock::new());
        let unacked = Arc::new(());
        let keeper =
            Keeper { host, peer, outgoing: orders, incoming: heard, code: code.clone(), unacked };
        DatagramLine { outgoing, incoming, code, task: tokio::spawn(keeper.run()) }
    }
}

async fn cookie(socket: &UdpSocket, server: SocketAddr) -> Cookie {
    loop {
        socket.send_to(&enet::question(), server).await.expect("it is sent");
        let mut room = [0; QUESTION_BYTES];
        let answer = tokio::time::timeout(Duration::from_millis(500), socket.recv(&mut room)).await;
        if let Ok(Ok(len)) = answer {
            return Answer::read(&room[..len]).expect("an answer").cookie;
        }
    }
}

impl Keeper {
    async fn run(mut self) {
        let socket = self.host.socket().socket.clone();
        let mut is_open = true;
        while is_open {
            self.host.socket_mut().is_held = ROOM_MAX - self.incoming.capacity() > UNREAD_MAX;
            is_open = self.service();
            let is_connected = self.host.peer(self.peer).connected();
            let may_send = is_connected && Arc::strong_count(&self.unacked) <= UNDER_WAY_MAX;
            tokio::select! {
                message = self.outgoing.recv(), if may_send => match message {
                    Some(message) => self.send(message),
                    None => return,
                },
                _ = socket.readable() => {}
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    }

    fn send(&mut self, message: Bytes) {
        let channel = enet::channel_of_client(&message);
        let packet = Packet::reliable(Box::new(Message(message, self.unacked.clone())));
        let _ = self.host.peer_mut(self.peer).send(channel, &packet);
        self.host.flush();
    }

    /// False: it is over.
    fn service(&mut self) -> bool {
        while let Some(event) = self.host.service().expect("loopback") {
            match event {
                Event::Connect { .. } => {}
                Event::Disconnect { data, .. } => {
                    let code = u16::try_from(data).ok().and_then(close::from_status);
                    code.map(|code| self.code.set(code));
                    return false;
                }
                Event::Receive { packet, .. } => {
                    let bytes = Bytes::copy_from_slice(packet.data());
                    self.incoming.try_send(bytes).expect("more than was let in");
                }
            }
        }
        true
    }
}

impl Line for DatagramLine {
    async fn send(&mut self, message: Bytes) -> bool {
        self.outgoing.send(message).await.is_ok()
    }

    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>> {
        self.incoming.recv().await.ok_or_else(|| self.code.get().copied())
    }
}

impl Socket for Stamped {
    type Address = SocketAddr;
    type Error = std::io::Error;

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
        let is_connect = bytes[0] & 0x0f == 0x0f && bytes[1] == 0xff;
        let sent = match is_connect {
            true => self.socket.try_send_to(&enet::with_cookie(&self.cookie, bytes), to),
            false => self.socket.try_send_to(bytes, to),
        };
        Ok(sent.map_or(0, |_| bytes.len()))
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> std::io::Result<Option<(SocketAddr, PacketReceived)>> {
        match self.socket.try_recv_from(buffer) {
            Ok((len, from)) => {
                let len = if self.is_held { without_messages(&buffer[..len]) } else { len };
                Ok(Some((from, PacketReceived::Complete(len))))
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How long a datagram is up to its first message.
fn without_messages(bytes: &[u8]) -> usize {
    Datagram::read(bytes).map_or(bytes.len(), |datagram| datagram.bytes_before_messages())
}
