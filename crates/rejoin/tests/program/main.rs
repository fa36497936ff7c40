//! The program as people start it.
#![cfg(feature = "server")]

mod binary;
mod dialogue;
mod serving;
