//! What a simulated world is made of. The worlds of this crate and of Rejoin's own simulator share
//! these; a game's tests need none of them.

pub mod disk;
pub mod queue;
pub mod rng;
pub mod stamp;
