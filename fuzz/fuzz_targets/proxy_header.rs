//! Any bytes as what a proxy says of its client.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::proxy::proxy(data));
