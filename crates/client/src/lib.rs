//! The client end of Rejoin, sans-IO.
//!
//! A [`Client`] takes one input at an instant that its driver names and is then drained of all its
//! outputs: frames to send, connections to open, tokens to store, events for the game. It reads no
//! clock, no socket, no disk and no chance but the seed it was given, so the same inputs give the
//! same outputs. Whatever a server sends, it does not panic: an illegal frame costs the connection,
//! and the client comes back by itself.
//!
//! ```
//! use rejoin_client::{Client, Config, Identity, Output, Time};
//!
//! let mut client = Client::new(Config::new("play.example"), Identity::Anonymous, [7; 32]);
//! client.connect(Time::ZERO);
//! assert!(matches!(client.next_output(), Some(Output::Connect { .. })));
//! assert!(client.next_output().is_none());
//! // The driver dials, and from then on calls `opened`, `received`, `closed` and, at
//! // `next_deadline`, `wake`; after each it drains `next_output`.
//! assert!(client.next_deadline().is_some());
//! ```
//!
//! With the feature `tokio` comes such a driver, and with it everything a game needs: `driver::Player`
//! connects by WebSocket and comes back by itself, `driver::blocking::Player` does so for loops that
//! are not async.

mod backoff;
mod buffer;
mod chance;
mod client;
mod config;
mod downstream;
#[cfg(feature = "tokio")]
pub mod driver;
mod error;
mod event;
mod identity;
mod ledger;
mod pulse;
mod time;

pub use client::{Client, Latency, Status};
pub use config::Config;
pub use error::{SendError, Violation};
pub use event::{Event, Output, RequestEnd, Rung, SendId};
pub use identity::{Identity, ResumeState, Secret, Signer};
pub use time::Time;

// Part of the API: what events carry and what a driver reports.
pub use rejoin_wire::v1::{
    CloseCode, Latest, NoticeCode, PartCause, RefusalCode, RungReason, ZoneRef,
};
pub use rejoin_wire::{Bytes, DecodeError, Encoding, Limits};
