//! The event loop around the World: packets come out of devices and stacks, cross the links, and go back in when they
//! are due.
//!
//! `driver.rs` is the loop. `network.rs` is the World with a capture point at each host, `attachment.rs` the device or
//! stack at a host's end of it, `outgoing.rs` the packets that are due, `waiting/` how a thread waits for a time or a
//! packet, `lateness.rs` how late packets were, `link_state.rs` the state of a link during the run, and `account.rs`
//! how the thread has spent its time.

pub(crate) mod account;
pub(crate) mod attachment;
pub(crate) mod bridge;
pub(crate) mod driver;
pub(crate) mod lateness;
pub(crate) mod link_state;
pub(crate) mod network;
pub(crate) mod outgoing;
pub(crate) mod waiting;
