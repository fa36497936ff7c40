//! The tokio driver on real sockets, against a real hub behind a real WebSocket server.

#![allow(unreachable_pub)] // A test crate has no outside to reach.

mod blocking;
mod failures;
mod house;
mod scene;
mod sessions;
mod storage;
mod streams;
