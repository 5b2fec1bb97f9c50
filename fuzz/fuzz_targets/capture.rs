//! The target `capture` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::capture::run(bytes));
