//! One connection, whatever it is made of: how it is dialled, and how frames go through it.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding, Limits};

use super::address::Address;
#[cfg(feature = "enet")]
use super::enet::Enet;
use super::options::Encryption;
use super::pipe;
use super::stream::Stream;
use super::trust::Trust;
use super::websocket::WebSocket;

/// What came of a connection.
pub(super) enum News {
    /// The bytes of a frame.
    Frame(Bytes),
    /// The peer closed it, or it broke.
    Closed(Option<CloseCode>),
    /// Something came that is no message.
    Garbled(DecodeError),
}

/// Frames that wait to be written before nothing more is read: what is read may need an answer.
pub(super) const OUTGOING_MAX: usize = 2_048;

/// What is known of the server before it has said anything, for datagrams.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "enet"), expect(dead_code, reason = "only datagrams need to know"))]
pub(super) struct Known {
    pub encryption: Encryption,
    pub key: Option<[u8; 32]>,
}

/// An open connection.
pub(super) enum Line {
    Web(Box<WebSocket>),
    Stream(Box<Stream>),
    #[cfg(feature = "enet")]
    Enet(Box<Enet>),
}

/// Tries the addresses one after the other, each for its share of the time.
pub(super) async fn dial(
    addresses: Vec<Address>,
    (trust, known): (Trust, Known),
    encoding: Encoding,
    limits: Limits,
    time: Duration,
) -> Result<Line, String> {
    let share = time / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut failure = "there is no address to dial".to_owned();
    for address in addresses {
        let opened = open(&address, (&trust, known), encoding, &limits);
        match tokio::time::timeout(share, opened).await {
            Ok(Ok(line)) => return Ok(line),
            Ok(Err(error)) => failure = format!("{}: {error}", address.uri),
            Err(_) => failure = format!("{}: no answer in time", address.uri),
        }
    }
    Err(failure)
}

async fn open(
    address: &Address,
    (trust, known): (&Trust, Known),
    encoding: Encoding,
    limits: &Limits,
) -> Result<Line, String> {
    #[cfg(not(feature = "enet"))]
    let _ = known;
    #[cfg(feature = "enet")]
    if address.scheme.is_enet {
        let line = Enet::open(address, limits, known).await.map_err(|error| error.to_string())?;
        return Ok(Line::Enet(Box::new(line)));
    }
    let pipe = pipe::open(address, trust).await.map_err(|error| error.to_string())?;
    if !address.scheme.is_web {
        return Ok(Line::Stream(Box::new(Stream::new(pipe, limits))));
    }
    let socket = WebSocket::open(pipe, &address.uri, encoding, limits).await;
    socket.map(|socket| Line::Web(Box::new(socket))).map_err(|error| error.to_string())
}

impl Line {
    /// The key of a server that was not known before.
    pub(super) fn learned(&self) -> Option<[u8; 32]> {
        match self {
            Self::Web(_) | Self::Stream(_) => None,
            #[cfg(feature = "enet")]
            Self::Enet(enet) => enet.learned,
        }
    }

    /// Takes a frame to be written.
    pub(super) fn push(&mut self, frame: Bytes) {
        match self {
            Self::Web(socket) => socket.push(frame),
            Self::Stream(stream) => stream.push(&frame),
            #[cfg(feature = "enet")]
            Self::Enet(enet) => enet.push(frame),
        }
    }

    /// Whether the peer is so far behind that nothing should be added that can be left out.
    pub(super) fn is_behind(&self) -> bool {
        match self {
            Self::Web(socket) => socket.is_behind(),
            Self::Stream(stream) => stream.is_behind(),
            #[cfg(feature = "enet")]
            Self::Enet(enet) => enet.is_behind(),
        }
    }

    /// Writes what can be written and gives what came; reads only while `may_read`.
    pub(super) async fn next(&mut self, may_read: bool) -> News {
        std::future::poll_fn(|cx| match self {
            Self::Web(socket) => socket.poll(cx, may_read),
            Self::Stream(stream) => stream.poll(cx, may_read),
            #[cfg(feature = "enet")]
            Self::Enet(enet) => enet.poll(cx, may_read),
        })
        .await
    }

    /// Says why, as far as there is a way to say it and the peer takes it at once, and lets go.
    pub(super) async fn close(self, code: Option<CloseCode>) {
        match self {
            Self::Web(socket) => socket.close(code).await,
            Self::Stream(stream) => stream.close().await,
            #[cfg(feature = "enet")]
            Self::Enet(enet) => enet.close(code),
        }
    }
}
