//! Programs: what the two hosts of a flow do over their connections or with their datagrams.
//!
//! A [`Program`] is a state machine without input or output. It issues [`Command`]s and handles [`SocketEvent`]s, and
//! it is the same object in virtual and in real time, over every stack.
//!
//! - `workloads/` has the programs, one file each, and the list of them.
//! - `program.rs` is the interface of a program; `executor.rs` is that of a place that executes commands at both sides
//!   of a flow. The World of `sim` is such a place.
//! - `host.rs` is the interface of one host at which programs have ends: a stack in this process, a kernel's sockets,
//!   or a proxy for a host on another machine. [`Runner`] runs a program over two such hosts, whichever they are.
//! - `end.rs` is one end of a connection over any [`Socket`]; `datagram.rs` is the payload of datagrams.
//! - `voice.rs` is what the quality of a call depends on besides the loss of its frames.
//! - `playback.rs` is the buffer of a media player, by which the quality of a stream is measured.
//! - `log.rs` and `outcome.rs` are the results of a program.
//!
//! This crate must never read a clock, open a socket, or decide what a TCP or a link does.

mod datagram;
mod end;
mod executor;
mod host;
mod log;
mod outcome;
mod playback;
mod ports;
mod program;
mod runner;
mod voice;
pub mod workloads;

pub use datagram::{OutgoingDatagram, datagram_number, datagram_size};
pub use end::{Advance, End, Ending, PIECE, Reading, Socket, WrongByte, right_bytes};
pub use executor::Executor;
pub use host::{EndEvent, Ends, HostEvent, HostTable, Key, ProgramHost, Remains};
pub use log::ProgramLog;
pub use outcome::{Counters, ObservedRecord, ProgramConnection, ProgramOutcome, ProgramProgress};
pub use playback::{Playback, PlaybackCourse, PlayoutBuffer};
pub use ports::{ClientPorts, FIRST_CLIENT_PORT, LAST_CLIENT_PORT, PortChoice};
pub use program::{Command, Program, SocketCall, SocketEvent, SocketId, Transfer};
pub use runner::{Runner, RunnerSetup};
pub use voice::Voice;
pub use workloads::bulk::Amount;
pub use workloads::{Application, Multiplexing, Service, Transport, Workload, entries};
