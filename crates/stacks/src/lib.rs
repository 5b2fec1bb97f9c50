//! Stacks: our own TCP and transports of others behind one trait, as hosts of a scenario in virtual and in real time.
//!
//! A [`Stack`] is a network stack without input or output: its inputs are the time and IP packets, its outputs IP
//! packets and the time of its next wake-up. [`Host`] is a stack with its ends of flows: bulk transfers, and the
//! connections and datagrams of [`Programs`]. [`Run`] is a run in virtual time: a `sim::World` whose hosts may have
//! stacks; `live` polls the same hosts by the wall clock.
//!
//! Where to read: `stack.rs` for the trait; `lasthop.rs`, `smoltcp.rs`, `quinn/`, `dccp/` for the stacks, each an entry
//! of `registry.rs` (builds for browsers lack quinn); `transfer.rs`, `program/` and `host.rs` for what is sent;
//! `flows.rs` for which hosts need a stack; `run.rs` for virtual time; `streams.rs` for connections with any peer,
//! whose bytes are those of programs elsewhere; `captures.rs`, `report.rs` and `observe.rs` for results.
//!
//! A run whose hosts all have our own TCP needs none of this: [`Run`] then is the World alone, at its full speed.
//!
//! This crate must never read a clock (but for the origin that quinn's times are counted from), draw a random number
//! that is not from the run's streams, or decide what a link does to a packet.

mod addresses;
mod arrived;
mod captures;
mod dccp;
mod dccp_settings;
mod entry;
mod flows;
mod host;
mod lasthop;
mod migration;
mod observe;
mod passed;
mod program;
#[cfg(not(target_family = "wasm"))]
mod quinn;
mod quinn_settings;
mod refusal;
mod registry;
mod report;
mod run;
mod smoltcp;
mod stack;
mod streams;
mod totals;
mod transfer;
mod unreachable;

pub use addresses::ends;
pub use captures::{HostCaptures, summarise, summarise_all, summary_of};
pub use dccp_settings::{Ccid, DccpSettings};
pub use entry::{Entry, Member, Transport};
pub use flows::{Assignment, hosts};
pub use host::Host;
pub use migration::Migration;
pub use observe::{Observer, observe, observe_program};
pub use program::Programs;
pub use quinn_settings::{AckFrequency, QuinnCongestion, QuinnSettings};
pub use refusal::Refusal;
pub use registry::{ENTRIES, StackId};
pub use report::{TransferReport, report_of};
pub use run::{Run, SetupError};
pub use stack::{Corrupted, Phase, Setup, Stack, StackSocket};
pub use streams::{ConnectionId, StreamCounts, StreamHost};
