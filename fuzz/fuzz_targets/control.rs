//! The target `control` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::control::run(bytes));
