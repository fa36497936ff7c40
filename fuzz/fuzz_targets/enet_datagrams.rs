//! Any datagrams of a peer of ENet.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::enet::datagrams(data));
