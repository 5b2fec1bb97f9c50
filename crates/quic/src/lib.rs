//! QUIC in a capture: packet protection removed (RFC 9001), frames (RFC 9000 §19), and the history of each sender
//! by the acknowledgments (RFC 9002).
//!
//! [`Connection`] takes the datagrams of a connection and gives its packets. The keys of Initial packets follow from
//! the packets themselves; the others need the secrets that an end logged ([`KeyLog`]). [`Senders`] takes the packets
//! and finds losses, round trips, probes and data that were sent again.
//!
//! Read `connection.rs` first. `header.rs` cuts datagrams into packets, `keys.rs` opens them, `frame.rs` reads what
//! they hold, `hello.rs` what TLS sends in the clear or under handshake keys. `sender/` is the second half.

mod bytes;
mod connection;
mod crypto_stream;
pub mod frame;
mod header;
mod hello;
mod keylog;
mod keys;
mod one_rtt;
pub mod sender;

pub use connection::{Connection, Contents, Origin, Packet, Unopened};
pub use frame::Frame;
pub use header::{Kind, Space};
pub use keylog::{KeyLog, KeyLogError};
pub use keys::Suite;
pub use sender::{Fate, Senders};
