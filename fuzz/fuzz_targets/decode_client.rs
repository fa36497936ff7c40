//! Any bytes as a frame of a client.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::wire::client(data));
