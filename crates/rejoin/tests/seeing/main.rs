//! What an operator sees of the binary: its log, and the requests of docs/OPERATIONS.md.
#![cfg(feature = "server")]

mod logs;
mod operations;
mod process;
