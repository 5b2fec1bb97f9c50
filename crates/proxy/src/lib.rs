//! Performance enhancing proxies (RFC 3135) before a last hop, as state machines without input and output.
//!
//! A proxy stands at one end of a link. Of each connection it sees the segments that enter the link there and those
//! that leave it. An [`Agent`] looks at segments of a connection that runs through it: it lets them pass, holds or
//! discards them, and sends copies again. A [`Relay`] ends the connection and begins a second one.
//!
//! Read `agent.rs`, then `kind/snoop.rs`; the list of kinds is in `kind/mod.rs`.
//!
//! This crate must never know links, clocks, random numbers or files.

pub mod agent;
pub mod kind;
pub mod relay;

mod cache;
mod hop_timer;

pub use agent::{Action, Agent, Event, Heading, Output, Passing, Ticket, Verdict, What};
pub use kind::{ENTRIES, Proxy};
pub use relay::Relay;
