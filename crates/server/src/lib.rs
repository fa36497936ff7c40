//! Drives the rules of Rejoin on real clocks, threads and sockets.
//!
//! The hub runs in one task, zones on threads of their own, the store on another; connections are
//! one task each. They share nothing but bounded queues. This is the only crate that reads a clock
//! or opens a socket, and it contains no rule of the domain: what happens is decided in
//! `rejoin-core`, and carried out here in the order in which it was decided.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use rejoin_server::{ServerBuilder, WebConfig, relay};
//!
//! let server = ServerBuilder::new().zone("relay", relay::config(), || relay::Relay).start()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7400").await?;
//! server.listen(listener, WebConfig::default()).await;
//! # Ok(()) }
//! ```

pub mod admission;
pub mod blocking;
pub mod jobs;
pub mod listener;
pub mod relay;

mod agents;
mod builder;
mod clock;
mod hub_task;
mod kinds;
mod ledger;
mod lines;
mod mailbox;
mod natives;
mod pages;
mod places;
mod server;
mod websocket;
mod zones;

pub use self::admission::{Admission, Verdict};
pub use self::builder::{ServerBuilder, StartError};
pub use self::jobs::JobRunner;
pub use self::lines::QueueLimits;
pub use self::listener::WebConfig;
pub use self::natives::Deliveries;
pub use self::pages::Page;
pub use self::places::Reach;
pub use self::server::{Server, ServerError};
