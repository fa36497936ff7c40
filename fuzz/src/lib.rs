//! What the fuzz targets do with their bytes, apart from the fuzzer: a file for each crate that reads
//! what others wrote.
//!
//! That crate's test `corpus` includes its file and replays the seeds with it on any compiler, so that
//! what a fuzzer once found stays found. A target panics when a promise is broken.

pub mod enet;
pub mod hub;
pub mod proxy;
pub mod relay;
pub mod replay;
pub mod search;
pub mod wire;
