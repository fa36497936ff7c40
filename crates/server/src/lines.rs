//! The connections as the machines see them: a bounded queue each, found by its id. Hub and zones
//! put frames in from their own threads; the connection's task takes them out and writes them.
//!
//! A queue that is full ends its connection as `TooSlow`. Nobody ever waits for a slow reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rejoin_core::id::ConnectionId;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;
use tokio::sync::{Notify, mpsc};

use crate::clock::Clock;
use crate::tally::Seen;
use crate::transport::Peer;

/// How much may wait for one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// Frames. A replay puts a whole session outbox and a window in at once; this holds both.
    pub frames_max: usize,
    /// Their bytes as protobuf: two snapshots of the largest kind.
    pub bytes_max: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { frames_max: 4_096, bytes_max: 4 << 20 }
    }
}

/// What is put on a connection.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Frame(SharedFrame),
    /// The last thing: everything before it has been written.
    Close(CloseCode),
}

/// What both ends of a queue know.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    queued_bytes: AtomicUsize,
    /// Nothing more is put in.
    ended: AtomicBool,
    overflowed: AtomicBool,
    /// Instant of the server's clock until which nothing is read.
    paused_until: AtomicU64,
    ending: Notify,
    /// For those who look on.
    pub(crate) seen: Seen,
}

impl LineState {
    /// Resolves once the connection is to end.
    pub(crate) async fn ending(&self) {
        let notified = self.ending.notified();
        if !self.ended.load(Ordering::Acquire) {
            notified.await;
        }
    }

    /// Nothing more is put in: the last word is in the queue, or will never be.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The queue was full: what is left of it does not matter any more.
    pub(crate) fn is_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Acquire)
    }

    /// How long the reader shall wait before it reads on.
    pub(crate) fn pause(&self, clock: Clock) -> Duration {
        let until = self.paused_until.load(Ordering::Acquire);
        if until == 0 { Duration::ZERO } else { clock.until(rejoin_core::time::Time(until)) }
    }

    /// A frame has been taken out.
    pub(crate) fn written(&self, bytes: usize) {
        self.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn end(&self) -> bool {
        let first = !self.ended.swap(true, Ordering::AcqRel);
        self.ending.notify_waiters();
        first
    }
}

#[derive(Debug)]
struct Line {
    queue: mpsc::Sender<Outgoing>,
    state: Arc<LineState>,
    peer: Peer,
}

impl Line {
    fn put(&self, frame: SharedFrame, limits: QueueLimits) {
        if self.state.ended.load(Ordering::Acquire) {
            return;
        }
        let bytes = frame.len();
        let queued = self.state.queued_bytes.fetch_add(bytes, Ordering::AcqRel);
        let fits = queued == 0 || queued.saturating_add(bytes) <= limits.bytes_max;
        if !fits || self.queue.try_send(Outgoing::Frame(frame)).is_err() {
            self.overflow();
        }
    }

    fn close(&self, code: CloseCode) {
        if self.queue.try_send(Outgoing::Close(code)).is_err() {
            self.overflow();
        }
        self.state.end();
    }

    fn overflow(&self) {
        self.state.overflowed.store(true, Ordering::Release);
        self.state.end();
    }
}

/// The task's end of a queue.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) queue: mpsc::Receiver<Outgoing>,
    pub(crate) state: Arc<LineState>,
}

/// All connections. Clones are the same table; readers of it take no lock.
#[derive(Clone, Debug)]
pub(crate) struct Lines(Arc<Table>);

#[derive(Debug)]
struct Table {
    lines: papaya::HashMap<ConnectionId, Line>,
    last: AtomicU64,
    limits: QueueLimits,
}

impl Lines {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self(Arc::new(Table { lines: papaya::HashMap::new(), last: AtomicU64::new(0), limits }))
    }

    /// A new connection, under an id that was never used.
    pub(crate) fn open(&self, peer: Peer) -> (ConnectionId, Outlet) {
        let id = ConnectionId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, queue) = mpsc::channel(self.0.limits.frames_max);
        let state = Arc::new(LineState::default());
        self.0.lines.pin().insert(id, Line { queue: sender, state: state.clone(), peer });
        (id, Outlet { queue, state })
    }

    /// The connection is gone.
    pub(crate) fn remove(&self, id: ConnectionId) {
        self.0.lines.pin().remove(&id);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lines.len()
    }

    /// What both ends of a connection's queue know.
    pub(crate) fn state(&self, id: ConnectionId) -> Option<Arc<LineState>> {
        self.0.lines.pin().get(&id).map(|line| line.state.clone())
    }

    /// Who is at the other end of a connection.
    pub(crate) fn peer(&self, id: ConnectionId) -> Option<Peer> {
        self.0.lines.pin().get(&id).map(|line| line.peer)
    }

    /// Puts a frame on a connection, if it is still there.
    pub(crate) fn send(&self, id: ConnectionId, frame: SharedFrame) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.put(frame, self.0.limits);
        }
    }

    /// Ends a connection once all that waits has been written.
    pub(crate) fn close(&self, id: ConnectionId, code: CloseCode) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.close(code);
        }
    }

    /// Reads nothing from a connection before `until`.
    pub(crate) fn pause(&self, id: ConnectionId, until: rejoin_core::time::Time) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.state.paused_until.fetch_max(until.0, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Peer = Peer { transport: crate::metrics::Transport::Local, address: None };

    fn frame(bytes: usize) -> SharedFrame {
        SharedFrame::from_encoded(vec![0; bytes].into())
    }

    fn lines(frames_max: usize, bytes_max: usize) -> Lines {
        Lines::new(QueueLimits { frames_max, bytes_max })
    }

    #[test]
    fn ids_are_never_used_twice() {
        let lines = lines(4, 100);
        let (first, _outlet) = lines.open(NOBODY);
        lines.remove(first);
        let (second, _outlet) = lines.open(NOBODY);
        assert_ne!(first, second);
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn a_full_queue_ends_its_connection_and_takes_nothing_more() {
        let lines = lines(2, 100);
        let (id, mut outlet) = lines.open(NOBODY);
        for _ in 0..4 {
            lines.send(id, frame(1));
        }
        assert!(outlet.state.is_overflowed());
        assert!(outlet.queue.try_recv().is_ok());
        lines.send(id, frame(1));
        assert!(outlet.queue.try_recv().is_ok());
        assert!(outlet.queue.try_recv().is_err());
    }

    #[test]
    fn bytes_are_bounded_too_but_one_large_frame_alone_fits() {
        let lines = lines(16, 100);
        let (id, mut outlet) = lines.open(NOBODY);
        lines.send(id, frame(150));
        assert!(!outlet.state.is_overflowed());
        assert!(outlet.queue.try_recv().is_ok());
        outlet.state.written(150);
        lines.send(id, frame(60));
        lines.send(id, frame(60));
        assert!(outlet.state.is_overflowed());
    }

    #[test]
    fn nothing_follows_a_close() {
        let lines = lines(4, 100);
        let (id, mut outlet) = lines.open(NOBODY);
        lines.close(id, CloseCode::Left);
        lines.send(id, frame(1));
        assert!(matches!(outlet.queue.try_recv(), Ok(Outgoing::Close(CloseCode::Left))));
        assert!(outlet.queue.try_recv().is_err());
    }
}
