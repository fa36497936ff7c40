//! Any datagram of somebody unknown at a door for ENet.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::enet::guard(data));
