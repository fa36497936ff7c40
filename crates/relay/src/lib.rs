//! The built-in zone that needs no game code. Members say things to each other, share a state of
//! keys and values, own objects, and one of them is the host, who may start a match or send
//! somebody away.
//!
//! What is said is an [`Order`], what is heard a [`Fact`]: a line of JSON, and after a line feed
//! whatever bytes the game likes. docs/RELAY.md tells them one by one.

pub mod config;
pub mod fact;
pub mod order;

mod host;
mod line;
mod relay;
mod store;

pub use self::config::RelayConfig;
pub use self::fact::{Fact, Heard};
pub use self::order::{Order, Said};
pub use self::relay::Relay;

/// The name of the kind.
pub const KIND: &str = "relay";

/// How a relay runs if nothing is said.
#[must_use]
pub fn config() -> rejoin_core::zone::ZoneConfig {
    RelayConfig::default().zone()
}
