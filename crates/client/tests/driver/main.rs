//! The tokio driver on real sockets, against a real hub behind a real WebSocket server.

#![allow(missing_docs, unreachable_pub)] // Nothing outside sees this.

mod blocking;
mod failures;
mod house;
mod scene;
mod sessions;
mod storage;
mod streams;
