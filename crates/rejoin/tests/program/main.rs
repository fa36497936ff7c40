//! The program as people start it.
#![cfg(feature = "server")]

mod arena;
mod binary;
mod dialogue;
mod doors;
mod serving;
