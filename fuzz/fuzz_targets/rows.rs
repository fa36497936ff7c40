//! Any bytes as what a hub kept.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::hub::rows(data));
