//! Our own TCP at one end of the links and a device at the other: the client of a real server (`fetch.rs`), or the server of
//! real clients (`serve.rs`). `station.rs` sets up what both need.

pub(crate) mod fetch;
pub(crate) mod serve;
pub(crate) mod station;
