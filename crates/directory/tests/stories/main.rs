//! Short plays against the directory: one machine, a store below it, and a clock that the play
//! moves. Each tells one rule in plain words.
#![allow(unreachable_pub)] // A test crate has no outside to reach.

mod desk;
mod durable;
mod edges;
mod games;
mod hosts;
mod limits;
mod matrix;
mod placements;
mod search;
mod seats;
mod steps;
mod watches;
