//! The line itself: a WebSocket to `/v1/hosts/line`, opened with the host's key. Messages are bounded,
//! and a line on which nothing is heard for a while is gone.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rejoin_client::driver::{Endpoint, Pipe};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::error::HostEnd;

const PATH: &str = "/v1/hosts/line";
/// A Game with all the data it may have is smaller.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// For the whole way from the name to the upgrade.
const DIAL_WITHIN: Duration = Duration::from_secs(10);
/// How long a message may take to be taken by the other end.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// Between two signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// Without any: the line is gone.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// An open line.
pub(crate) struct Line {
    stream: WebSocketStream<Pipe>,
    beats: Interval,
    heard_at: Instant,
}

/// Why no line could be opened, and so whether the driver tries again.
pub(crate) enum NoLine {
    /// Another attempt may find one.
    Later,
    /// The server does not want this host.
    Never(HostEnd),
}

/// The line is gone.
pub(crate) struct Gone;

impl Line {
    pub(crate) async fn open(endpoint: Endpoint, key: HeaderValue) -> Result<Self, NoLine> {
        let opened = timeout(DIAL_WITHIN, Self::dial(&endpoint, key)).await;
        let stream = opened.map_err(|_| NoLine::Later)??;
        let mut beats = interval(BEAT_EVERY);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { stream, beats, heard_at: Instant::now() })
    }

    async fn dial(endpoint: &Endpoint, key: HeaderValue) -> Result<WebSocketStream<Pipe>, NoLine> {
        let uri = endpoint.uri(PATH).ok_or(NoLine::Later)?;
        let mut request = uri.into_client_request().map_err(|_| NoLine::Later)?;
        request.headers_mut().insert(AUTHORIZATION, key);
        let pipe = endpoint.dial().await.map_err(|_| NoLine::Later)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        match client_async_with_config(request, pipe, Some(config)).await {
            Ok((stream, _)) => Ok(stream),
            Err(Error::Http(answer)) => Err(refused(answer.status())),
            Err(_) => Err(NoLine::Later),
        }
    }

    /// The next text. Can be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<String, Gone> {
        loop {
            tokio::select! {
                message = self.stream.next() => {
                    self.heard_at = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
                        Some(Ok(_)) => {}
                    }
                }
                _ = self.beats.tick() => {
                    if self.heard_at.elapsed() > SILENT_FOR {
                        return Err(Gone);
                    }
                    self.send(Message::Ping(bytes::Bytes::new())).await?;
                }
            }
        }
    }

    pub(crate) async fn say(&mut self, text: String) -> Result<(), Gone> {
        self.send(Message::text(text)).await
    }

    /// Lets go. The other end is told, as far as it listens.
    pub(crate) async fn close(mut self) {
        let _ = timeout(Duration::from_secs(1), self.stream.close(None)).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        match timeout(WRITE_WITHIN, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }
}

/// What an answer means that is no upgrade.
fn refused(status: StatusCode) -> NoLine {
    let (code, detail) = match status.as_u16() {
        401 => ("no_key", "the key is none of the server's"),
        403 => ("forbidden", "the key is not a host's"),
        404 => ("no_path", "the server has no directory, or is an older one"),
        _ => return NoLine::Later,
    };
    NoLine::Never(HostEnd::Refused { code: code.to_owned(), detail: detail.to_owned() })
}
