//! The table of open connections: a bounded queue each, found by the connection's id. Hub and zones
//! put frames in from their own threads; the connection's task takes them out and writes them.
//!
//! A queue that is full ends its connection as `TooSlow`: neither hub nor zones wait for a slow reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crossbeam_queue::SegQueue;
use rejoin_core::connection::{ToConnection, applied_frame};
use rejoin_core::id::ConnectionId;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;
use tokio::sync::{Notify, mpsc};

use crate::queue::{Full, Queue, QueueItem, QueueLimits};
use crate::tally::Seen;
use crate::transport::Peer;

/// The queue of one connection with its switches: shared by the table and the connection's task.
#[derive(Debug, Default)]
pub(crate) struct ConnectionQueue {
    pub(crate) frames: Queue,
    /// Once this is set, no frame is put in any more.
    ended: AtomicBool,
    overflowed: AtomicBool,
    /// Up to this number the client's stream is applied. Set before the client is told.
    applied: AtomicU64,
    /// What hub and zones say to the connection. Put in before any frame that follows from it.
    messages: SegQueue<ToConnection>,
    /// Wakes the half that reads for a message.
    told: Notify,
    /// Frames of so many bytes and more are compressed; zero: that was not agreed.
    compressed_from: AtomicU32,
    ending: Notify,
    /// Where the connection comes from and what it is counted under.
    pub(crate) seen: Seen,
}

impl ConnectionQueue {
    /// Resolves once the connection is to end.
    pub(crate) async fn ending(&self) {
        let notified = self.ending.notified();
        if !self.ended.load(Ordering::Acquire) {
            notified.await;
        }
    }

