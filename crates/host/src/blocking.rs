//! The host for processes that are not async: the same calls, with a thread of its own behind them.
//! They must not be made from within an async runtime.

use rejoin_core::id::GameId;
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

use crate::error::{AdmitError, HostEnd, HostError};
use crate::game::Seat;
use crate::host::{Builder, Host as AsyncHost};

/// A host. When it is dropped the host is away.
#[derive(Debug)]
pub struct Host {
    host: AsyncHost,
    runtime: Runtime,
}

impl Host {
    /// Starts what was built.
    ///
    /// # Errors
    /// As [`Builder::start`], and when no thread can be started.
    pub fn start(builder: Builder) -> Result<Self, HostError> {
        let mut threads = RuntimeBuilder::new_multi_thread();
        threads.worker_threads(1).thread_name("rejoin-host").enable_all();
        let runtime = threads.build().map_err(HostError::System)?;
        let host = runtime.block_on(async { builder.start() })?;
        Ok(Self { host, runtime })
    }

    /// As [`ready`](AsyncHost::ready).
    ///
    /// # Errors
    /// The hooks are not set, it was called before, or the host is over.
    pub fn ready(&self, port: u16, log_paths: &[&str]) -> Result<(), HostError> {
        self.runtime.block_on(self.host.ready(port, log_paths))
    }

    /// As [`admit`](AsyncHost::admit).
    ///
    /// # Errors
    /// The reason for which the player must be kept out.
    pub fn admit(
        &self,
        game: GameId,
        ticket: &str,
        player: Option<&str>,
    ) -> Result<Seat, AdmitError> {
        self.runtime.block_on(self.host.admit(game, ticket, player))
    }

    /// As [`seats`](AsyncHost::seats).
    ///
    /// # Errors
    /// The directory cannot be asked, or does not know the Game.
    pub fn seats(&self, game: GameId) -> Result<Vec<Seat>, AdmitError> {
        self.runtime.block_on(self.host.seats(game))
    }

    /// As [`left`](AsyncHost::left).
    pub fn left(&self, seat: &Seat) {
        self.runtime.block_on(self.host.left(seat));
    }

    /// As [`game_over`](AsyncHost::game_over).
    pub fn game_over(&self, game: GameId) {
        self.runtime.block_on(self.host.game_over(game));
    }

    /// As [`end`](AsyncHost::end).
    pub fn end(&self) -> HostEnd {
        self.runtime.block_on(self.host.end())
    }

    /// As [`ended`](AsyncHost::ended).
    pub fn ended(&self) -> HostEnd {
        self.runtime.block_on(self.host.ended())
    }
}
