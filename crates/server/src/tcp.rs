//! TCP as a transport: each frame after its length, as `rejoin_wire::framing` cuts it, always
//! protobuf. There is no close code of its own: the farewell is the last frame before the end.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding, Framer, FramingError, prefix};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::accept_guard::AcceptPermit;
use crate::listener::{accept_rest, until_stopping};
use crate::metrics::Transport;
use crate::proxies::AddressBlock;
use crate::proxy_header::{HEAD_BYTES, ProxyHeaderStart};
use crate::server::Server;
use crate::tls::Tls;
use crate::transport::{self, Incoming, Peer, PeerGone, Sink, Source};

/// How the door for byte streams is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// Proxies that give the client's address in a header of version 2 of the PROXY protocol. A connection
    /// from there must begin with one; from anywhere else such a header is no frame.
    pub trusted_proxies: Vec<AddressBlock>,
    /// From the accept to the end of that header.
    pub header_deadline: Duration,
    /// The certificate to speak TLS with; none: connections are not encrypted.
    pub tls: Option<Tls>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        let header_deadline = Duration::from_millis(5_000);
        Self { trusted_proxies: Vec::new(), header_deadline, tls: None }
    }
}

/// So much is read at once, which every connection has room for.
const READ_BYTES: usize = 2 << 10;
/// So much is gathered before it is written.
const WRITE_BYTES: usize = 4 << 10;

impl Server {
    /// Accepts players on a socket for byte streams until the server stops.
    pub async fn listen_tcp(&self, listener: TcpListener, config: TcpConfig) {
        let mut stopping = self.0.stopping.subscribe();
        loop {
            let accepted = tokio::select! {
                () = until_stopping(&mut stopping) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => self.meet(socket, peer, &config),
                Err(error) => accept_rest(&self.0.sight, &error).await,
            }
        }
    }

    /// A socket was accepted. Who has had its share is let go before anything is read.
    fn meet(&self, socket: TcpStream, peer: SocketAddr, config: &TcpConfig) {
        let address = peer.ip().to_canonical();
        let is_proxy = config.trusted_proxies.iter().any(|block| block.contains(address));
        let permit = match is_proxy {
            true => None,
            false => match self.0.accept_guard.admit(address) {
                Ok(permit) => Some(permit),
                Err(refusal) => return self.0.sight.refused(address, &refusal),
            },
        };
        let (server, config) = (self.clone(), config.clone());
        tokio::spawn(async move { server.welcome(socket, address, permit, config).await });
    }

    async fn welcome(
        self,
        mut socket: TcpStream,
        mut address: IpAddr,
        mut permit: Option<AcceptPermit>,
        config: TcpConfig,
    ) {
        // Small frames must not wait for company.
        let _ = socket.set_nodelay(true);
        if permit.is_none() {
            let Ok(Some(named)) = timeout(config.header_deadline, named(&mut socket)).await else {
                return;
            };
            address = named.unwrap_or(address);
            permit = match self.0.accept_guard.admit(address) {
                Ok(permit) => Some(permit),
                Err(refusal) => return self.0.sight.refused(address, &refusal),
            };
        }
        let is_encrypted = config.tls.is_some();
        let peer = Peer { transport: Transport::Tcp, address: Some(address), is_encrypted };
        match config.tls {
            None => {
                let (read, write) = socket.into_split();
                Box::pin(serve(read, write, peer, self)).await;
            }
            Some(tls) => {
                let Some(stream) = Box::pin(tls.accept_stream(socket)).await else { return };
                let (read, write) = tokio::io::split(stream);
                Box::pin(serve(read, write, peer, self)).await;
            }
        }
        drop(permit);
    }
}

/// Whom a proxy speaks for: itself, if it says so. None: it sent no such header.
async fn named(socket: &mut TcpStream) -> Option<Option<IpAddr>> {
    let mut head = [0; HEAD_BYTES];
    socket.read_exact(&mut head).await.ok()?;
    let head = ProxyHeaderStart::read(&head).ok()?;
    let mut rest = vec![0; head.rest_bytes];
    socket.read_exact(&mut rest).await.ok()?;
    head.client(&rest).ok()
}

fn serve(
    read: impl AsyncRead + Send + Unpin,
    write: impl AsyncWrite + Send + Unpin,
    peer: Peer,
    server: Server,
) -> impl Future<Output = ()> + Send {
    let limits = server.0.limits;
    let source = StreamSource {
        read,
        framer: Framer::new(limits.before_hello().client_frame_bytes(Encoding::Protobuf)),
        chunk: BytesMut::new(),
        frame_bytes_max: limits.client_frame_bytes(Encoding::Protobuf),
    };
    let sink = StreamSink { write, waiting: BytesMut::new() };
    transport::serve(source, sink, Encoding::Protobuf, peer, server)
}

struct StreamSource<R> {
    read: R,
    framer: Framer,
    /// What was read and the framer has not taken yet.
    chunk: BytesMut,
    /// Once a first frame has come; it must be the hello.
    frame_bytes_max: usize,
}

impl<R: AsyncRead + Send + Unpin> Source for StreamSource<R> {
    async fn next(&mut self) -> Incoming {
        loop {
            match self.framer.next() {
                Ok(Some(frame)) => {
                    self.framer.allow(self.frame_bytes_max);
                    return Incoming::Message(frame);
                }
                Ok(None) => {}
                Err(FramingError::TooLarge { len, max }) => {
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    return Incoming::Broken(DecodeError::TooLarge { field: "frame", len, max });
                }
                Err(_) => return Incoming::Broken(DecodeError::Malformed { column: 0 }),
            }
            if self.chunk.is_empty() {
                self.chunk.reserve(READ_BYTES);
                match self.read.read_buf(&mut self.chunk).await {
                    Ok(0) | Err(_) => return Incoming::Gone,
                    Ok(_) => {}
                }
            }
            let taken = self.framer.push(&self.chunk);
            self.chunk.advance(taken);
        }
    }
}

struct StreamSink<W> {
    write: W,
    waiting: BytesMut,
}

impl<W: AsyncWrite + Send + Unpin> StreamSink<W> {
    async fn write_waiting(&mut self) -> Result<(), PeerGone> {
        // What was written is taken out at once: this may be given up in between.
        while !self.waiting.is_empty() {
            match self.write.write_buf(&mut self.waiting).await {
                Ok(0) | Err(_) => return Err(PeerGone),
                Ok(_) => {}
            }
        }
        if self.waiting.capacity() > WRITE_BYTES {
            self.waiting = BytesMut::new();
        }
        Ok(())
    }
}

impl<W: AsyncWrite + Send + Unpin> Sink for StreamSink<W> {
    async fn feed(&mut self, message: Bytes) -> Result<(), PeerGone> {
        prefix(&message, &mut self.waiting).map_err(|_| PeerGone)?;
        if self.waiting.len() >= WRITE_BYTES { self.write_waiting().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        self.write_waiting().await?;
        self.write.flush().await.map_err(|_| PeerGone)
    }

    async fn close(&mut self, _code: CloseCode) -> Result<(), PeerGone> {
        self.flush().await?;
        self.write.shutdown().await.map_err(|_| PeerGone)
    }
}
