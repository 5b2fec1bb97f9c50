//! Our own TCP at one end of the links and a device at the other: the client of a real server (`fetch.rs`), or the
//! server of real clients (`serve.rs`). `userspace_host.rs` is the host of our TCP, with its links and its device.

pub(crate) mod fetch;
pub(crate) mod serve;
pub(crate) mod userspace_host;
