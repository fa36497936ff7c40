//! What waits to be written to one connection: bounded, without a lock, and with the wake-up apart
//! from the putting in. A thread of zones puts in frames for many connections and has all of them
//! woken at once; a wake-up for each frame would have an I/O worker take its turn for each.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use crossbeam_queue::SegQueue;
use futures_util::task::AtomicWaker;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;

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

/// What a connection's task takes out of its queue.
#[derive(Debug)]
pub(crate) enum QueueItem {
    Frame(SharedFrame),
    /// The last thing: everything before it has been written.
    Close(CloseCode),
}

impl QueueItem {
    fn bytes(&self) -> usize {
        match self {
            Self::Frame(frame) => frame.len(),
            Self::Close(_) => 0,
        }
    }
}

/// The queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

/// One connection's queue. Many put in, its own task takes out.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    items: SegQueue<QueueItem>,
    bytes: AtomicUsize,
    /// Set by the sender that will wake the task; cleared when the task looks into the queue.
    is_wake_up_claimed: AtomicBool,
    task: AtomicWaker,
}

impl Queue {
    /// Puts an item in; the task does not notice it before it is woken.
    pub(crate) fn put(&self, item: QueueItem, limits: QueueLimits) -> Result<(), Full> {
        let bytes = item.bytes();
        let queued = self.bytes.fetch_add(bytes, Ordering::AcqRel);
        let fits = queued == 0 || queued.saturating_add(bytes) <= limits.bytes_max;
        if !fits || self.items.len() >= limits.frames_max {
            return Err(Full);
        }
        self.items.push(item);
        Ok(())
    }

    /// Claims to wake the task for what waits. True: no other sender has, so the caller must wake it.
    pub(crate) fn claim_wake_up(&self) -> bool {
        !self.is_wake_up_claimed.swap(true, Ordering::AcqRel)
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        self.task.wake();
    }

    /// Waits for the next item and takes it out.
    pub(crate) async fn next(&self) -> QueueItem {
        poll_fn(|context| {
            self.is_wake_up_claimed.store(false, Ordering::Release);
            if let Some(item) = self.take() {
                return Poll::Ready(item);
            }
            self.task.register(context.waker());
            // An item may have been put in between the look above and the registration.
            self.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Takes the next item out, if there is one.
    pub(crate) fn take(&self) -> Option<QueueItem> {
        let item = self.items.pop()?;
        self.bytes.fetch_sub(item.bytes(), Ordering::AcqRel);
        Some(item)
    }
}
