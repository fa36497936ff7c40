//! The connections as the machines see them: a bounded queue each, found by its id. Hub and zones
//! put frames in from their own threads; the connection's task takes them out and writes them.
//!
//! A queue that is full ends its connection as `TooSlow`. Nobody ever waits for a slow reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_queue::SegQueue;
use rejoin_core::id::ConnectionId;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;
use tokio::sync::{Notify, mpsc};

use crate::clock::Clock;
use crate::queue::{Full, Outgoing, Queue, QueueLimits};
use crate::tally::Seen;
use crate::transport::Peer;

/// What both ends of a queue know.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    pub(crate) queue: Queue,
    /// Nothing more is put in.
    ended: AtomicBool,
    overflowed: AtomicBool,
    /// Instant of the server's clock until which nothing is read.
    paused_until: AtomicU64,
    /// Frames of so many bytes and more are compressed; zero: that was not agreed.
    compressed_from: AtomicU32,
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

    /// From how many bytes on frames are compressed; none: neither side may.
    pub(crate) fn compressed_from(&self) -> Option<usize> {
        match self.compressed_from.load(Ordering::Acquire) {
            0 => None,
            bytes => Some(bytes as usize),
        }
    }

    fn end(&self) -> bool {
        let first = !self.ended.swap(true, Ordering::AcqRel);
        self.ending.notify_waiters();
        first
    }
}

#[derive(Debug)]
struct Line {
    state: Arc<LineState>,
    peer: Peer,
}

impl Line {
    /// Puts a frame in. True: the task is to be woken for it.
    fn put(&self, frame: SharedFrame, limits: QueueLimits) -> bool {
        if self.state.ended.load(Ordering::Acquire) {
            return false;
        }
        match self.state.queue.put(Outgoing::Frame(frame), limits) {
            Ok(()) => true,
            Err(Full) => {
                self.overflow();
                false
            }
        }
    }

    fn close(&self, code: CloseCode, limits: QueueLimits) {
        match self.state.queue.put(Outgoing::Close(code), limits) {
            Ok(()) => self.state.queue.wake(),
            Err(Full) => self.overflow(),
        }
        self.state.end();
    }

    fn overflow(&self) {
        self.state.overflowed.store(true, Ordering::Release);
        self.state.end();
    }
}

/// Connections with something new to write that one thread of zones has not had woken yet: one
/// wake-up from outside the runtime for all of them.
#[derive(Debug)]
pub(crate) struct Calls {
    waiting: Arc<SegQueue<Arc<LineState>>>,
    bell: mpsc::Sender<()>,
}

impl Calls {
    /// With a task that answers them as long as somebody can call. Must be called within a runtime.
    pub(crate) fn start() -> Self {
        let waiting = Arc::new(SegQueue::<Arc<LineState>>::new());
        let (bell, mut rings) = mpsc::channel(1);
        let called = waiting.clone();
        tokio::spawn(async move {
            while let Some(()) = rings.recv().await {
                while let Some(state) = called.pop() {
                    state.queue.wake();
                }
            }
        });
        Self { waiting, bell }
    }

    /// Has everybody woken who was called.
    pub(crate) fn ring(&self) {
        if !self.waiting.is_empty() {
            // Full: it has been rung, and not been answered yet.
            let _ = self.bell.try_send(());
        }
    }
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
    pub(crate) fn open(&self, peer: Peer) -> (ConnectionId, Arc<LineState>) {
        let id = ConnectionId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let state = Arc::new(LineState::default());
        self.0.lines.pin().insert(id, Line { state: state.clone(), peer });
        (id, state)
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
        if let Some(line) = self.0.lines.pin().get(&id)
            && line.put(frame, self.0.limits)
        {
            line.state.queue.wake();
        }
    }

    /// The same, but its task is woken with many others, by whoever sees to these calls.
    pub(crate) fn send_later(&self, id: ConnectionId, frame: SharedFrame, calls: &Calls) {
        if let Some(line) = self.0.lines.pin().get(&id)
            && line.put(frame, self.0.limits)
            && line.state.queue.is_first_call()
        {
            calls.waiting.push(line.state.clone());
        }
    }

    /// Ends a connection once all that waits has been written.
    pub(crate) fn close(&self, id: ConnectionId, code: CloseCode) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.close(code, self.0.limits);
        }
    }

    /// Reads nothing from a connection before `until`.
    pub(crate) fn pause(&self, id: ConnectionId, until: rejoin_core::time::Time) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.state.paused_until.fetch_max(until.0, Ordering::AcqRel);
        }
    }

    /// Both sides of a connection may compress frames of so many bytes and more.
    pub(crate) fn compress(&self, id: ConnectionId, bytes_min: u32) {
        if let Some(line) = self.0.lines.pin().get(&id) {
            line.state.compressed_from.store(bytes_min.max(1), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Peer =
        Peer { transport: crate::metrics::Transport::Local, address: None, is_encrypted: false };

    fn frame(bytes: usize) -> SharedFrame {
        SharedFrame::from_encoded(vec![0; bytes].into())
    }

    fn lines(frames_max: usize, bytes_max: usize) -> Lines {
        Lines::new(QueueLimits { frames_max, bytes_max })
    }

    #[test]
    fn ids_are_never_used_twice() {
        let lines = lines(4, 100);
        let (first, _state) = lines.open(NOBODY);
        lines.remove(first);
        let (second, _state) = lines.open(NOBODY);
        assert_ne!(first, second);
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn a_full_queue_ends_its_connection_and_takes_nothing_more() {
        let lines = lines(2, 100);
        let (id, state) = lines.open(NOBODY);
        for _ in 0..4 {
            lines.send(id, frame(1));
        }
        assert!(state.is_overflowed());
        assert!(state.queue.take().is_some());
        lines.send(id, frame(1));
        assert!(state.queue.take().is_some());
        assert!(state.queue.take().is_none());
    }

    #[test]
    fn bytes_are_bounded_too_but_one_large_frame_alone_fits() {
        let lines = lines(16, 100);
        let (id, state) = lines.open(NOBODY);
        lines.send(id, frame(150));
        assert!(!state.is_overflowed());
        assert!(state.queue.take().is_some());
        lines.send(id, frame(60));
        lines.send(id, frame(60));
        assert!(state.is_overflowed());
    }

    #[test]
    fn nothing_follows_a_close() {
        let lines = lines(4, 100);
        let (id, state) = lines.open(NOBODY);
        lines.close(id, CloseCode::Left);
        lines.send(id, frame(1));
        assert!(matches!(state.queue.take(), Some(Outgoing::Close(CloseCode::Left))));
        assert!(state.queue.take().is_none());
    }
}
