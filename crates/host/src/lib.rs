//! A game process as a host of Rejoin: it registers with the directory of a server, is told which
//! Games to run, and lets in only players whose seat the directory confirms.
//!
//! ```no_run
//! use rejoin_host::{Game, GameId, Host, Hooks};
//!
//! struct Matches;
//!
//! impl Hooks for Matches {
//!     fn on_create_begin(&self, game: &Game) -> bool {
//!         println!("a match for {} players", game.capacity);
//!         true
//!     }
//! }
//!
//! # async fn serve(game: GameId, ticket: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder("http://localhost:7400", "rejoin_host_...")
//!     .fleet("duels")
//!     .name("box-1")
//!     .location("here")
//!     .address("203.0.113.7")
//!     .hooks(Matches)
//!     .start()?;
//! host.ready(7777, &["/var/log/duels.log"]).await?;
//! // A player connects to this process, shows the ticket of a seat and says who it is:
//! let seat = host.admit(game, ticket, Some("ann")).await?;
//! // and goes.
//! host.left(&seat).await;
//! # Ok(())
//! # }
//! ```
//!
//! The line to the server may break, and so may the server: the host is then *away*, its Games are in no
//! listing, and who is in plays on. When it is back it says what it runs, and both ends say again what
//! had no answer. A process that was started anew names the Games it has restored with
//! [`Builder::running`].

pub mod blocking;

mod driver;
mod error;
mod game;
mod hooks;
mod host;
mod line;
mod machine;
mod message;

pub use error::{AdmitError, HostEnd, HostError};
pub use game::{Game, Seat, SeatStatus};
pub use hooks::Hooks;
pub use host::{Builder, Host};
pub use rejoin_core::id::{GameId, SeatId};
