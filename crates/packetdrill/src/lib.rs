//! packetdrill scripts (Cardwell et al. 2013, "packetdrill: scriptable network stack testing, from sockets to packets").
//!
//! A script is a list of events in time: system calls of a program, segments that come in, segments that are expected to go
//! out, assertions on the state of the connection. [`script`] holds a script as a value, [`parse`] reads it from its text, and
//! [`python`] evaluates its assertions.
//!
//! Read first: `script.rs`.

pub mod parse;
pub mod python;
pub mod script;

pub use parse::{ParseError, parse};
pub use script::Script;
