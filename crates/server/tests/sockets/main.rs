//! The server on real sockets, spoken to by an independent WebSocket client that types its frames.

mod client;
mod dialogue;
mod doors;
mod embedding;
mod hostile;
mod resume;
mod stuck;
