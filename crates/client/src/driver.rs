//! The client on tokio: sockets, timers, keys and files around the sans-IO [`Client`](crate::Client).
//!
//! [`Player::connect`] starts one task, which dials, comes back after every loss, and carries the
//! client's outputs out in their order. The game gives commands through a [`Player`] and hears what
//! happened from [`Events`]. Both are bounded: while a game does not take its events, the task does
//! not read its socket. The rules are the client's; nothing is decided here.
//!
//! ```no_run
//! use rejoin_client::driver::{Folder, Options, Player};
//! use rejoin_client::Event;
//!
//! # async fn play() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::new().storage(Folder::new("./my-game"));
//! let (player, mut events) = Player::connect("ws://localhost:7400/play", options).await?;
//! player.join("chat", "lobby", true, "").await?;
//! while let Some(event) = events.next().await {
//!     match event {
//!         Event::Connected { rung, .. } => println!("here, and what survived: {rung:?}"),
//!         Event::Message { payload } => println!("{payload:?}"),
//!         Event::Stopped { .. } => break,
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod blocking;
#[cfg(feature = "sessions")]
pub mod exchange;
#[cfg(feature = "sessions")]
pub mod sessions;

mod address;
mod clock;
mod command;
mod endpoint;
#[cfg(feature = "enet")]
mod enet;
mod error;
mod key;
mod line;
mod options;
mod pipe;
mod player;
mod record;
mod storage;
mod stream;
mod task;
mod trust;
mod vault;
mod websocket;

pub use endpoint::Endpoint;
pub use error::{CallError, OpenError, RequestError};
pub use key::Key;
pub use options::{Encryption, Login, Options};
pub use pipe::{Bytes, Pipe};
pub use player::{Events, Player, Request};
pub use storage::{Folder, Memory, Slot, Storage};
