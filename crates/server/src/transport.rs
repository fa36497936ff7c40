//! What every transport is to the server: messages in, messages and one last word out, each waiting
//! for the other side when that is slow. This half of a connection is the same for all of them:
//! one task that reads, decodes and hands frames to the hub, and takes frames from the connection's
//! queue and writes as many as wait at once.
//!
//! Nothing here decides anything: whatever is wrong with a frame goes to the hub as an input.

use std::future::{Ready, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::Either;
use rejoin_core::connection::{ConnectionCore, ConnectionInput, ConnectionOutput, FrameKind};
use rejoin_core::hub::HubInput;
use rejoin_core::id::ConnectionId;
use rejoin_core::session::Serializer;
use rejoin_core::time::Time;
use rejoin_wire::v1::CloseCode;
use rejoin_wire::{DecodeError, Encoding, Limits, SharedFrame, decode_client, unpack_client};
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep, timeout};

use crate::accept_guard::origin_of;
use crate::connection_table::ConnectionQueue;
use crate::mailbox::{ExternalSender, HubMail};
use crate::metrics::Transport;
use crate::queue::QueueItem;
use crate::server::{Server, Shared};
use crate::sight::Sight;

/// How long a peer has to read the close of its connection and to close its end.
pub(crate) const LINGER: Duration = Duration::from_secs(2);
/// How many bytes are read of a peer after the close; about what was under way.
const DISCARDED_BYTES_MAX: usize = 256 << 10;
/// Frames that are written together when they wait.
const FRAMES_PER_FLUSH: usize = 64;

/// What came in.
pub(crate) enum Incoming {
    /// One message: one frame, if it is one.
    Message(Bytes),
    /// Control frames of the transport, which carry nothing: what they are charged as, and their bytes.
    Control(FrameKind, usize),
    /// The peer broke the transport's own rules; nothing more can be read.
    Broken(DecodeError),
    /// The peer is gone.
    Gone,
}

impl Incoming {
    /// How many bytes were read for it.
    fn len(&self) -> usize {
        match self {
            Self::Message(bytes) => bytes.len(),
            Self::Control(_, len) => (*len).max(1),
            Self::Broken(_) | Self::Gone => 0,
        }
    }
}

/// The peer cannot be written to any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerGone;

/// The half of a transport that is read. A message over the size it was opened with is never given
/// out: it is [`Incoming::Broken`] as too large.
pub(crate) trait Source: Send {
    /// What the peer still sends must be read, or it may never hear our last words.
    const MUST_BE_READ_OUT: bool = true;
    /// The next message. May be dropped and asked again without losing one.
    fn next(&mut self) -> impl Future<Output = Incoming> + Send;
}

/// The half of a transport that is written to. It waits while the peer does not read.
pub(crate) trait Sink: Send {
    /// Writes one message, perhaps not at once.
    fn feed(&mut self, message: Bytes) -> impl Future<Output = Result<(), PeerGone>> + Send;
    /// All that was fed is on its way.
    fn flush(&mut self) -> impl Future<Output = Result<(), PeerGone>> + Send;
    /// Says the last word, and why.
    fn close(&mut self, code: CloseCode) -> impl Future<Output = Result<(), PeerGone>> + Send;
}

/// Who is at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    /// Which kind of link this is.
    pub(crate) transport: Transport,
    /// None: it is in this process.
    pub(crate) address: Option<IpAddr>,
    /// Whether the link is encrypted, by TLS or by the seal of ENet.
    pub(crate) is_encrypted: bool,
}

/// Serves one connection until it is over.
pub(crate) async fn serve<S: Source>(
    mut source: S,
    mut sink: impl Sink,
    encoding: Encoding,
    peer: Peer,
    server: Server,
) {
    let shared = &server.0;
    let (connection, queue) = shared.connections.open(peer);
    shared.sight.opened(&queue.seen, peer);
    let serializer = match encoding {
        Encoding::Protobuf => Serializer::Protobuf,
        Encoding::Json => Serializer::Json,
    };
    let origin = peer.address.map(origin_of);
    let is_encrypted = peer.is_encrypted;
    let config = Arc::clone(&shared.connection_config);
    let mut core = ConnectionCore::new(shared.clock.now(), connection, config);
    let opened = HubInput::Opened { connection, serializer, origin, is_encrypted };
    if tell(&shared.external, opened).await {
        // A datagram that is not sealed may be anybody's.
        if peer.transport == Transport::Enet && !is_encrypted {
            tell(&shared.external, HubInput::Spoofable(connection)).await;
        }
        let reader = Reader {
            connection,
            encoding,
            core: &mut core,
            paused_until: None,
            applied: 0,
            queue: &queue,
            server: shared,
        };
        let reading = reader.run(&mut source);
        tokio::pin!(reading);
        tokio::select! {
            () = &mut reading => {}
            () = write(&mut sink, &queue, encoding, (connection, &shared.sight)) => {
                // What the peer still sends is read: a socket closed over unread bytes is reset, and
                // our last words with it. One that does not read needs no such care.
                if S::MUST_BE_READ_OUT && !queue.is_overflowed() {
                    let _ = Box::pin(timeout(LINGER, reading)).await;
                }
            }
        }
    }
    shared.connections.remove(connection);
    shared.sight.closed(connection, &queue);
    let code = queue.is_overflowed().then_some(CloseCode::TooSlow);
    let spent = core.spent();
    tell(&shared.external, HubInput::Closed { connection, code, spent }).await;
}

