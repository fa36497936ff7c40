//! Numbered streams between a place and one client, in both directions. A place is a zone, or the session
//! itself while it is in no zone; both use these types, so exactly-once delivery is decided here alone.
//!
//! `Inbound` consumes a client's numbers, each once and in order. `Outbound` is what one client is owed of
//! the open leg: what is kept for it, how far it has been sent and acknowledged, and whether a resume can
//! go on. [`EarlierLegs`] holds the unacknowledged ends of legs that are over.
//!
//! Nothing here knows rows, links beyond their identity, or frames beyond their size.

mod earlier;
mod inbound;
mod outbound;
mod sending;
mod shared;

use std::collections::VecDeque;

use rejoin_wire::SharedFrame;

pub use self::earlier::{EarlierLegs, OutboxLimits};
pub(crate) use self::inbound::{Arrival, Inbound};
pub(crate) use self::outbound::{AckAhead, Acked, Outbound, SendWindow};
pub(crate) use self::shared::{NoShared, SharedFrames, merged};
use crate::id::Leg;

#[cfg(test)]
mod tests;

/// A numbered frame that is kept until it is acknowledged.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number in its leg.
    pub seq: u64,
    /// The encoded frame, shared with everything else that keeps it.
    pub frame: SharedFrame,
}

/// The unacknowledged end of one leg.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The leg whose end it is.
    pub leg: Leg,
    /// Everything of the leg after this number is in `kept`.
    pub from: u64,
    /// The last number that the leg gave to this reader.
    pub last: u64,
    /// The frames, in the order of their numbers.
    pub kept: VecDeque<Kept>,
}
