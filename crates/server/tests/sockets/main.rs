//! The server on real sockets, spoken to by an independent WebSocket client that types its frames.

mod agents;
mod blocking;
mod client;
mod dialogue;
mod embedding;
mod hostile;
mod resume;
mod stuck;
