//! packetdrill scripts (Cardwell et al. 2013, "packetdrill: scriptable network stack testing, from sockets to packets").
//!
//! A script is a list of events in time: system calls of a program, segments that come in, segments that are expected to go
//! out, assertions on the state of the connection. [`script`] holds a script as a value, [`parse`] reads it from its text, and
//! [`python`] evaluates its assertions. [`run`] runs a script in
//! virtual time against an endpoint of any profile.
//!
//! Read first: `script.rs`, then `run/mod.rs`.
//!
//! This crate must never read a file or a clock, and never decide what a TCP does.

pub mod parse;
pub mod python;
pub mod run;
pub mod script;
mod text;

pub use parse::{ParseError, parse};
pub use run::{Entry, Failure, Outcome, Refusal, run};
pub use script::Script;
