//! Any bytes as a compressed frame.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::wire::packed(data));
