//! Deliberate bugs. A simulator that has never caught one proves nothing, so some live here, asleep
//! unless a test arms one of them, and not compiled at all without the feature `planted`.

/// A bug that can be armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A Game promises one seat more than it has.
    OneSeatTooMany,
    /// What a commit lets others see is let out before the commit.
    ToldBeforeDurable,
    /// A host is not told that a Game is over.
    HostNotReleased,
    /// A Game whose host is gone stays in listings.
    GhostListed,
    /// A Game keeps its old place in an index when what it is sorted by changes.
    IndexEntryKept,
    /// A reservation that has run out keeps its seat.
    ReservationNotFreed,
    /// A party that does not fit is refused, and some of it has seats.
    PartyInPart,
    /// The last seat of a party is written with the commit after the answer.
    PartySplit,
    /// A reservation is given back whatever secret is shown.
    SecretNotAsked,
    /// A seat that is over is still charged to its payer.
    PayerNotRelieved,
    /// A page of seats begins with the last one of the page before.
    SeatPageRepeats,
    /// A placement takes the word of any of its attempts for that of the present one.
    StaleAttempt,
}

#[cfg(feature = "planted")]
mod armed {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static ARMED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Arms one bug on this thread, or none.
    pub fn arm(bug: Option<Bug>) {
        ARMED.set(bug);
    }

    pub(crate) fn is_armed(bug: Bug) -> bool {
        ARMED.get() == Some(bug)
    }
}

#[cfg(feature = "planted")]
pub use armed::arm;
#[cfg(feature = "planted")]
pub(crate) use armed::is_armed;

#[cfg(not(feature = "planted"))]
pub(crate) fn is_armed(_bug: Bug) -> bool {
    false
}
