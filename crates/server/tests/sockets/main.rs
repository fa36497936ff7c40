//! The server on real sockets, spoken to by an independent WebSocket client that types its frames.

mod admin;
mod agents;
mod blocking;
mod client;
mod dialogue;
mod doors;
mod embedding;
mod encrypted;
mod events;
mod figures;
mod guard;
mod hostile;
mod identity;
mod operator;
mod resume;
mod rules;
mod settings;
mod streams;
mod stuck;
