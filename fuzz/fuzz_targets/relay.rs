//! Any bytes as a payload of the relay zone.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::relay::relay(data));
