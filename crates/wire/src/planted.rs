//! A deliberate bug of the codec, asleep unless a test of the simulator arms it, and not compiled at all
//! without the feature `planted`. The other planted bugs are those of `rejoin-core`.

use std::cell::Cell;

thread_local! {
    static ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread compress frames of servers whatever they hold and however long that makes them, or
/// stops it.
pub fn arm(armed: bool) {
    ARMED.set(armed);
}

pub(crate) fn is_armed() -> bool {
    ARMED.get()
}
