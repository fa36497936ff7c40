//! Any script of peers against a hub.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::hub::hub(data));
