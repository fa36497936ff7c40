//! What a game says to the life of its Games. Everything has a default, which is yes.

use std::time::Duration;

use rejoin_core::id::GameId;

use crate::game::Game;

/// The game's part in the life of a host. Hooks about Games run one after the other, in their order, on
/// a thread of their own; they may take their time. One that panics has said no.
///
/// A begin hook that said yes is never asked again about the same thing, whatever becomes of the line.
/// One that said no to a change or an end may be, if its answer was lost on the way.
#[allow(unused_variables)]
pub trait Hooks: Send + Sync + 'static {
    /// A Game is to be prepared; false refuses it, and nothing of it is left. When this returns true,
    /// players may be admitted.
    fn on_create_begin(&self, game: &Game) -> bool {
        true
    }

    /// The Game is active: players can find it. Also called when a process that was started anew has taken
    /// the Game back.
    fn on_create_end(&self, game: GameId) {}

    /// A Game is to change; this is how it would be. False refuses that.
    fn on_update_begin(&self, game: &Game) -> bool {
        true
    }

    /// The Game has changed.
    fn on_update_end(&self, game: &Game) {}

    /// Whether all is well. Asked on a thread of its own.
    fn on_health_check(&self) -> bool {
        true
    }

    /// A Game is to end within this time; false keeps it, where that may be refused. After true, say
    /// [`game_over`](crate::Host::game_over) when it is; it ends with the time in any case.
    fn on_destroy_begin(&self, game: GameId, limit: Duration, may_refuse: bool) -> bool {
        true
    }

    /// The Game is over, here and in the directory; whoever is in it has no seat any more.
    fn on_destroy_end(&self, game: GameId) {}

    /// The line to the server is there, or is gone. Without it nobody new can be admitted.
    fn on_line(&self, is_there: bool) {}

    /// No good word for too long: nobody new comes, and the host ends in this time.
    fn on_warning(&self, ends_in: Duration) {}
}
