//! A deliberate bug of the codec, asleep unless a test of the simulator arms it, and not compiled at all
//! without the feature `planted`. The other planted bugs are those of `rejoin-core`.

use std::cell::Cell;

thread_local! {
    static ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread compress every frame of a server, whatever it holds and even if that makes it longer;
/// `false` ends that.
pub fn arm(armed: bool) {
    ARMED.set(armed);
}

pub(crate) fn is_armed() -> bool {
    ARMED.get()
}
