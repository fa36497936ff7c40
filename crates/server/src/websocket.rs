//! WebSocket as a transport: one message is one frame, binary for protobuf and text for JSON.

#[cfg(test)]
mod conformance;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rejoin_core::hub::FrameKind;
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding, close};

use crate::server::Server;
use crate::transport::{self, Incoming, Peer, PeerGone, Sink, Source};

/// The buffer for reading, which every connection has. The library's own is 128 KiB.
const READ_BUFFER_BYTES: usize = 2 << 10;
/// So much is gathered before it is written; only what waits is allocated.
const WRITE_BUFFER_BYTES: usize = 4 << 10;

/// Gives the library its bounds; its own are none, or far too wide. No message that comes in is larger
/// than the first, none that goes out larger than the second.
pub(crate) fn bounded(
    upgrade: WebSocketUpgrade,
    heard_bytes_max: usize,
    said_bytes_max: usize,
) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        // A message is buffered whole before the library says that it would block.
        .max_write_buffer_size(WRITE_BUFFER_BYTES + 2 * said_bytes_max)
        .max_message_size(heard_bytes_max)
        .max_frame_size(heard_bytes_max)
}

/// Serves one connection until it is over. Not `async` itself: the socket is split before the future
/// begins, so that every connection carries it once.
pub(crate) fn serve(
    socket: WebSocket,
    encoding: Encoding,
    peer: Peer,
    server: Server,
) -> impl Future<Output = ()> + Send {
    let message_bytes_max = server.0.limits.client_frame_bytes(encoding);
    let (sink, stream) = socket.split();
    let source = WebSource { stream, message_bytes_max };
    transport::serve(source, WebSink { sink, encoding }, encoding, peer, server)
}

struct WebSource {
    stream: SplitStream<WebSocket>,
    /// The longest message that the WebSocket library takes, as it was set.
    message_bytes_max: usize,
}

impl Source for WebSource {
    async fn next(&mut self) -> Incoming {
        loop {
            return match self.stream.next().await {
                Some(Ok(Message::Binary(bytes))) => Incoming::Message(bytes),
                Some(Ok(Message::Text(text))) => Incoming::Message(Bytes::from(text)),
                // Pings are answered by the library; here they are charged.
                Some(Ok(Message::Ping(bytes))) => Incoming::Control(FrameKind::Ping, bytes.len()),
                Some(Ok(Message::Pong(bytes))) => Incoming::Control(FrameKind::Pong, bytes.len()),
                Some(Ok(Message::Close(_))) => continue,
                Some(Err(error)) => violation(&error, self.message_bytes_max),
                None => Incoming::Gone,
            };
        }
    }
}

/// What a fault of the library is in the words of the wire.
fn violation(error: &axum::Error, max: usize) -> Incoming {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<tungstenite::Error>() {
            return match error {
                tungstenite::Error::Capacity(
                    tungstenite::error::CapacityError::MessageTooLong { size, .. },
                ) => Incoming::Broken(DecodeError::TooLarge { field: "frame", len: *size, max }),
                tungstenite::Error::Utf8(_) => {
                    Incoming::Broken(DecodeError::Malformed { column: 0 })
                }
                tungstenite::Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                ) => Incoming::Gone,
                tungstenite::Error::Protocol(_) => {
                    Incoming::Broken(DecodeError::Malformed { column: 0 })
                }
                _ => Incoming::Gone,
            };
        }
        source = error.source();
    }
    Incoming::Gone
}

struct WebSink {
    sink: SplitSink<WebSocket, Message>,
    encoding: Encoding,
}

impl Sink for WebSink {
    async fn feed(&mut self, message: Bytes) -> Result<(), PeerGone> {
        let message = match self.encoding {
            Encoding::Protobuf => Message::Binary(message),
            // Our own text; a frame of another kind would be our own fault.
            Encoding::Json => Message::Text(Utf8Bytes::try_from(message).map_err(|_| PeerGone)?),
        };
        self.sink.feed(message).await.map_err(|_| PeerGone)
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        self.sink.flush().await.map_err(|_| PeerGone)
    }

    async fn close(&mut self, code: CloseCode) -> Result<(), PeerGone> {
        let reason = Utf8Bytes::from_static(close::row(code).name);
        let last = Message::Close(Some(CloseFrame { code: close::status(code), reason }));
        self.sink.send(last).await.map_err(|_| PeerGone)
    }
}
