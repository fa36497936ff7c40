//! The queues of local sessions, which live in the server and have no connection (the API calls them
//! native). Zones and the hub put deliveries in without waiting. A reader that takes them too slowly
//! misses messages and can ask how many; it never misses a join, a part or its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rejoin_core::id::SessionId;
use rejoin_core::zone::Delivery;
use tokio::sync::mpsc;

/// Messages and questions that wait for one local session; more are dropped and counted.
const DELIVERIES_MAX: usize = 1_024;

/// The queues of all local sessions that are listened for.
#[derive(Default)]
pub(crate) struct LocalSessions(papaya::HashMap<SessionId, Arc<LocalQueue>>);

/// The sending half of one local session's queue.
#[derive(Debug)]
struct LocalQueue {
    inbox: mpsc::UnboundedSender<Delivery>,
    waiting: AtomicUsize,
    missed: AtomicU64,
}

impl LocalSessions {
    /// Makes the queue of a session; an earlier one of the same session gets nothing more.
    pub(crate) fn listen(&self, session: SessionId) -> Deliveries {
        let (inbox, outlet) = mpsc::unbounded_channel();
        let (waiting, missed) = (AtomicUsize::new(0), AtomicU64::new(0));
        let queue = Arc::new(LocalQueue { inbox, waiting, missed });
        let counts = Arc::downgrade(&queue);
        self.0.pin().insert(session, queue);
        Deliveries { outlet, counts }
    }

    /// Puts a delivery into the queue of a session, if it has one.
    pub(crate) fn tell(&self, session: SessionId, delivery: Delivery) {
        let queues = self.0.pin();
        let Some(queue) = queues.get(&session) else { return };
        // The other deliveries are bounded by what the session itself does.
        let droppable = matches!(
            delivery,
            Delivery::Message(_) | Delivery::Call(..) | Delivery::Sent(_) | Delivery::Asked(..)
        );
        if droppable && queue.waiting.load(Ordering::Acquire) >= DELIVERIES_MAX {
            if queue.missed.fetch_add(1, Ordering::AcqRel) == 0 {
                tracing::warn!(%session, "a native session does not listen in time");
            }
            return;
        }
        queue.waiting.fetch_add(1, Ordering::AcqRel);
        if queue.inbox.send(delivery).is_err() {
            queues.remove(&session);
        }
    }

    /// The session has ended: what waits can still be received, and then the queue ends.
    pub(crate) fn forget(&self, session: SessionId) {
        self.0.pin().remove(&session);
    }
}

/// The deliveries to a native session, in order. At most 1,024 messages wait; joins, parts and endings
/// always get through.
#[derive(Debug)]
pub struct Deliveries {
    outlet: mpsc::UnboundedReceiver<Delivery>,
    /// Weak, so that the end of the session ends the queue.
    counts: std::sync::Weak<LocalQueue>,
}

impl Deliveries {
    /// Waits for the next delivery; none once the session has ended or a later listener has taken over.
    pub async fn recv(&mut self) -> Option<Delivery> {
        let delivery = self.outlet.recv().await;
        self.taken(delivery)
    }

    /// The next delivery, if one waits.
    pub fn try_recv(&mut self) -> Option<Delivery> {
        let delivery = self.outlet.try_recv().ok();
        self.taken(delivery)
    }

    /// How many messages were dropped since the last call because too many waited.
    #[must_use]
    pub fn take_missed(&self) -> u64 {
        self.counts.upgrade().map_or(0, |queue| queue.missed.swap(0, Ordering::AcqRel))
    }

    fn taken(&self, delivery: Option<Delivery>) -> Option<Delivery> {
        if let (Some(_), Some(queue)) = (&delivery, self.counts.upgrade()) {
            queue.waiting.fetch_sub(1, Ordering::AcqRel);
        }
        delivery
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rejoin_core::event::EndCause;

    use super::*;

    #[test]
    fn a_slow_listener_misses_messages_and_learns_how_many_but_hears_its_end() {
        let (local_sessions, session) = (LocalSessions::default(), SessionId(1));
        let mut heard = local_sessions.listen(session);
        for _ in 0..DELIVERIES_MAX + 3 {
            local_sessions.tell(session, Delivery::Message(Arc::new(())));
        }
        local_sessions.tell(session, Delivery::Ended(EndCause::Kicked));
        local_sessions.forget(session);
        let mut count = 0;
        let last = loop {
            match heard.try_recv() {
                Some(Delivery::Message(_)) => count += 1,
                other => break other,
            }
        };
        assert_eq!(count, DELIVERIES_MAX);
        assert!(matches!(last, Some(Delivery::Ended(EndCause::Kicked))));
        assert!(heard.try_recv().is_none());
    }

    #[test]
    fn what_was_taken_makes_room_and_what_was_missed_is_counted_once() {
        let (local_sessions, session) = (LocalSessions::default(), SessionId(1));
        let mut heard = local_sessions.listen(session);
        for _ in 0..DELIVERIES_MAX + 2 {
            local_sessions.tell(session, Delivery::Message(Arc::new(())));
        }
        assert_eq!((heard.take_missed(), heard.take_missed()), (2, 0));
        assert!(heard.try_recv().is_some());
        local_sessions.tell(session, Delivery::Message(Arc::new(())));
        assert_eq!(heard.take_missed(), 0);
    }
}
