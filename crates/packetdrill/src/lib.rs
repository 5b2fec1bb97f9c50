//! packetdrill scripts (Cardwell et al. 2013, "packetdrill: scriptable network stack testing, from sockets to
//! packets").
//!
//! A script is a list of events in time: system calls of a program, incoming segments, expected segments, and
//! assertions on the state of the connection. [`script`] holds a script as a value, [`parse`] reads it from its text,
//! and [`python`] evaluates its assertions. [`run`] runs a script in virtual time against an endpoint of any profile.
//!
//! Read first: `script.rs`, then `run/mod.rs`.
//!
//! This crate reads no file and no clock, and does not decide how TCP behaves.

pub mod parse;
pub mod python;
pub mod run;
pub mod script;
mod text;

pub use parse::{Definitions, ParseError, parse};
pub use run::{Failure, Outcome, Refusal, TimelineEvent, run};
pub use script::Script;
