//! How far one link is: what is on it and not acknowledged, and until when an acknowledgement is due.

use std::collections::VecDeque;

use super::outbound::SendWindow;
use crate::exchange::Link;
use crate::time::Time;

/// How far the present link is.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) link: Link,
    /// The highest number put on the link; it may still wait for its commit.
    pub(super) sent: u64,
    /// The highest number that has left.
    pub(super) left: u64,
    /// Numbers and sizes of what is on the link and not acknowledged.
    pub(super) in_flight: VecDeque<(u64, usize)>,
    pub(super) in_flight_bytes: usize,
    pub(super) resync: Option<Resyncing>,
    /// An acknowledgement is due by then, in service time.
    pub(super) progress_at: Option<Time>,
}

/// A resync that the client has not acknowledged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Resyncing {
    pub(super) seq: u64,
    /// Another one is due once this one is acknowledged.
    pub(super) again: bool,
}

impl Sending {
    pub(super) fn has_room(&self, window: SendWindow) -> bool {
        self.in_flight.len() < window.frames && self.in_flight_bytes < window.bytes
    }

    pub(super) fn put(&mut self, seq: u64, bytes: usize) -> Link {
        self.sent = seq;
        self.in_flight.push_back((seq, bytes));
        self.in_flight_bytes += bytes;
        self.link
    }

    /// Whether something has left that the client has not acknowledged.
    pub(super) fn owes(&self, acked: u64) -> bool {
        self.left > acked || self.resync.is_some()
    }
}