/// Hands something to the hub; false: it has ended. What must wait does so on the heap, because it
/// rarely has to and every connection would carry the room for it.
fn tell(
    hub: &ExternalSender,
    input: HubInput,
) -> Either<Ready<bool>, Pin<Box<dyn Future<Output = bool> + Send + '_>>> {
    match hub.try_send(HubMail::Input(input)) {
        Ok(()) => Either::Left(ready(true)),
        Err(TrySendError::Closed(_)) => Either::Left(ready(false)),
        Err(TrySendError::Full(mail)) => {
            Either::Right(Box::pin(async move { hub.send(mail).await.is_ok() }))
        }
    }
}

/// The half that reads. It hands what comes to the connection's machine and carries out what follows.
struct Reader<'a> {
    connection: ConnectionId,
    encoding: Encoding,
    core: &'a mut ConnectionCore,
    /// Nothing is read before then.
    paused_until: Option<Time>,
    /// The machine knows that so much is applied.
    applied: u64,
    queue: &'a ConnectionQueue,
    server: &'a Shared,
}

/// What the half that reads has waited for.
enum Turn {
    Incoming(Incoming),
    /// A message of the hub or of a zone.
    Message,
    /// A deadline, or the end of a pause.
    Alarm,
}

impl Reader<'_> {
    /// Reads until the peer is gone or breaks the transport's own rules.
    async fn run(mut self, source: &mut impl Source) {
        let mut limits = self.server.limits.before_hello();
        let mut discarded = 0;
        let alarm = sleep(Duration::ZERO);
        tokio::pin!(alarm);
        let mut armed = None;
        loop {
            let now = self.server.clock.now();
            self.paused_until.take_if(|until| *until <= now);
            let due = self.core.next_deadline().filter(|_| !self.queue.is_ended());
            let due = due.into_iter().chain(self.paused_until).min();
            if armed != due {
                armed = due;
                if let Some(at) = due {
                    alarm.as_mut().reset(Instant::now() + self.server.clock.until(at));
                }
            }
            let is_paused = self.paused_until.is_some();
            // What has come is read before a deadline that it may save is looked at.
            let turn = tokio::select! {
                biased;
                incoming = source.next(), if !is_paused => Turn::Incoming(incoming),
                () = self.queue.told() => Turn::Message,
                () = &mut alarm, if armed.is_some() => {
                    armed = None;
                    Turn::Alarm
                }
            };
            // What hub and zones said before this came is heard before it.
            if !self.hear_messages().await {
                return;
            }
            let input = match turn {
                Turn::Message => continue,
                Turn::Alarm if self.queue.is_ended() => continue,
                Turn::Alarm => ConnectionInput::Wake,
                Turn::Incoming(Incoming::Gone) => return,
                Turn::Incoming(Incoming::Broken(error)) => {
                    return Box::pin(self.broken(error)).await;
                }
                Turn::Incoming(incoming) if self.queue.is_ended() => {
                    // The connection is closed. It is read so that the close is not lost with a reset, and
                    // no longer than for that.
                    discarded += incoming.len();
                    if discarded > DISCARDED_BYTES_MAX {
                        return;
                    }
                    continue;
                }
                Turn::Incoming(Incoming::Message(bytes)) => self.decode(bytes, &mut limits),
                Turn::Incoming(Incoming::Control(kind, bytes)) => {
                    ConnectionInput::Control { kind, bytes }
                }
            };
            let now = self.server.clock.now();
            self.core.handle(now, input);
            if !self.carry_out().await {
                return;
            }
            // A peer that sends without a gap is looked at all the same.
            if self.core.next_deadline().is_some_and(|at| at <= now) {
                self.core.handle(now, ConnectionInput::Wake);
                if !self.carry_out().await {
                    return;
                }
            }
        }
    }

    /// A message as a frame, or what is wrong with it.
    fn decode(&self, bytes: Bytes, limits: &mut Limits) -> ConnectionInput {
        let sight = &self.server.sight;
        let len = bytes.len();
        let is_shown = sight.received(self.connection, &self.queue.seen, len);
        let bytes = match self.queue.compressed_from() {
            Some(_) => unpack_client(bytes, limits),
            None => Ok(bytes),
        };
        // A compressed frame is charged by its unpacked length: that is what the server works with.
        let len = bytes.as_ref().map_or(len, Bytes::len);
        let shown = if is_shown { bytes.clone().ok() } else { None };
        let frame = bytes.and_then(|bytes| decode_client(self.encoding, bytes, limits));
        if let Some(bytes) = shown {
            sight.show_received(&self.queue.seen, &frame, &bytes);
        }
        if frame.as_ref().ok().and_then(FrameKind::of) == Some(FrameKind::Hello) {
            *limits = self.server.limits;
        }
        ConnectionInput::Received { frame, bytes: len }
    }

    /// Hands on what hub and zones have said, and carries out what follows. False: the hub has ended.
    async fn hear_messages(&mut self) -> bool {
        if self.queue.is_ended() {
            // The machine takes nothing more.
            while self.queue.message().is_some() {}
            return true;
        }
        let now = self.server.clock.now();
        let applied = self.queue.applied();
        if applied > self.applied {
            self.applied = applied;
            self.core.handle(now, ConnectionInput::Applied(applied));
        }
        while let Some(message) = self.queue.message() {
            self.core.handle(now, ConnectionInput::Message(message));
            if !self.carry_out().await {
                return false;
            }
        }
        true
    }

    /// Carries out what the connection's machine gives out. False: the hub has ended.
    async fn carry_out(&mut self) -> bool {
        let (id, server) = (self.connection, self.server);
        while let Some(output) = self.core.next_output() {
            match output {
                ConnectionOutput::Send(frame) => server.connections.send(id, frame),
                ConnectionOutput::Close(code) => server.connections.close(id, code),
                ConnectionOutput::Pause(wait) => {
                    let until = server.clock.now().after(wait);
                    self.paused_until = self.paused_until.max(Some(until));
                }
                ConnectionOutput::ToHub(message) => {
                    if !tell(&server.external, HubInput::FromConnection(id, message)).await {
                        return false;
                    }
                }
                ConnectionOutput::ToZone(zone, owner, message) => {
                    server.zones.send_from_connection(zone, owner, message);
                }
                ConnectionOutput::Event(event) => server.sight.tell(event),
            }
        }
        true
    }

    /// The transport gave up on the bytes: the connection stays until the farewell is out.
    async fn broken(mut self, error: DecodeError) {
        let input = ConnectionInput::Received { frame: Err(error), bytes: 0 };
        self.core.handle(self.server.clock.now(), input);
        if self.carry_out().await {
            let _ = timeout(LINGER, self.queue.ending()).await;
            // The writer ends first and this half is then dropped.
            sleep(LINGER).await;
        }
    }
}

