//! A client of the shipped server, one task each: a WebSocket, a guest that the server mints, and the
//! frames that attackers and honest players send. It keeps what a resume needs and nothing else.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use bytes::{Buf, Bytes, BytesMut};
use rejoin_wire::{Encoding, Limits, decode_server, encode_client, v1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::load::frame;

/// A frame that takes longer than this is an error of the run, not a latency.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client acknowledges after so many numbered frames, and after so long, as our own clients do. One that owes an
/// acknowledgement for ten seconds is closed as too slow, and its session would be held for a minute.
const ACK_EVERY: u32 = 16;
const ACK_DELAY: Duration = Duration::from_millis(200);

/// One connection and the session behind it.
pub(super) struct Client {
    socket: TcpStream,
    read: BytesMut,
    /// The next number of a numbered frame.
    pub(super) next: u64,
    leg: u64,
    seq: u64,
    unacked: u32,
    /// When the first frame came that is not acknowledged.
    owes_since: Option<Instant>,
    /// An attacker that acknowledges nothing makes the server keep what it says.
    pub(super) acknowledges: bool,
}

impl Client {
    /// Opens a WebSocket from one of the loopback addresses.
    pub(super) async fn dial(at: SocketAddr, from: Ipv4Addr) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let mut socket = socket.connect(at).await?;
        socket.set_nodelay(true)?;
        socket.write_all(frame::upgrade(&at.to_string(), "/play").as_bytes()).await?;
        let mut read = BytesMut::with_capacity(4_096);
        loop {
            if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                if !read.starts_with(b"HTTP/1.1 101") {
                    let head = String::from_utf8_lossy(&read[..end]);
                    bail!("not upgraded: {}", head.lines().next().unwrap_or_default());
                }
                read.advance(end + 4);
                let acknowledges = true;
                return Ok(Self {
                    socket,
                    read,
                    next: 1,
                    leg: 0,
                    seq: 0,
                    unacked: 0,
                    owes_since: None,
                    acknowledges,
                });
            }
            if socket.read_buf(&mut read).await? == 0 {
                bail!("closed during the upgrade");
            }
        }
    }

    /// Dials and logs in as a new guest.
    pub(super) async fn enter(at: SocketAddr, from: Ipv4Addr) -> Result<Self> {
        let mut client = Self::dial(at, from).await?;
        let identity = v1::login::Identity::Mint(v1::MintSecret {});
        let login = v1::Login { identity: Some(identity), fresh: false };
        client.hello(v1::hello::Purpose::Login(login)).await?;
        loop {
            match client.frame().await? {
                v1::server_frame::Frame::Welcome(welcome) => {
                    client.leg = welcome.leg;
                    return Ok(client);
                }
                v1::server_frame::Frame::Challenge(_) | v1::server_frame::Frame::Notice(_) => {}
                other => bail!("not welcomed: {other:?}"),
            }
        }
    }

    /// Says hello.
    pub(super) async fn hello(&mut self, purpose: v1::hello::Purpose) -> Result<()> {
        let hello = v1::Hello {
            version: rejoin_wire::VERSION,
            server_name: "127.0.0.1".to_owned(),
            purpose: Some(purpose),
            ..v1::Hello::default()
        };
        self.send(v1::client_frame::Frame::Hello(hello)).await
    }

    /// Joins a room of the relay and waits for the answer; false when it was refused.
    pub(super) async fn join(&mut self, name: &str, payload: &'static [u8]) -> Result<bool> {
        let to = self.next;
        self.say(up_join(name, payload)).await?;
        loop {
            if let v1::server_frame::Frame::Down(down) = self.frame().await? {
                match down.body {
                    Some(v1::down::Body::Joined(joined)) => {
                        self.leg = joined.leg;
                        return Ok(true);
                    }
                    Some(v1::down::Body::Refused(refused)) if refused.to == to => {
                        return Ok(false);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Asks the relay for an echo and waits for it.
    pub(super) async fn echo(&mut self) -> Result<()> {
        let to = self.next;
        self.say(up_message(b"{\"echo\":{}}\nx", true)).await?;
        loop {
            if let v1::server_frame::Frame::Down(down) = self.frame().await?
                && let Some(v1::down::Body::Reply(reply)) = down.body
                && reply.to == to
            {
                return Ok(());
            }
        }
    }

    /// Sends a numbered frame.
    pub(super) async fn say(&mut self, body: v1::up::Body) -> Result<()> {
        let seq = self.next;
        self.next += 1;
        self.send(v1::client_frame::Frame::Up(v1::Up { seq, body: Some(body) })).await
    }

    async fn send(&mut self, frame: v1::client_frame::Frame) -> Result<()> {
        let frame = encode_client(Encoding::Protobuf, &v1::ClientFrame { frame: Some(frame) })?;
        let mut out = Vec::with_capacity(frame.len() + 14);
        frame::put_message(&mut out, &frame);
        Ok(self.socket.write_all(&out).await?)
    }

    /// Sends WebSocket pings, as many as asked, in one write.
    pub(super) async fn ping(&mut self, count: usize) -> Result<()> {
        let one = [0x89, 0x80, 0, 0, 0, 0];
        Ok(self.socket.write_all(&one.repeat(count)).await?)
    }

    /// Reads and answers what comes until then: whoever answers no pings is disconnected.
    pub(super) async fn stay(&mut self, until: Instant) -> Result<()> {
        while let Ok(frame) = tokio::time::timeout_at(until, self.frame()).await {
            frame?;
        }
        Ok(())
    }

    /// Reads and answers what has come, and waits for nothing.
    pub(super) async fn catch_up(&mut self) -> Result<()> {
        while let Ok(frame) = tokio::time::timeout(Duration::ZERO, self.frame()).await {
            frame?;
        }
        self.acknowledge_if_due().await
    }

    /// The next frame. Pings are answered, numbered frames are acknowledged.
    pub(super) async fn frame(&mut self) -> Result<v1::server_frame::Frame> {
        loop {
            let whole = frame::message(&self.read)
                .map(|found| (found.kind, Bytes::copy_from_slice(found.payload), found.length));
            let Some((kind, payload, length)) = whole else {
                let owes = self.owes_since.is_some();
                let read = self.socket.read_buf(&mut self.read);
                match tokio::time::timeout(if owes { ACK_DELAY } else { PATIENCE }, read).await {
                    Err(_) if owes => {
                        self.acknowledge().await?;
                        continue;
                    }
                    Ok(Ok(0)) => bail!("closed by the server"),
                    Ok(count) => {
                        count?;
                        continue;
                    }
                    Err(_) => bail!("nothing came for {} s", PATIENCE.as_secs()),
                }
            };
            self.read.advance(length);
            match kind {
                2 => {}
                8 => bail!("closed by the server"),
                _ => continue,
            }
            let decoded = decode_server(Encoding::Protobuf, payload, &Limits::DEFAULT)?;
            match decoded.frame.ok_or_else(|| anyhow!("an empty frame"))? {
                v1::server_frame::Frame::Ping(ping) => {
                    let pong = v1::Pong { nonce: ping.nonce };
                    self.send(v1::client_frame::Frame::Pong(pong)).await?;
                }
                v1::server_frame::Frame::Farewell(farewell) => {
                    bail!("farewell: {:?} {}", farewell.code(), farewell.text);
                }
                v1::server_frame::Frame::Refusal(refusal) => {
                    bail!("refused: {:?} {}", refusal.code(), refusal.text);
                }
                frame => {
                    self.note(&frame).await?;
                    return Ok(frame);
                }
            }
        }
    }

    async fn note(&mut self, frame: &v1::server_frame::Frame) -> Result<()> {
        let v1::server_frame::Frame::Down(down) = frame else { return Ok(()) };
        self.seq = down.seq;
        match &down.body {
            Some(v1::down::Body::Joined(joined)) => self.leg = joined.leg,
            Some(v1::down::Body::Refused(refused)) if refused.leg != 0 => self.leg = refused.leg,
            _ => {}
        }
        if self.acknowledges {
            self.unacked += 1;
            self.owes_since.get_or_insert_with(Instant::now);
        }
        self.acknowledge_if_due().await
    }

    async fn acknowledge_if_due(&mut self) -> Result<()> {
        let is_late = self.owes_since.is_some_and(|since| since.elapsed() >= ACK_DELAY);
        if is_late || self.unacked >= ACK_EVERY { self.acknowledge().await } else { Ok(()) }
    }

    async fn acknowledge(&mut self) -> Result<()> {
        (self.unacked, self.owes_since) = (0, None);
        let ack = v1::Position { leg: self.leg, seq: self.seq };
        self.send(v1::client_frame::Frame::Ack(ack)).await
    }
}

/// A join that opens the room if it is not there.
pub(super) fn up_join(name: &str, payload: &'static [u8]) -> v1::up::Body {
    v1::up::Body::Join(v1::Join {
        kind: "relay".to_owned(),
        name: name.to_owned(),
        create: true,
        payload: Bytes::from_static(payload),
        ..v1::Join::default()
    })
}

/// A message to the relay.
pub(super) fn up_message(payload: &'static [u8], wants_reply: bool) -> v1::up::Body {
    let payload = Bytes::from_static(payload);
    v1::up::Body::Message(v1::Message { payload, wants_reply, ..v1::Message::default() })
}
