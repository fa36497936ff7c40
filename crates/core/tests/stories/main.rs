//! Short plays on the whole core: one hub, its zones, a plain store, a faked clock and scripted
//! clients. Each test is one story; together they hold every typed answer the core can give.

#![allow(unreachable_pub)] // A test crate has no outside to reach.

mod desk;

mod account_life;
mod accounts;
mod calls;
mod collisions;
mod crowd;
mod deadlines;
mod durable;
mod frames;
mod guard;
mod guests;
mod handshake;
mod identity;
mod lobby;
mod natives;
mod numbers;
mod openings;
mod outside;
mod places;
mod returns;
mod rolled_back;
mod scale;
mod seats;
mod sessions;
mod shutdown;
mod streams;
mod timeline;
mod tokens;
mod words;
mod zones;
