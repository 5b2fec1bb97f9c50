//! The World in real time: the same links, between the TCPs of real kernels.
//!
//! A live run gives each host of a scenario a network namespace with a TUN device. The kernel's own TCP, or any program,
//! runs there, and its packets pass the same link that a run in virtual time uses. This is the only crate that uses
//! sockets, devices and the system's clock.
//!
//! Namespaces have no names: they belong to threads of this process, so they are gone when the process ends, even if it
//! is killed.
//!
//! Where to read: `run.rs` for a run in one function; `session.rs` for set-up, main loop and take-down; `driver.rs` for
//! the event loop around the World; `host.rs` for a host's namespace; `workload/` for the programs of flows; `outcome.rs` for the statistics; `doctor.rs` for what a machine must allow.
//!
//! `shell.rs` is a program behind a link, `router.rs` traffic between two places: `forwarding.rs` is their event loop, and
//! `passage.rs` their links; `nat.rs`, `lease.rs` and `policy.rs` are what they change on the machine and take back.
//!
//! `machines/` is for hosts on other machines: their part of a run there, and the tunnels to them.
//!
//! `fetch.rs` is our own TCP as the client of a real server, `serve.rs` as the server of real clients: `station.rs` sets it
//! up, and `bridge.rs` joins its streams to programs.
//!
//! This crate must never decide what a link does to a packet, change the machine outside its namespaces without a word and
//! for good, or leave anything behind.

mod attachment;
mod bridge;
mod bulk;
mod channel;
mod clock;
mod command;
mod control;
mod copies;
mod device;
mod doctor;
mod driver;
mod drops;
mod error;
mod fetch;
mod forwarding;
mod halves;
mod host;
mod kernel_hosts;
mod lateness;
mod lease;
mod listening;
mod machines;
mod mailbox;
mod memory;
mod namespace;
mod nat;
mod netlink;
mod network;
mod options;
mod outcome;
mod outgoing;
mod outside;
mod passage;
mod place;
mod policy;
mod resolver;
mod router;
mod run;
mod scheduling;
mod serve;
mod session;
mod setup;
mod shell;
mod sock_diag;
mod socket;
mod sockets_table;
mod station;
mod stop;
mod sysctl;
mod tcp_info;
mod tun;
mod waiting;
mod way_out;
mod workload;

pub use control::Reload;
pub use doctor::{Check, doctor};
pub use error::LiveError;
pub use fetch::{FetchOptions, FetchOutcome, fetch};
pub use lateness::{Lateness, LatenessBin, TAINTED_FROM};
pub use machines::{
    Delay, Machine, MachineSummary, Machines, SOURCES, Streams, TunnelSummary, WaySummary, part,
};
pub use namespace::Right;
pub use options::{Options, Program, Progress};
pub use outcome::{CommandSummary, Kernel, KernelFlow, LiveOutcome, LiveSummary, Outside, ProgramSummary};
pub use passage::LinkState;
pub use router::{RouterOptions, RouterState, router};
pub use run::run;
pub use scheduling::Scheduling;
pub use serve::{Answer, ServeOptions, ServeOutcome, serve};
pub use shell::{ShellOptions, ShellOutcome, shell};
pub use socket::KernelCounts;
pub use station::{ConnectionSummary, Conversation};
pub use sysctl::Sysctls;