/// The half that writes, until the last word is out or the peer cannot be written to.
async fn write(
    sink: &mut impl Sink,
    queue: &ConnectionQueue,
    encoding: Encoding,
    seen_by: (ConnectionId, &Sight),
) {
    let ended = async {
        queue.ending().await;
        if !queue.is_overflowed() {
            Box::pin(sleep(LINGER)).await;
        }
    };
    let all_written = tokio::select! {
        written = write_queue(sink, queue, encoding, seen_by) => written,
        () = ended => false,
    };
    if !all_written && queue.is_overflowed() {
        // The peer does not read: most likely this is not heard either.
        let _ = Box::pin(timeout(LINGER / 10, sink.close(CloseCode::TooSlow))).await;
    }
}

async fn write_queue(
    sink: &mut impl Sink,
    queue: &ConnectionQueue,
    encoding: Encoding,
    (connection, sight): (ConnectionId, &Sight),
) -> bool {
    let mut is_over = false;
    loop {
        let mut next = Some(queue.frames.next().await);
        let mut more = FRAMES_PER_FLUSH;
        while let Some(item) = next {
            let frame = match item {
                // A zone may put in a frame between the farewell and the close, which the hub puts in one by one.
                QueueItem::Frame(_) if is_over => {
                    next = queue.frames.take();
                    continue;
                }
                QueueItem::Frame(frame) => frame,
                QueueItem::Close(code) => return Box::pin(sink.close(code)).await.is_ok(),
            };
            let Some(message) = encoded(&frame, encoding, queue.compressed_from()) else {
                return false;
            };
            sight.sent(connection, &queue.seen, &frame, &message);
            if sink.feed(message).await.is_err() {
                return false;
            }
            is_over = frame.is_farewell();
            more -= 1;
            next = if more > 0 { queue.frames.take() } else { None };
        }
        if sink.flush().await.is_err() {
            return false;
        }
    }
}

/// The frame in its connection's encoding; none if it cannot be written, which is our own fault.
fn encoded(
    frame: &SharedFrame,
    encoding: Encoding,
    compressed_from: Option<usize>,
) -> Option<Bytes> {
    let bytes = match compressed_from {
        // Agreed on where protobuf is spoken, and nowhere else.
        Some(bytes_min) => Ok(frame.packed(bytes_min)),
        None => frame.bytes(encoding),
    };
    bytes.inspect_err(|error| tracing::error!(%error, "a frame could not be written")).ok()
}

#[cfg(test)]
mod tests;
