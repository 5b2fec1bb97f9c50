//! Transports of other people, and our own, behind one trait: hosts of a scenario in both clocks.
//!
//! A [`Stack`] is a network stack without input or output: it is told the time and the IP packets that arrived, and it
//! answers with the IP packets to send and with when to wake it. [`Host`] is a stack with its ends of flows:
//! bulk transfers, and the connections and datagrams of [`Programs`].
//! [`Run`] is a run in virtual time: a `sim::World` whose hosts may have stacks; `live` polls the same hosts by the wall
//! clock.
//!
//! Where to read: `stack.rs` for the trait; `lasthop.rs`, `smoltcp.rs`, `quinn/` for the stacks, each an entry of
//! `registry.rs`; `transfer.rs`, `program/` and `host.rs` for what is sent; `flows.rs` for which hosts need a stack; `run.rs` for virtual
//! time; `streams.rs` for connections with anybody, whose bytes are those of programs elsewhere; `captures.rs` and `observe.rs` for what is told of flows.
//!
//! A run whose hosts all have our own TCP needs none of this: [`Run`] then is the World alone, at its full speed.
//!
//! This crate must never read a clock (but for the origin that quinn's times are counted from), draw a random number
//! that is not from the run's streams, or decide what a link does to a packet.

mod arrived;
mod captures;
mod flows;
mod host;
mod lasthop;
mod observe;
mod passed;
mod program;
mod quinn;
mod registry;
mod reported;
mod run;
mod smoltcp;
mod stack;
mod streams;
mod transfer;
mod unreachable;

pub use captures::{HostCaptures, summarise, summarise_all, summary_of};
pub use flows::{Assignment, Refusal, ends, hosts};
pub use host::{Corrupted, Host};
pub use observe::{Observer, observe, observe_program};
pub use program::{
    ClientPorts, EndAction, EndEvent, HostEvent, HostTable, Key, OutgoingDatagram, ProgramConnection,
    ProgramHost, ProgramOutcome, Programs, Remains, datagram_number, datagram_size,
};
pub use registry::{ENTRIES, Entry, Member, StackId, Transport};
pub use reported::EndedTransfer;
pub use run::{Run, SetupError};
pub use stack::{Counters, Ends, Phase, Setup, SocketId, Stack};
pub use streams::{ConnectionId, StreamCounts, StreamHost};
pub use transfer::TransferEnd;
