//! The target `endpoint` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::endpoint::run(bytes));
