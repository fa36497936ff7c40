//! One connection by ENet: how it is opened, with a cookie for the server's guard and a key of the
//! server's that is believed, and how frames go through it. ENet has no task of its own: it is looked after whenever the connection is polled, and a
//! timer sees to it that this is often enough.

use std::collections::VecDeque;
use std::future::Future as _;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use rejoin_seal::{Channel, Opening, PublicKey, SEAL_BYTES};
use rejoin_wire::enet::datagram::Datagram;
use rejoin_wire::enet::{self, Answer, CHANNELS, Cookie, Offer, UNRELIABLE};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{Encoding, Limits, close};
use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};
use tokio::net::UdpSocket;
use tokio::time::{Instant, Sleep};

use super::address::Address;
use super::line::{Known, News, OUTGOING_MAX};
use super::options::Encryption;

/// An open connection.
pub(super) struct Enet {
    host: Host<Held>,
    peer: PeerID,
    socket: Arc<UdpSocket>,
    incoming: VecDeque<Bytes>,
    /// The bytes of all frames in `incoming`; from [`INCOMING_BYTES_MAX`] on the socket gives no more.
    incoming_bytes: usize,
    /// How it ended, if it did.
    over: Option<Option<CloseCode>>,
    tick: Pin<Box<Sleep>>,
    /// One clone in every frame that the server has not acknowledged to ENet.
    under_way: Arc<()>,
    /// The server's key, if it was not known before.
    pub(super) learned: Option<PublicKey>,
}

/// How often ENet is looked after while something is under way, and otherwise.
const TICKS: (Duration, Duration) = (Duration::from_millis(15), Duration::from_millis(100));
/// How long the first question for a cookie waits for its answer; each next one twice as long.
const PATIENCE: Duration = Duration::from_millis(150);
/// How long one of several addresses of a name is tried.
const TRIED_FOR: Duration = Duration::from_secs(2);
/// Without a sign of life ENet gives the server up between these.
const SILENCE_MS: (u32, u32) = (5_000, 10_000);
/// ENet's own measure of tries.
const TRIES: u32 = 32;
/// What ENet may keep that cannot be given out yet: more than the largest frame and what else a server has
/// under way, because ENet would refuse what all the rest waits for as well.
const EARLY_BYTES_MAX: usize = 4 << 20;
/// Frames that wait for the game before no more is let in: twice what a server has unacknowledged by our
/// own window. Beyond that the server says them again, each time after twice as long.
const INCOMING_BYTES_MAX: usize = 1 << 20;
/// What the system may keep of datagrams while nobody looks, as far as it lets us.
const SOCKET_BYTES: usize = 1 << 20;
/// The largest datagram of ENet: what every network carries.
const DATAGRAM_BYTES: u16 = 1_392;
/// Room for any datagram before the connection.
const ANSWER_ROOM: usize = 256;
/// Times that a poll begins anew before others have their turn.
const TURNS_MAX: usize = 16;

/// The socket: a connect is sent with its cookie, and while too much waits for the game no message is let
/// in, which the server then sends again.
struct Held {
    socket: Arc<UdpSocket>,
    server: SocketAddr,
    cookie: Cookie,
    /// What datagrams are sealed with, if they are.
    channel: Option<Channel>,
    is_held: bool,
}

