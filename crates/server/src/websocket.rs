//! A WebSocket as a connection: one task with two halves. One reads, decodes and hands frames to the
//! hub; the other takes frames from the connection's queue and writes as many as wait at once.
//!
//! Nothing here decides anything: whatever is wrong with a frame is told to the hub as such.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rejoin_core::hub::HubInput;
use rejoin_core::id::ConnectionId;
use rejoin_core::session::Serializer;
use rejoin_wire::v1::{CloseCode, client_frame};
use rejoin_wire::{DecodeError, Encoding, Limits, SharedFrame, close, decode_client};
use tokio::time::{sleep, timeout};

use crate::clock::Clock;
use crate::lines::{LineState, Outgoing, Outlet};
use crate::mailbox::{Mail, OuterDoor};
use crate::metrics::Transport;
use crate::server::Server;
use crate::sight::Sight;

/// Buffers for reading and for writing. The library's own are 128 KiB, a connection.
pub(crate) const BUFFER_BYTES: usize = 4 << 10;
/// How long a connection that was told its last word has to take it, and to close its end.
const LINGER: Duration = Duration::from_secs(2);
/// Frames that are written together when they wait.
const FRAMES_PER_FLUSH: usize = 64;

/// Serves one connection until it is over.
pub(crate) async fn serve(
    socket: WebSocket,
    encoding: Encoding,
    server: Server,
    address: std::net::IpAddr,
) {
    let shared = &server.0;
    let (connection, mut outlet) = shared.lines.open();
    shared.sight.opened(&outlet.state.seen, Transport::WebSocket, address);
    let serializer = match encoding {
        Encoding::Protobuf => Serializer::Protobuf,
        Encoding::Json => Serializer::Json,
    };
    let opened = Mail::Input(HubInput::Opened { connection, serializer });
    if shared.outer.send(opened).await.is_ok() {
        let (mut sink, stream) = socket.split();
        let state = outlet.state.clone();
        let reader = Reader {
            connection,
            encoding,
            limits: shared.limits,
            clock: shared.clock,
            hub: &shared.outer,
            state: &state,
            sight: &shared.sight,
        };
        let reading = reader.run(stream);
        tokio::pin!(reading);
        tokio::select! {
            () = &mut reading => {}
            () = write(&mut sink, &mut outlet, encoding, (connection, &shared.sight)) => {
                // What the peer still sends is read: a socket closed over unread bytes is reset, and
                // our last words with it. One that does not read needs no such care.
                if !state.is_overflowed() {
                    let _ = timeout(LINGER, reading).await;
                }
            }
        }
    }
    shared.lines.remove(connection);
    shared.sight.closed(connection, &outlet.state);
    let code = outlet.state.is_overflowed().then_some(CloseCode::TooSlow);
    let _ = shared.outer.send(Mail::Input(HubInput::Closed { connection, code })).await;
}

/// The half that reads.
struct Reader<'a> {
    connection: ConnectionId,
    encoding: Encoding,
    limits: Limits,
    clock: Clock,
    hub: &'a OuterDoor,
    state: &'a LineState,
    sight: &'a Sight,
}

impl Reader<'_> {
    /// Reads until the peer is gone or breaks the transport's own rules.
    async fn run(self, mut stream: SplitStream<WebSocket>) {
        let mut limits = self.limits.before_hello();
        loop {
            let pause = self.state.pause(self.clock);
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let bytes = match stream.next().await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Text(text))) => Bytes::from(text),
                // Control frames are answered by the library.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_))) => continue,
                Some(Err(error)) => return self.broken(&error).await,
                None => return,
            };
            let len = bytes.len();
            let is_shown = self.sight.received(self.connection, &self.state.seen, len);
            let shown = is_shown.then(|| bytes.clone());
            let frame = decode_client(self.encoding, bytes, &limits);
            if let Some(bytes) = shown {
                self.sight.show_received(&self.state.seen, &frame, &bytes);
            }
            if let Ok(frame) = &frame
                && matches!(frame.frame, Some(client_frame::Frame::Hello(_)))
            {
                limits = self.limits;
            }
            let connection = self.connection;
            let input = HubInput::Received { connection, frame, bytes: len };
            if self.hub.send(Mail::Input(input)).await.is_err() {
                return;
            }
        }
    }

    /// The library gave up on the bytes. A message over the limit has a name of its own; then the
    /// connection stays until the hub's farewell is out.
    async fn broken(&self, error: &axum::Error) {
        let Some(frame) = violation(error, self.limits.client_frame_bytes(self.encoding)) else {
            return;
        };
        let connection = self.connection;
        let input = HubInput::Received { connection, frame: Err(frame), bytes: 0 };
        if self.hub.send(Mail::Input(input)).await.is_ok() {
            let _ = timeout(LINGER, self.state.ending()).await;
            // The writer ends first and this half is then dropped.
            sleep(LINGER).await;
        }
    }
}

