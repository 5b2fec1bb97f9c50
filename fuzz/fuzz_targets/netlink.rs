//! The target `netlink` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::netlink::run(bytes));
