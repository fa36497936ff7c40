//! Hosts: processes that run Games. Each is a scope of its own: its lease, and which Games it runs.

pub(crate) mod core;
pub(crate) mod health;
pub(crate) mod row;

use std::sync::Arc;
use std::time::Duration;

pub use rejoin_core::game::HostEnd;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId};

use crate::game::{Entry, GameSpec, GameView};
use crate::limits;
use crate::refusal::Refusal;

/// What a process says of itself when it registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registration {
    /// The fleet it belongs to.
    pub fleet: String,
    /// Its name there; fleet and name make its id. Whoever registers it again takes it over.
    pub name: String,
    /// Where it is; one of the fleet's locations.
    pub location: String,
    /// Host name or address that players connect to, 1 to 256 characters; passed on unchanged.
    pub address: String,
    /// How many Games it runs at a time, 1 to 1000; exactly 1 if it is not reusable.
    pub games_max: u32,
    /// It can run another Game when one is over; otherwise it ends with its first.
    pub is_reusable: bool,
}

impl Registration {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        limits::name("host name", &self.name)?;
        limits::location(&self.location)?;
        limits::text("address", &self.address, limits::ADDRESS_MAX, "1 to 256 characters")?;
        let most = if self.is_reusable { limits::HOST_GAMES_MAX } else { 1 };
        if !(1..=most).contains(&self.games_max) {
            let must = "1 to 1000, and 1 for a host that ends with its first game";
            return Err(Refusal::Invalid { field: "games_max", must });
        }
        Ok(())
    }
}

/// What a host's process says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostWord {
    /// It can take Games, or, if it was away, take them back.
    Ready {
        /// Port that players connect to, 1 to 60000.
        port: u16,
        /// Paths of its logs, at most 16; shown in its view and not read here.
        log_paths: Vec<String>,
        /// Its hooks are set.
        hooks_set: bool,
        /// The Games that it still runs.
        games: Vec<GameId>,
    },
    /// Whether it is well.
    Healthy(bool),
    /// The begin hook of a create: the Game runs, or why not.
    Began(GameId, Result<(), String>),
    /// The begin hook of an update: go on, or why not.
    Updated(GameId, Result<(), String>),
    /// The begin hook of a destroy: it will end the Game, or why not.
    Destroying(GameId, Result<(), String>),
    /// A Game has ended there.
    Destroyed(GameId),
    /// A match that closes its Game to new players runs there, or none does. May be said again.
    Match(GameId, bool),
    /// May the holder of this seat come in? Answered by ticket; no answer means no.
    Accept {
        /// Repeated in the answer.
        ticket: u64,
        /// Game to be let into; must be active and one of this host's.
        game: GameId,
        /// Seat that the player shows; must be reserved, and becomes active.
        seat: SeatId,
        /// Player that the holder claims to be, compared with the seat's; none: not compared.
        player: Option<String>,
    },
    /// The same from a process that counts those it lets in: asked again for the same entry, the answer
    /// is the same, and a new process of the host lets in again whom the one before it had.
    Admit {
        /// Repeated in the answer.
        ticket: u64,
        /// Game to be let into; must be active and one of this host's.
        game: GameId,
        /// Seat that the player shows; must be reserved, or have been let in with an `entry`.
        seat: SeatId,
        /// Player that the holder claims to be, compared with the seat's; none: not compared.
        player: Option<String>,
        /// Number of this entry; a repeated one is answered as before.
        entry: Entry,
    },
    /// The holder of this seat is gone.
    Remove {
        /// Repeated in the answer.
        ticket: u64,
        /// Game that the player has left; must be one of this host's.
        game: GameId,
        /// Seat in use, which ends; one that is over already stays as it is.
        seat: SeatId,
    },
    /// It is about to end by itself.
    Ending,
}

/// An order to a host's process.
#[derive(Clone, PartialEq, Debug)]
pub enum HostOrder {
    /// Prepare this Game: the begin hook of a create. May come again.
    Create(Arc<GameView>),
    /// The Game is active: the end hook of a create. May come again.
    CreateEnd(GameId),
    /// May the Game change so? The begin hook of an update.
    Update(GameId, Arc<GameSpec>),
    /// The Game has changed.
    UpdateEnd(GameId),
    /// Are you well?
    CheckHealth,
    /// No good word for too long: no new joins, and the end in this time.
    Warn {
        /// In how long.
        ends_in: Duration,
    },
    /// End this Game: the begin hook of a destroy. May come again.
    Destroy {
        /// Game to end; the process answers `Destroying`, and `Destroyed` once it is over.
        game: GameId,
        /// The configured `destroy_limit`; when it has passed, the Game ends without an answer.
        limit: Duration,
        /// Whether the hook may say no.
        may_refuse: bool,
    },
    /// The Game is over, and nothing of it is wanted any more. May come again.
    DestroyEnd(GameId),
    /// What was said could not be taken.
    Refused(Refusal),
    /// What was said of a Game could not be taken. A process that runs it should drop it.
    RefusedWord {
        /// Name of the refused message: `began`, `updated`, `destroying`, `destroyed` or `match`.
        word: &'static str,
        /// Game that the message named, whether or not there is one of that id.
        game: GameId,
        /// Always `NotYours`: the host does not run the Game, or has not said that it is ready.
        why: Refusal,
    },
    /// The host is over.
    End(HostEnd),
}

/// Where a host is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostState {
    /// Registered, and never ready yet.
    Registered,
    /// It has been ready.
    Ready,
    /// It takes no more Games, and ends when it has none.
    Draining,
    /// It is over, and is deleted when its last Game has ended.
    Ended(HostEnd),
}

/// Whether a host's process is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Not connected: its Games are hidden, and after `away_limit` the host ends as lost.
    Away,
    /// Registered but not ready: its Games are hidden, and `away_limit` counts as if it were away.
    Waiting,
    /// Connected and ready.
    Present,
}

/// Where players find a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostAddress {
    /// Host that runs the Game, as it was chosen when the Game was made.
    pub host: HostId,
    /// From its latest registration; passed on unchanged.
    pub address: String,
    /// From its latest `Ready`; 0 until the first one.
    pub port: u16,
}

/// A host as others may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct HostView {
    /// Derived from fleet and name, so every process that registers so has the same id.
    pub id: HostId,
    /// From the process that registered last.
    pub registration: Registration,
    /// Which process speaks for it: every registration raises this.
    pub lease: OwnerEpoch,
    /// Port that players connect to; 0 until the host is ready for the first time.
    pub port: u16,
    /// Paths of its logs, from its latest `Ready`.
    pub log_paths: Vec<String>,
    /// Where it is in its life.
    pub state: HostState,
    /// Whether its process is connected and ready; always away after a restart of the server.
    pub presence: Presence,
    /// False from a warning until the next good word or `Ready`; true if it was never warned.
    pub is_healthy: bool,
    /// The Games it runs, in the order of their ids.
    pub games: Vec<GameId>,
}