/// A frame under way.
struct Frame {
    bytes: Bytes,
    _under_way: Arc<()>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Enet {
    /// Until ENet has made its connection.
    pub(super) async fn open(address: &Address, limits: &Limits, known: Known) -> io::Result<Self> {
        let addresses: Vec<_> = tokio::net::lookup_host(address.lookup()).await?.collect();
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for (at, server) in addresses.iter().enumerate() {
            let asked = ask(*server);
            let answered = match at + 1 < addresses.len() {
                true => {
                    let asked = tokio::time::timeout(TRIED_FOR, asked).await;
                    asked.unwrap_or_else(|late| Err(late.into()))
                }
                false => asked.await,
            };
            match answered {
                Ok((socket, answer)) => {
                    let sealed = seal(&socket, &answer, known).await?;
                    return Self::connect(socket, *server, (answer.cookie, sealed), limits).await;
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect(
        socket: UdpSocket,
        server: SocketAddr,
        (cookie, sealed): (Cookie, Option<Sealed>),
        limits: &Limits,
    ) -> io::Result<Self> {
        let socket = Arc::new(socket);
        let (channel, learned) = sealed.map_or((None, None), |(channel, key)| (Some(channel), key));
        let bytes =
            if channel.is_some() { DATAGRAM_BYTES - SEAL_BYTES as u16 } else { DATAGRAM_BYTES };
        let held = Held { socket: socket.clone(), server, cookie, channel, is_held: false };
        let start = std::time::Instant::now();
        let settings = HostSettings {
            peer_limit: 1,
            channel_limit: CHANNELS,
            // Zero would stand for never.
            time: Box::new(move || start.elapsed() + Duration::from_millis(1)),
            ..HostSettings::default()
        };
        let mut host =
            Host::new(held, settings).map_err(|error| io::Error::other(error.to_string()))?;
        let largest = limits.server_frame_bytes(Encoding::Protobuf);
        let set = host.set_maximum_packet_size(largest);
        let set = set.and_then(|()| host.set_maximum_waiting_data(EARLY_BYTES_MAX));
        let set = set.and_then(|()| host.set_mtu(bytes));
        set.map_err(|error| io::Error::other(error.to_string()))?;
        let peer = host.connect(server, CHANNELS, 0).map_err(io::Error::other)?;
        peer.set_timeout(TRIES, SILENCE_MS.0, SILENCE_MS.1);
        let peer = peer.id();
        let mut line = Self {
            host,
            peer,
            socket,
            incoming: VecDeque::new(),
            incoming_bytes: 0,
            over: None,
            tick: Box::pin(tokio::time::sleep(TICKS.0)),
            under_way: Arc::new(()),
            learned,
        };
        std::future::poll_fn(|cx| line.poll_connected(cx)).await?;
        Ok(line)
    }

    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.service();
            if self.over.is_some() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()));
            }
            if self.host.peer(self.peer).connected() {
                return Poll::Ready(Ok(()));
            }
            std::task::ready!(self.poll_rest(cx, TICKS.0));
        }
    }

    pub(super) fn push(&mut self, frame: Bytes) {
        let channel = enet::channel_of_client(&frame);
        let frame = Box::new(Frame { bytes: frame, _under_way: self.under_way.clone() });
        let packet = match channel {
            UNRELIABLE => Packet::unreliable(frame),
            _ => Packet::reliable(frame),
        };
        // Not taken: the connection is over, which is told when it is polled.
        let _ = self.host.peer_mut(self.peer).send(channel, &packet);
    }

    pub(super) fn is_behind(&self) -> bool {
        Arc::strong_count(&self.under_way) > OUTGOING_MAX
    }

