//! One connection by ENet: how it is opened, with a cookie for the server's guard, and how frames go
//! through it. ENet has no task of its own: it is looked after whenever the connection is polled, and a
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
use rejoin_wire::enet::datagram::{Datagram, Kind};
use rejoin_wire::enet::{self, CHANNELS, Cookie, QUESTION_BYTES, UNRELIABLE};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{Encoding, Limits, close};
use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};
use tokio::net::UdpSocket;
use tokio::time::{Instant, Sleep};

use super::address::Address;
use super::line::{News, OUTGOING_MAX};

/// An open connection.
pub(super) struct Enet {
    host: Host<Held>,
    peer: PeerID,
    socket: Arc<UdpSocket>,
    incoming: VecDeque<Bytes>,
    /// How it ended, if it did.
    over: Option<Option<CloseCode>>,
    tick: Pin<Box<Sleep>>,
    /// One clone in every frame that the server has not acknowledged to ENet.
    under_way: Arc<()>,
}

/// How often ENet is looked after while something is under way, and otherwise.
const TICKS: (Duration, Duration) = (Duration::from_millis(15), Duration::from_millis(100));
/// How long the first question for a cookie waits for its answer; each next one twice as long.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long one of several addresses of a name is tried.
const TRIED_FOR: Duration = Duration::from_secs(2);
/// Without a sign of life ENet gives the server up between these.
const SILENCE_MS: (u32, u32) = (5_000, 10_000);
/// ENet's own measure of tries.
const TRIES: u32 = 32;
/// What ENet may keep that cannot be given out yet; one frame more may begin.
const EARLY_BYTES_MAX: usize = 1 << 20;
/// Times that a poll begins anew before others have their turn.
const TURNS_MAX: usize = 16;

/// The socket: a connect is sent with its cookie, and while the game does not take its events no
/// message is let in, which the server then sends again.
struct Held {
    socket: Arc<UdpSocket>,
    server: SocketAddr,
    cookie: Cookie,
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
    pub(super) async fn open(address: &Address, limits: &Limits) -> io::Result<Self> {
        let known: Vec<_> = tokio::net::lookup_host(address.lookup()).await?.collect();
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for (left, server) in known.iter().enumerate().map(|(at, it)| (known.len() - at - 1, it)) {
            let asked = ask(*server);
            let answered = match left {
                0 => asked.await,
                _ => tokio::time::timeout(TRIED_FOR, asked)
                    .await
                    .unwrap_or_else(|late| Err(late.into())),
            };
            match answered {
                Ok((socket, cookie)) => {
                    return Self::connect(socket, *server, cookie, limits).await;
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect(
        socket: UdpSocket,
        server: SocketAddr,
        cookie: Cookie,
        limits: &Limits,
    ) -> io::Result<Self> {
        let socket = Arc::new(socket);
        let held = Held { socket: socket.clone(), server, cookie, is_held: false };
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
        set.map_err(|error| io::Error::other(error.to_string()))?;
        let peer = host.connect(server, CHANNELS, 0).map_err(io::Error::other)?;
        peer.set_timeout(TRIES, SILENCE_MS.0, SILENCE_MS.1);
        let peer = peer.id();
        let mut line = Self {
            host,
            peer,
            socket,
            incoming: VecDeque::new(),
            over: None,
            tick: Box::pin(tokio::time::sleep(TICKS.0)),
            under_way: Arc::new(()),
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
            self.host.socket_mut().is_held = !may_read || !self.incoming.is_empty();
            self.service();
            if may_read {
                if let Some(frame) = self.incoming.pop_front() {
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
                    self.incoming.push_back(Bytes::copy_from_slice(packet.data()));
                }
                Err(_) => self.over = Some(None),
            }
        }
    }
}

/// A socket that leads to the server, and the server's cookie for it. A server that is not there gives
/// no answer, or the system says so.
async fn ask(server: SocketAddr) -> io::Result<(UdpSocket, Cookie)> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    let mut patience = PATIENCE;
    loop {
        socket.send(&enet::question()).await?;
        let mut room = [0; QUESTION_BYTES];
        if let Ok(read) = tokio::time::timeout(patience, socket.recv(&mut room)).await
            && let Some(cookie) = enet::read_answer(&room[..read?])
        {
            return Ok((socket, cookie));
        }
        patience *= 2;
    }
}

impl Socket for Held {
    type Address = SocketAddr;
    type Error = io::Error;

    fn send(&mut self, _: SocketAddr, bytes: &[u8]) -> io::Result<usize> {
        let is_connect = Datagram::read(bytes).is_some_and(|datagram| datagram.is_from_stranger);
        let sent = match is_connect {
            true => self.socket.try_send(&enet::with_cookie(&self.cookie, bytes)),
            false => self.socket.try_send(bytes),
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
    let is_message = |kind| !matches!(kind, Kind::Acknowledge { .. } | Kind::Control);
    let commands = Datagram::read(bytes).map(|datagram| datagram.commands());
    let first = commands.into_iter().flatten().find(|command| is_message(command.kind));
    first.map_or(bytes.len(), |command| command.at)
}
