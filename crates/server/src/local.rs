//! Connections within the process: a real client of the protocol without a socket, for the game that
//! embeds the server, its tests and its bots. The same bounds hold as on any other transport: a client
//! that sends faster than the server reads waits, and one that does not read is closed as too slow.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding};
use tokio::sync::mpsc;

use crate::metrics::Transport;
use crate::server::{Server, ServerError};
use crate::transport::{self, Incoming, Peer, PeerGone, Sink, Source};

/// Messages under way in each direction before the sender waits; about what a socket's buffers hold.
const UNDER_WAY_MAX: usize = 16;

/// A connection to a server in this process. Dropping it is what a cut is to a socket.
#[derive(Debug)]
pub struct Local {
    up: LocalSender,
    down: LocalReceiver,
}

/// The half that sends. The connection is over when either half is dropped.
#[derive(Clone, Debug)]
pub struct LocalSender {
    up: mpsc::Sender<Bytes>,
    code: Arc<OnceLock<CloseCode>>,
}

/// The half that receives.
#[derive(Debug)]
pub struct LocalReceiver {
    down: mpsc::Receiver<Bytes>,
    code: Arc<OnceLock<CloseCode>>,
}

/// The connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalClosed {
    /// The server's last word, if it said one.
    pub code: Option<CloseCode>,
}

impl fmt::Display for LocalClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "closed: {}", rejoin_wire::close::row(code).name),
            None => write!(f, "the connection is gone"),
        }
    }
}

impl std::error::Error for LocalClosed {}

impl Local {
    /// Sends one encoded frame; waits while the server is busy.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn send(&self, frame: impl Into<Bytes>) -> Result<(), LocalClosed> {
        self.up.send(frame).await
    }

    /// The next encoded frame.
    ///
    /// # Errors
    /// The connection is over, and everything that came before has been taken.
    pub async fn recv(&mut self) -> Result<Bytes, LocalClosed> {
        self.down.recv().await
    }

    /// Both halves, for two tasks.
    #[must_use]
    pub fn split(self) -> (LocalSender, LocalReceiver) {
        (self.up, self.down)
    }
}

impl LocalSender {
    /// Sends one encoded frame; waits while the server is busy.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn send(&self, frame: impl Into<Bytes>) -> Result<(), LocalClosed> {
        let sent = self.up.send(frame.into()).await;
        sent.map_err(|_| LocalClosed { code: self.code.get().copied() })
    }
}

impl LocalReceiver {
    /// The next encoded frame. May be dropped and asked again without losing one.
    ///
    /// # Errors
    /// The connection is over, and everything that came before has been taken.
    pub async fn recv(&mut self) -> Result<Bytes, LocalClosed> {
        let code = &self.code;
        self.down.recv().await.ok_or_else(|| LocalClosed { code: code.get().copied() })
    }
}

impl Server {
    /// A connection within this process, whose frames are written in this encoding. It starts with
    /// the server's challenge, as every connection does.
    ///
    /// # Errors
    /// The server has stopped.
    pub fn connect_local(&self, encoding: Encoding) -> Result<Local, ServerError> {
        if self.is_stopping() {
            return Err(ServerError::Stopped);
        }
        let (up, incoming) = mpsc::channel(UNDER_WAY_MAX);
        let (outgoing, down) = mpsc::channel(UNDER_WAY_MAX);
        let code = Arc::new(OnceLock::new());
        let message_bytes_max = self.0.limits.client_frame_bytes(encoding);
        let source = LocalSource { incoming, message_bytes_max };
        let sink = LocalSink { outgoing: Some(outgoing), code: code.clone() };
        let peer = Peer { transport: Transport::Local, address: None, is_encrypted: false };
        tokio::spawn(transport::serve(source, sink, encoding, peer, self.clone()));
        let up = LocalSender { up, code: code.clone() };
        Ok(Local { up, down: LocalReceiver { down, code } })
    }
}

struct LocalSource {
    incoming: mpsc::Receiver<Bytes>,
    message_bytes_max: usize,
}

impl Source for LocalSource {
    const MUST_BE_READ_OUT: bool = false;

    async fn next(&mut self) -> Incoming {
        let max = self.message_bytes_max;
        match self.incoming.recv().await {
            Some(message) if message.len() > max => {
                let len = message.len();
                Incoming::Broken(DecodeError::TooLarge { field: "frame", len, max })
            }
            Some(message) => Incoming::Message(message),
            None => Incoming::Gone,
        }
    }
}

struct LocalSink {
    /// None once the last word is said.
    outgoing: Option<mpsc::Sender<Bytes>>,
    code: Arc<OnceLock<CloseCode>>,
}

impl Sink for LocalSink {
    async fn feed(&mut self, message: Bytes) -> Result<(), PeerGone> {
        let Some(outgoing) = &self.outgoing else { return Err(PeerGone) };
        outgoing.send(message).await.map_err(|_| PeerGone)
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        Ok(())
    }

    async fn close(&mut self, code: CloseCode) -> Result<(), PeerGone> {
        let _ = self.code.set(code);
        self.outgoing = None;
        Ok(())
    }
}
