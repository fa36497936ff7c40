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
//! let server = ServerBuilder::new().zone("relay", relay::config(), relay::Relay::default).start()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7400").await?;
//! server.listen(listener, WebConfig::default()).await;
//! # Ok(()) }
//! ```

pub mod admin;
pub mod admission;
pub mod api;
pub mod blocking;
pub mod directory;
pub mod events;
pub mod identity;
pub mod jobs;
pub mod listener;
pub mod local;
pub mod players;
pub mod webhook;

mod accept_guard;
mod agents;
mod builder;
mod clock;
mod connection_table;
mod enet;
mod frame_log;
mod hub_task;
mod journal;
mod kinds;
mod listener_thread;
mod local_sessions;
mod logbook;
mod mailbox;
mod metrics;
mod pages;
mod places;
mod proxies;
mod proxy_header;
mod queue;
mod refusals;
mod server;
mod sight;
mod store_thread;
mod tally;
mod tcp;
mod tls;
mod transport;
mod websocket;
mod zones;

pub use self::admin::AdminConfig;
pub use rejoin_directory::{DirectoryConfig, LocalHooks};
pub use rejoin_relay as relay;

pub use self::admission::{Admission, LogGate, Verdict};
pub use self::api::{ApiConfig, ApiKey, Role};
pub use self::builder::{ServerBuilder, StartError};
pub use self::directory::{AskError, DirectoryDoor, GamesConfig};
pub use self::enet::{Encryption, EnetConfig, ServerKey};
pub use self::frame_log::FrameLog;
pub use self::identity::{
    IdentityConfig, JwtConfig, JwtError, KeySource, PasswordError, hash_password,
};
pub use self::jobs::JobRunner;
pub use self::listener::WebConfig;
pub use self::listener_thread::{Listener, Listening};
pub use self::local::Local;
pub use self::local_sessions::Deliveries;
pub use self::logbook::Addresses;
pub use self::pages::Page;
pub use self::places::Reach;
pub use self::proxies::{AddressBlock, AddressBlockError, ForwardedHeader};
pub use self::queue::QueueLimits;
pub use self::server::{Server, ServerError};
pub use self::sight::SightConfig;
pub use self::tcp::TcpConfig;
pub use self::tls::{Tls, TlsError};
pub use self::webhook::{Webhook, WebhookError};
