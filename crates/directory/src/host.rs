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
    /// Where players find it.
    pub address: String,
    /// How many Games it runs at a time.
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
        /// Where players reach it.
        port: u16,
        /// Where it writes its logs.
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
        /// Into which Game.
        game: GameId,
        /// With which seat.
        seat: SeatId,
        /// Who the holder says to be, if the host asked.
        player: Option<String>,
    },
    /// The same from a process that counts those it lets in: asked again for the same entry, the answer
    /// is the same, and a new process of the host lets in again whom the one before it had.
    Admit {
        /// Repeated in the answer.
        ticket: u64,
        /// Into which Game.
        game: GameId,
        /// With which seat.
        seat: SeatId,
        /// Who the holder says to be, if the host asked.
        player: Option<String>,
        /// For which entry.
        entry: Entry,
    },
    /// The holder of this seat is gone.
    Remove {
        /// Repeated in the answer.
        ticket: u64,
        /// From which Game.
        game: GameId,
        /// With which seat.
        seat: SeatId,
    },
    /// It is about to end by itself.
    Ending,
}

/// What a host's process is told.
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
        /// Which.
        game: GameId,
        /// Within this time.
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
        /// The word, as hosts say it.
        word: &'static str,
        /// Of which Game.
        game: GameId,
        /// Why.
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
    /// It is over; its Games are being told.
    Ended(HostEnd),
}

/// Whether a host's process is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Not connected.
    Away,
    /// Connected, and not ready yet.
    Waiting,
    /// Connected and ready.
    Present,
}

/// Where players find a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostAddress {
    /// Which host.
    pub host: HostId,
    /// As it said when it registered.
    pub address: String,
    /// As it said when it was ready.
    pub port: u16,
}

/// A host as others may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct HostView {
    /// Which.
    pub id: HostId,
    /// What it said of itself.
    pub registration: Registration,
    /// Which process speaks for it: every registration raises this.
    pub lease: OwnerEpoch,
    /// Where players reach it, once it is ready.
    pub port: u16,
    /// Where it writes its logs.
    pub log_paths: Vec<String>,
    /// Where it is in its life.
    pub state: HostState,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether it is well.
    pub is_healthy: bool,
    /// The Games it runs, in the order of their ids.
    pub games: Vec<GameId>,
}
