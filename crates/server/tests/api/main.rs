//! The directory over HTTP, on real sockets, with requests typed by hand.

mod asker;
mod described;
mod desk;
mod outside;
mod page;
mod players;
mod refused;
mod roles;
mod story;
mod tied;