    /// No frame is put in any more: the close is in the queue, or will never be.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The queue was full: what is left of it does not matter any more.
    pub(crate) fn is_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Acquire)
    }

    /// Up to which number the client's stream is applied.
    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// The next message of the hub or of a zone.
    pub(crate) fn message(&self) -> Option<ToConnection> {
        self.messages.pop()
    }

    /// Resolves once there is a message.
    pub(crate) async fn told(&self) {
        while self.messages.is_empty() {
            self.told.notified().await;
        }
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
struct Connection {
    queue: Arc<ConnectionQueue>,
    peer: Peer,
}

impl Connection {
    /// Puts a frame in. True: the task is to be woken for it.
    fn put(&self, frame: SharedFrame, limits: QueueLimits) -> bool {
        if self.queue.ended.load(Ordering::Acquire) {
            return false;
        }
        match self.queue.frames.put(QueueItem::Frame(frame), limits) {
            Ok(()) => true,
            Err(Full) => {
                self.overflow();
                false
            }
        }
    }

    fn close(&self, code: CloseCode, limits: QueueLimits) {
        match self.queue.frames.put(QueueItem::Close(code), limits) {
            Ok(()) => self.queue.frames.wake(),
            Err(Full) => self.overflow(),
        }
        self.queue.end();
    }

    fn overflow(&self) {
        self.queue.overflowed.store(true, Ordering::Release);
        self.queue.end();
    }
}

/// Connections to which one thread of zones has sent frames and whose tasks it has not woken yet: one
/// wake-up from outside the runtime serves all of them.
#[derive(Debug)]
pub(crate) struct WakeUps {
    waiting: Arc<SegQueue<Arc<ConnectionQueue>>>,
    signal: mpsc::Sender<()>,
}

impl WakeUps {
    /// Starts the task that wakes the connections; it ends when this value is dropped. Must be called
    /// within a runtime.
    pub(crate) fn start() -> Self {
        let waiting = Arc::new(SegQueue::<Arc<ConnectionQueue>>::new());
        let (signal, mut signals) = mpsc::channel(1);
        let collected = waiting.clone();
        tokio::spawn(async move {
            while let Some(()) = signals.recv().await {
                while let Some(queue) = collected.pop() {
                    queue.frames.wake();
                }
            }
        });
        Self { waiting, signal }
    }

    /// Has the tasks of all collected connections woken.
    pub(crate) fn send(&self) {
        if !self.waiting.is_empty() {
            // Full: the task has been signalled and has not run yet.
            let _ = self.signal.try_send(());
        }
    }
}

/// All connections. Clones are the same table; readers of it take no lock.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionTable(Arc<Table>);

#[derive(Debug)]
struct Table {
    connections: papaya::HashMap<ConnectionId, Connection>,
    last: AtomicU64,
    limits: QueueLimits,
}

impl ConnectionTable {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self(Arc::new(Table {
            connections: papaya::HashMap::new(),
            last: AtomicU64::new(0),
            limits,
        }))
    }

    /// A new connection, under an id that was never used.
    pub(crate) fn open(&self, peer: Peer) -> (ConnectionId, Arc<ConnectionQueue>) {
        let id = ConnectionId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let queue = Arc::new(ConnectionQueue::default());
        self.0.connections.pin().insert(id, Connection { queue: queue.clone(), peer });
        (id, queue)
    }

    /// The connection is gone.
    pub(crate) fn remove(&self, id: ConnectionId) {
        self.0.connections.pin().remove(&id);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.connections.len()
    }

    /// The queue of a connection, if it is still open.
    pub(crate) fn queue(&self, id: ConnectionId) -> Option<Arc<ConnectionQueue>> {
        self.0.connections.pin().get(&id).map(|connection| connection.queue.clone())
    }

    /// Transport and address of the peer, if the connection is still open.
    pub(crate) fn peer(&self, id: ConnectionId) -> Option<Peer> {
        self.0.connections.pin().get(&id).map(|connection| connection.peer)
    }

    /// Puts a frame into the queue of a connection and wakes its task, if it is still open.
    pub(crate) fn send(&self, id: ConnectionId, frame: SharedFrame) {
        if let Some(connection) = self.0.connections.pin().get(&id)
            && connection.put(frame, self.0.limits)
        {
            connection.queue.frames.wake();
        }
    }

    /// The same, but its task is woken with many others by [`WakeUps::send`].
    pub(crate) fn send_and_wake_later(
        &self,
        id: ConnectionId,
        frame: SharedFrame,
        wake_ups: &WakeUps,
    ) {
        if let Some(connection) = self.0.connections.pin().get(&id)
            && connection.put(frame, self.0.limits)
            && connection.queue.frames.claim_wake_up()
        {
            wake_ups.waiting.push(connection.queue.clone());
        }
    }

    /// Ends a connection once all that waits has been written.
    pub(crate) fn close(&self, id: ConnectionId, code: CloseCode) {
        if let Some(connection) = self.0.connections.pin().get(&id) {
            connection.close(code, self.0.limits);
        }
    }

    /// Tells a connection something that it hears before any frame that comes later.
    pub(crate) fn tell(&self, id: ConnectionId, message: ToConnection) {
        if let Some(connection) = self.0.connections.pin().get(&id) {
            connection.queue.messages.push(message);
            connection.queue.told.notify_one();
        }
    }

    /// Acknowledges the client's stream up to a number; its connection knows that before the client does.
    pub(crate) fn acknowledge(&self, id: ConnectionId, seq: u64) {
        self.note_applied(id, seq);
        self.send(id, applied_frame(seq));
    }

    /// The same, but its task is woken with many others by [`WakeUps::send`].
    pub(crate) fn acknowledge_and_wake_later(
        &self,
        id: ConnectionId,
        seq: u64,
        wake_ups: &WakeUps,
    ) {
        self.note_applied(id, seq);
        self.send_and_wake_later(id, applied_frame(seq), wake_ups);
    }

    fn note_applied(&self, id: ConnectionId, seq: u64) {
        if let Some(connection) = self.0.connections.pin().get(&id) {
            connection.queue.applied.fetch_max(seq, Ordering::AcqRel);
        }
    }

    /// Both sides of a connection may compress frames of so many bytes and more.
    pub(crate) fn compress(&self, id: ConnectionId, bytes_min: u32) {
        if let Some(connection) = self.0.connections.pin().get(&id) {
            connection.queue.compressed_from.store(bytes_min.max(1), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer =
        Peer { transport: crate::metrics::Transport::Local, address: None, is_encrypted: false };

    fn frame(bytes: usize) -> SharedFrame {
        SharedFrame::from_encoded(vec![0; bytes].into())
    }

    fn table(frames_max: usize, bytes_max: usize) -> ConnectionTable {
        ConnectionTable::new(QueueLimits { frames_max, bytes_max })
    }

    #[test]
    fn ids_are_never_used_twice() {
        let table = table(4, 100);
        let (first, _queue) = table.open(PEER);
        table.remove(first);
        let (second, _queue) = table.open(PEER);
        assert_ne!(first, second);
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_full_queue_ends_its_connection_and_takes_nothing_more() {
        let table = table(2, 100);
        let (id, queue) = table.open(PEER);
        for _ in 0..4 {
            table.send(id, frame(1));
        }
        assert!(queue.is_overflowed());
        assert!(queue.frames.take().is_some());
        table.send(id, frame(1));
        assert!(queue.frames.take().is_some());
        assert!(queue.frames.take().is_none());
    }

    #[test]
    fn bytes_are_bounded_too_but_one_large_frame_alone_fits() {
        let table = table(16, 100);
        let (id, queue) = table.open(PEER);
        table.send(id, frame(150));
        assert!(!queue.is_overflowed());
        assert!(queue.frames.take().is_some());
        table.send(id, frame(60));
        table.send(id, frame(60));
        assert!(queue.is_overflowed());
    }

    #[test]
    fn nothing_follows_a_close() {
        let table = table(4, 100);
        let (id, queue) = table.open(PEER);
        table.close(id, CloseCode::Left);
        table.send(id, frame(1));
        assert!(matches!(queue.frames.take(), Some(QueueItem::Close(CloseCode::Left))));
        assert!(queue.frames.take().is_none());
    }
}
