//! One WebSocket: how it is opened, and how frames go through it. Reads and writes are polled
//! together, so that a peer which does not read cannot keep this side from hearing. Buffers are small
//! and messages bounded: a server cannot make a client hold more than its limits say.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Sink as _, Stream as _};
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding, Limits, close};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error, ProtocolError};
use tokio_tungstenite::tungstenite::http::{HeaderValue, Uri};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::line::{News, OUTGOING_MAX};
use super::pipe::Pipe;

/// An open WebSocket and what waits to be written on it.
pub(super) struct WebSocket {
    stream: WebSocketStream<Pipe>,
    encoding: Encoding,
    outgoing: VecDeque<Message>,
    is_flushed: bool,
    /// The peer takes nothing more; what it said before that is still to be read.
    is_mute: bool,
}

/// Small buffers: the defaults are 128 KiB a connection, most of it never touched.
const BUFFER_BYTES: usize = 4_096;
impl WebSocket {
    /// The handshake, on bytes that lead to the server.
    pub(super) async fn open(
        pipe: Pipe,
        uri: &Uri,
        encoding: Encoding,
        limits: &Limits,
    ) -> Result<Self, Box<Error>> {
        let mut request = uri.clone().into_client_request()?;
        let subprotocol = HeaderValue::from_static(encoding.subprotocol());
        request.headers_mut().insert("Sec-WebSocket-Protocol", subprotocol);
        let message_max = limits.server_frame_bytes(encoding);
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_write_buffer_size(2 * (BUFFER_BYTES + limits.client_frame_bytes(encoding)))
            .max_message_size(Some(message_max))
            .max_frame_size(Some(message_max));
        // The handshake fails when the server does not agree on the subprotocol.
        let (stream, _) = client_async_with_config(request, pipe, Some(config)).await?;
        Ok(Self { stream, encoding, outgoing: VecDeque::new(), is_flushed: true, is_mute: false })
    }

    /// Takes a frame to be written.
    pub(super) fn push(&mut self, frame: Bytes) {
        let message = match self.encoding {
            Encoding::Protobuf => Message::Binary(frame),
            Encoding::Json => match Utf8Bytes::try_from(frame.clone()) {
                Ok(text) => Message::Text(text),
                Err(_) => Message::Binary(frame),
            },
        };
        self.outgoing.push_back(message);
    }

    /// Whether the peer is so far behind that nothing should be added that can be left out.
    pub(super) fn is_behind(&self) -> bool {
        self.outgoing.len() >= OUTGOING_MAX
    }

    /// Says why, as far as the peer takes it at once, and lets go.
    pub(super) async fn close(mut self, code: Option<CloseCode>) {
        let frame = code.map(|code| CloseFrame {
            code: close::status(code).into(),
            reason: Utf8Bytes::default(),
        });
        self.outgoing.push_back(Message::Close(frame));
        self.is_flushed = false;
        let _ = std::future::poll_fn(|cx| Poll::Ready(self.poll_write(cx))).await;
    }

    /// Writes what can be written and gives what came; reads only while `may_read`.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, may_read: bool) -> Poll<News> {
        if let Poll::Ready(Err(_)) = self.poll_write(cx) {
            // The reason, or a last word, is on the other side of the pipe.
            self.is_mute = true;
            self.outgoing.clear();
        }
        while may_read && !self.is_behind() {
            let heard = std::task::ready!(Pin::new(&mut self.stream).poll_next(cx));
            match heard {
                Some(Ok(Message::Binary(bytes))) => return Poll::Ready(News::Frame(bytes)),
                Some(Ok(Message::Text(text))) => return Poll::Ready(News::Frame(text.into())),
                Some(Ok(Message::Close(frame))) => {
                    let status = frame.map(|frame| u16::from(frame.code));
                    return Poll::Ready(News::Closed(status.and_then(close::from_status)));
                }
                // Answered below this; our own heartbeat is in frames.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Poll::Ready(news_of(&error)),
                None => return Poll::Ready(News::Closed(None)),
            }
        }
        Poll::Pending
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.is_mute {
            self.outgoing.clear();
            return Poll::Ready(Ok(()));
        }
        let mut stream = Pin::new(&mut self.stream);
        while !self.outgoing.is_empty() {
            std::task::ready!(stream.as_mut().poll_ready(cx))?;
            if let Some(message) = self.outgoing.pop_front() {
                self.is_flushed = false;
                stream.as_mut().start_send(message)?;
            }
        }
        if !self.is_flushed {
            std::task::ready!(stream.as_mut().poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}

/// A connection that broke is an ordinary ending; what is no WebSocket is the peer's fault.
fn news_of(error: &Error) -> News {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            let (len, max) = (*size, *max_size);
            News::Garbled(DecodeError::TooLarge { field: "frame", len, max })
        }
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => News::Closed(None),
        Error::Protocol(_) | Error::Capacity(_) | Error::Utf8(_) => {
            News::Garbled(DecodeError::Malformed { column: 0 })
        }
        _ => News::Closed(None),
    }
}
