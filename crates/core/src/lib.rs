//! The rules of Rejoin, sans-IO.
//!
//! Machines of one shape live here: the [`hub::Hub`] (connections, sessions, identity), a
//! [`zone::ZoneCore`] for each zone, and an [`agent::AgentCore`] for each session that the server
//! plays. A machine takes one input at an instant that the driver
//! names, and is then drained of all its outputs before it takes the next. It reads no clock, no
//! socket, no disk and no chance but what it is handed, so the same inputs give the same outputs,
//! byte for byte. [`roster::Roster`] stands alone.

pub mod account;
pub mod agent;
pub mod budget;
pub mod call;
pub mod chance;
mod clock;
pub mod connection;
pub mod event;
pub mod exchange;
pub mod game;
pub mod gate;
pub mod guard;
mod handshake;
pub mod hub;
pub mod id;
pub mod mark;
pub mod never;
mod orders;
pub mod planted;
mod player;
pub mod roster;
pub mod scope;
pub mod seat;
pub mod secret;
pub mod session;
pub mod stream;
mod text;
pub mod time;
pub mod timeline;
pub mod zone;
mod zone_registry;

pub use rejoin_wire as wire;