    /// Sends what waits, says why, and lets go.
    pub(super) fn close(mut self, code: Option<CloseCode>) {
        self.host.flush();
        let code = code.map_or(0, |code| u32::from(close::status(code)));
        self.host.peer_mut(self.peer).disconnect_now(code);
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>, may_read: bool) -> Poll<News> {
        for _ in 0..TURNS_MAX {
            self.host.socket_mut().is_held = self.incoming_bytes >= INCOMING_BYTES_MAX;
            self.service();
            if may_read {
                if let Some(frame) = self.incoming.pop_front() {
                    self.incoming_bytes -= frame.len();
                    return Poll::Ready(News::Frame(frame));
                }
                if let Some(code) = self.over {
                    return Poll::Ready(News::Closed(code));
                }
            }
            let is_busy = Arc::strong_count(&self.under_way) > 1;
            std::task::ready!(self.poll_rest(cx, if is_busy { TICKS.0 } else { TICKS.1 }));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ready when ENet wants to be looked after again.
    fn poll_rest(&mut self, cx: &mut Context<'_>, tick: Duration) -> Poll<()> {
        if self.socket.poll_recv_ready(cx).is_ready() {
            return Poll::Ready(());
        }
        let next = Instant::now() + tick;
        if self.tick.deadline() > next {
            self.tick.as_mut().reset(next);
        }
        std::task::ready!(self.tick.as_mut().poll(cx));
        self.tick.as_mut().reset(next);
        Poll::Ready(())
    }

    fn service(&mut self) {
        while self.over.is_none() {
            match self.host.service() {
                Ok(None) => return,
                Ok(Some(Event::Connect { .. })) => {}
                Ok(Some(Event::Disconnect { data, .. })) => {
                    self.over = Some(u16::try_from(data).ok().and_then(close::from_status));
                }
                Ok(Some(Event::Receive { packet, .. })) => {
                    self.incoming_bytes += packet.data().len();
                    self.incoming.push_back(Bytes::copy_from_slice(packet.data()));
                }
                Err(_) => self.over = Some(None),
            }
        }
    }
}

/// What seals, and the server's key if that is new.
type Sealed = (Channel, Option<PublicKey>);

/// A socket that leads to the server, and what the server answers there. A server that is not there gives
/// no answer, or the system says so.
async fn ask(server: SocketAddr) -> io::Result<(UdpSocket, Answer)> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(SOCKET_BYTES);
    socket.connect(server).await?;
    let answer = exchange(&socket, &enet::question(), Answer::read).await?;
    Ok((socket, answer))
}

/// Says something until it is answered; other datagrams are none of ours.
async fn exchange<T>(
    socket: &UdpSocket,
    said: &[u8],
    read: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<T> {
    let mut patience = PATIENCE;
    loop {
        socket.send(said).await?;
        let mut room = [0; ANSWER_ROOM];
        let answered = async {
            loop {
                let len = socket.recv(&mut room).await?;
                if let Some(answer) = read(&room[..len]) {
                    return io::Result::Ok(answer);
                }
            }
        };
        if let Ok(answer) = tokio::time::timeout(patience, answered).await {
            return answer;
        }
        patience *= 2;
    }
}

/// Agrees on encryption with the server, or on none.
async fn seal(socket: &UdpSocket, answer: &Answer, known: Known) -> io::Result<Option<Sealed>> {
    let is_wanted = known.encryption == Encryption::Required || known.key.is_some();
    match (answer.offer, known.encryption) {
        (Offer::Sealed, Encryption::Off) => {
            return Err(refused("the server lets nobody in without encryption, which is off here"));
        }
        (Offer::Plain, _) if is_wanted && known.encryption != Encryption::Off => {
            return Err(refused("the server does not encrypt, and it must or did before"));
        }
        (Offer::Plain, _) | (_, Encryption::Off) => return Ok(None),
        (Offer::Either | Offer::Sealed, _) => {}
    }
    let (opening, first) = Opening::begin(&answer.write()).map_err(io::Error::other)?;
    let said = enet::begin(&answer.cookie, &first);
    let second = exchange(socket, &said, |read| enet::read_begun(read).map(<[u8]>::to_vec)).await?;
    let (channel, key) = opening.finish(&second).map_err(io::Error::other)?;
    match known.key {
        Some(before) if before != key => Err(refused(
            "the server shows another key than it must: it is another server, or somebody stands \
             between; if it was given a new key, forget the stored one",
        )),
        Some(_) => Ok(Some((channel, None))),
        None => Ok(Some((channel, Some(key)))),
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

impl Held {
    /// Opens a datagram where it is; none if it is not from the server.
    fn opened(&mut self, buffer: &mut [u8; MTU_MAX], len: usize) -> Option<usize> {
        let Some(channel) = &mut self.channel else { return Some(len) };
        let mut plain = [0; MTU_MAX];
        let len = channel.open(&buffer[..len], &mut plain)?;
        buffer[..len].copy_from_slice(&plain[..len]);
        Some(len)
    }
}

impl Socket for Held {
    type Address = SocketAddr;
    type Error = io::Error;

    fn send(&mut self, _: SocketAddr, bytes: &[u8]) -> io::Result<usize> {
        let is_connect = Datagram::read(bytes).is_some_and(|datagram| datagram.is_from_stranger);
        let sent = match &mut self.channel {
            Some(channel) => match channel.seal(bytes) {
                Some(sealed) => self.socket.try_send(&sealed),
                None => return Err(io::Error::other("it cannot be sealed")),
            },
            None if is_connect => self.socket.try_send(&enet::with_cookie(&self.cookie, bytes)),
            None => self.socket.try_send(bytes),
        };
        match sent {
            Ok(_) => Ok(bytes.len()),
            // As good as lost on the way.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> io::Result<Option<(SocketAddr, PacketReceived)>> {
        match self.socket.try_recv(buffer) {
            Ok(len) => {
                let Some(len) = self.opened(buffer, len) else {
                    return Ok(Some((self.server, PacketReceived::Partial)));
                };
                let len = if self.is_held { without_messages(&buffer[..len]) } else { len };
                Ok(Some((self.server, PacketReceived::Complete(len))))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How long a datagram is up to its first message: what stands before it has arrived all the same.
fn without_messages(bytes: &[u8]) -> usize {
    Datagram::read(bytes).map_or(bytes.len(), |datagram| datagram.bytes_before_messages())
}
