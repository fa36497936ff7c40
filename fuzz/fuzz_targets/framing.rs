//! Any bytes as a stream of frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin_fuzz::wire::framing(data));
