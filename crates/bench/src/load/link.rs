//! One connection of the generator: its socket, how far it has come, and what it remembers to come
//! back with.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

use anyhow::{Result, bail};
use bytes::Bytes;
use mio::net::TcpStream;
use rejoin_wire::{Encoding, v1};
use socket2::{Domain, Protocol, Socket, Type};
use tokio_rustls::rustls::ClientConnection;

use super::frame;

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// There is no socket.
    Off,
    /// The request is out or on its way.
    Upgrading,
    /// The server has agreed; a hello is to be said.
    Greeting,
    /// The zone has not answered.
    Joining,
    /// It is where it was asked to be.
    Live,
}

/// What a session is come back to with.
#[derive(Clone, Default)]
pub(crate) struct Ticket {
    pub(crate) session: u64,
    pub(crate) epoch: u64,
    pub(crate) token: Bytes,
    pub(crate) leg: u64,
    /// The last numbered frame that was heard.
    pub(crate) seq: u64,
    /// The next number that is sent.
    pub(crate) next_up: u64,
}

/// One connection.
pub(crate) struct Link {
    pub(crate) stage: Stage,
    pub(super) socket: Option<TcpStream>,
    /// Between the socket and all that is said, where that is encrypted.
    tls: Option<Box<ClientConnection>>,
    /// What came and is no whole message.
    pub(super) partial: Vec<u8>,
    /// What could not be written yet.
    pending: Vec<u8>,
    pub(super) ticket: Ticket,
    /// Numbered frames since the last acknowledgement.
    pub(super) unacked: u32,
    /// When it was dialled.
    pub(crate) dialled: u64,
    /// Says hello with its ticket.
    pub(super) returns: bool,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Off,
            socket: None,
            tls: None,
            partial: Vec::new(),
            pending: Vec::new(),
            ticket: Ticket { next_up: 1, ..Ticket::default() },
            unacked: 0,
            dialled: 0,
            returns: false,
        }
    }

    /// Starts to connect from one of our addresses.
    pub(super) fn open(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        tls: Option<ClientConnection>,
    ) -> Result<()> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.bind(&from.into())?;
        match socket.connect(&to.into()) {
            Ok(()) => {}
            // EINPROGRESS has no kind of its own.
            Err(error)
                if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => bail!("a connection could not be begun: {error}"),
        }
        self.socket = Some(TcpStream::from_std(socket.into()));
        self.tls = tls.map(Box::new);
        self.stage = Stage::Upgrading;
        self.partial.clear();
        self.pending.clear();
        self.unacked = 0;
        Ok(())
    }

    /// The peer hears a reset, as when a cable is pulled and the system gives up.
    pub(super) fn reset(&mut self) {
        if let Some(socket) = self.socket.take() {
            let socket = Socket::from(std::net::TcpStream::from(socket));
            // If it fails the connection ends in another way.
            let _ = socket.set_linger(Some(std::time::Duration::ZERO));
        }
        self.tls = None;
        self.stage = Stage::Off;
        self.partial = Vec::new();
    }

    /// Writes, or keeps what does not fit for later. False: the connection is gone.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        if let Some(tls) = &mut self.tls {
            return tls.writer().write_all(bytes).is_ok() && self.push_tls();
        }
        if !self.pending.is_empty() {
            self.pending.extend_from_slice(bytes);
            return true;
        }
        let Some(socket) = &mut self.socket else { return false };
        match socket.write(bytes) {
            Ok(written) => self.pending.extend_from_slice(&bytes[written..]),
            Err(error) if is_later(error.kind()) => self.pending.extend_from_slice(bytes),
            Err(_) => return false,
        }
        true
    }

    /// Writes what waits. False: the connection is gone.
    pub(super) fn flush(&mut self) -> bool {
        if self.tls.is_some() {
            return self.push_tls();
        }
        let bytes = std::mem::take(&mut self.pending);
        bytes.is_empty() || self.write(&bytes)
    }

    /// Reads what is there. None: the connection is gone.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.tls.is_some() {
            return self.read_tls(buffer);
        }
        match self.socket.as_mut()?.read(buffer) {
            Ok(0) => None,
            Ok(count) => Some(count),
            Err(error) if is_later(error.kind()) => Some(0),
            Err(_) => None,
        }
    }

    /// Writes what is encrypted and waits. False: the connection is gone.
    fn push_tls(&mut self) -> bool {
        let (Some(tls), Some(socket)) = (&mut self.tls, &mut self.socket) else { return false };
        while tls.wants_write() {
            match tls.write_tls(socket) {
                Ok(_) => {}
                Err(error) => return is_later(error.kind()),
            }
        }
        true
    }

    /// Reads what is there, and answers what the handshake asks.
    fn read_tls(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (tls, socket) = (self.tls.as_mut()?, self.socket.as_mut()?);
        let mut is_over = false;
        while tls.wants_read() {
            match tls.read_tls(socket) {
                Ok(0) => {
                    is_over = true;
                    break;
                }
                Ok(_) => {
                    tls.process_new_packets().ok()?;
                }
                Err(error) if is_later(error.kind()) => break,
                Err(_) => return None,
            }
        }
        let count = match tls.reader().read(buffer) {
            Ok(count) => count,
            Err(error) if is_later(error.kind()) => 0,
            Err(_) => return None,
        };
        (self.push_tls() && !(is_over && count == 0)).then_some(count)
    }

    /// The hello that brings in a stranger, or somebody back.
    pub(super) fn hello(&self, mints: bool) -> Bytes {
        let purpose = if self.returns {
            let Ticket { session, epoch, token, leg, seq, next_up } = self.ticket.clone();
            v1::hello::Purpose::Resume(v1::Resume {
                session,
                token,
                epoch,
                key: None,
                cold: false,
                position: Some(v1::Position { leg, seq }),
                oldest_unacked: next_up,
            })
        } else {
            let identity = if mints {
                v1::login::Identity::Mint(v1::MintSecret {})
            } else {
                v1::login::Identity::Anonymous(v1::Anonymous {})
            };
            v1::hello::Purpose::Login(v1::Login { identity: Some(identity), fresh: false })
        };
        let hello = v1::Hello {
            version: rejoin_wire::VERSION,
            server_name: "127.0.0.1".to_owned(),
            purpose: Some(purpose),
            ..v1::Hello::default()
        };
        encoded(v1::client_frame::Frame::Hello(hello))
    }

    /// A request to join, which takes a number.
    pub(super) fn join(&mut self, kind: &str, name: String) -> Bytes {
        let join = v1::Join { kind: kind.to_owned(), name, create: true, ..Default::default() };
        let seq = self.ticket.next_up;
        self.ticket.next_up += 1;
        encoded(v1::client_frame::Frame::Up(v1::Up { seq, body: Some(v1::up::Body::Join(join)) }))
    }

    /// Sends a frame as a message.
    pub(super) fn say(&mut self, frame: &[u8]) -> bool {
        let mut out = Vec::with_capacity(frame.len() + 14);
        frame::put_message(&mut out, frame);
        self.write(&out)
    }
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}

fn encoded(frame: v1::client_frame::Frame) -> Bytes {
    let frame = v1::ClientFrame { frame: Some(frame) };
    // Protobuf can always be written.
    rejoin_wire::encode_client(Encoding::Protobuf, &frame).unwrap_or_default()
}
