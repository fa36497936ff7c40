//! Frames that are kept for one reader and frames that several share, read as one row.

use std::collections::VecDeque;

use rejoin_wire::SharedFrame;

use super::Kept;

/// Frames that several readers share: the ring and the latest values of a zone.
pub(crate) trait SharedFrames {
    /// The shared frames after a number that this reader is meant to hear, in the order of their numbers.
    fn after(&self, after: u64) -> impl Iterator<Item = (u64, &SharedFrame)>;
}

/// A session in no zone shares its stream with nobody.
pub(crate) struct NoShared;

impl SharedFrames for NoShared {
    fn after(&self, _: u64) -> impl Iterator<Item = (u64, &SharedFrame)> {
        std::iter::empty()
    }
}

/// Everything that is kept after a number, for this reader alone or for several, in the order of the numbers.
pub(super) fn frames_after<'a>(
    own: &'a VecDeque<Kept>,
    shared: &'a impl SharedFrames,
    after: u64,
) -> impl Iterator<Item = (u64, &'a SharedFrame)> {
    let start = own.partition_point(|kept| kept.seq <= after);
    merged(own.range(start..).map(|kept| (kept.seq, &kept.frame)), shared.after(after))
}

/// Two rows of numbered frames as one, in the order of the numbers.
pub(crate) fn merged<'a>(
    one: impl Iterator<Item = (u64, &'a SharedFrame)>,
    other: impl Iterator<Item = (u64, &'a SharedFrame)>,
) -> impl Iterator<Item = (u64, &'a SharedFrame)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((seq, _)), Some((first, _))) if first < seq => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}
