//! The target `quic` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::quic::run(bytes));