/// What a fault of the transport is in the words of the wire; none: the peer is just gone.
fn violation(error: &axum::Error, max: usize) -> Option<DecodeError> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<tungstenite::Error>() {
            return match error {
                tungstenite::Error::Capacity(
                    tungstenite::error::CapacityError::MessageTooLong { size, .. },
                ) => Some(DecodeError::TooLarge { field: "frame", len: *size, max }),
                tungstenite::Error::Utf8(_) => Some(DecodeError::Malformed { column: 0 }),
                tungstenite::Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                ) => None,
                tungstenite::Error::Protocol(_) => Some(DecodeError::Malformed { column: 0 }),
                _ => None,
            };
        }
        source = error.source();
    }
    None
}

/// The half that writes, until the last word is out or the peer cannot be written to.
async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    outlet: &mut Outlet,
    encoding: Encoding,
    seen_by: (ConnectionId, &Sight),
) {
    let state = outlet.state.clone();
    let ended = async {
        state.ending().await;
        if !state.is_overflowed() {
            sleep(LINGER).await;
        }
    };
    let all_written = tokio::select! {
        written = write_queue(sink, outlet, encoding, seen_by) => written,
        () = ended => false,
    };
    if !all_written && state.is_overflowed() {
        // The peer does not read: most likely this is not heard either.
        let _ = timeout(LINGER / 10, sink.send(closing(CloseCode::TooSlow))).await;
    }
}

async fn write_queue(
    sink: &mut SplitSink<WebSocket, Message>,
    outlet: &mut Outlet,
    encoding: Encoding,
    (connection, sight): (ConnectionId, &Sight),
) -> bool {
    while let Some(first) = outlet.queue.recv().await {
        let mut next = Some(first);
        let mut more = FRAMES_PER_FLUSH;
        while let Some(outgoing) = next {
            let frame = match outgoing {
                Outgoing::Frame(frame) => frame,
                Outgoing::Close(code) => return sink.send(closing(code)).await.is_ok(),
            };
            outlet.state.written(frame.len());
            let Some(message) = message(&frame, encoding) else { return false };
            sight.sent(connection, &outlet.state.seen, &frame, bytes_of(&message));
            if sink.feed(message).await.is_err() {
                return false;
            }
            more -= 1;
            next = if more > 0 { outlet.queue.try_recv().ok() } else { None };
        }
        if sink.flush().await.is_err() {
            return false;
        }
    }
    true
}

/// The frame in its connection's encoding; none if it cannot be written, which is our own fault.
fn message(frame: &SharedFrame, encoding: Encoding) -> Option<Message> {
    let bytes = match frame.bytes(encoding) {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::error!(%error, "a frame could not be written");
            return None;
        }
    };
    match encoding {
        Encoding::Protobuf => Some(Message::Binary(bytes)),
        Encoding::Json => Utf8Bytes::try_from(bytes).ok().map(Message::Text),
    }
}

fn bytes_of(message: &Message) -> &[u8] {
    match message {
        Message::Text(text) => text.as_bytes(),
        Message::Binary(bytes) => bytes,
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => &[],
    }
}

fn closing(code: CloseCode) -> Message {
    let reason = Utf8Bytes::from_static(close::row(code).name);
    Message::Close(Some(CloseFrame { code: close::status(code), reason }))
}
