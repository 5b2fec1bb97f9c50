//! The World in real time: the same links, between the TCPs of real kernels.
//!
//! A live run gives each host of a scenario a network namespace with a TUN device. The kernel's own TCP, or any
//! program, runs there, and its packets cross the same links as in virtual time. Namespaces have no names: they belong
//! to threads of this process, so they end with it, even if it is killed.
//!
//! | folder | is |
//! |---|---|
//! | `run` | a run of a scenario: set-up, main loop, results |
//! | `drive` | the event loop around the World, and how it waits |
//! | `gateway` | real traffic through links: a program behind a link (`shell`), two places (`router`) |
//! | `web` | our own TCP as the client or the server of real programs |
//! | `machines` | hosts on other machines |
//! | `workload` | the programs of flows over kernels' sockets |
//!
//! `ARCHITECTURE.md` next to the sources shows how they work together. The operating system is behind the crate
//! `linux`.
//!
//! This crate must never decide what a link does to a packet, change the machine outside its namespaces without
//! announcing it and taking it back, or leave anything behind.

#![forbid(unsafe_code)]

mod clock;
mod drive;
mod error;
mod gateway;
mod machines;
mod run;
mod stop;
mod web;
mod workload;

pub use drive::account::DriverAccount;
pub use drive::lateness::{Lateness, LatenessBin, TAINTED_FROM};
pub use drive::link_state::LinkState;
pub use drive::waiting::{STALL_FROM, Stall, Stalls, Step};
pub use error::LiveError;
pub use gateway::control_socket::Reload;
pub use gateway::router::{RouterOptions, RouterState, router};
pub use gateway::shell::{ShellOptions, ShellOutcome, shell};
pub use linux::doctor::{Check, doctor};
pub use linux::namespace::Privilege;
pub use linux::scheduling::Scheduling;
pub use linux::sysctl::Sysctls;
pub use linux::tcp_info::KernelCounts;
pub use machines::{
    Delay, Machine, MachineSummary, Machines, SOURCES, Streams, TunnelDirection, TunnelSummary,
    examine_control_stream, part,
};
pub use run::options::{Options, Program, Progress};
pub use run::outcome::{
    CommandSummary, Kernel, KernelFlow, LiveOutcome, LiveSummary, Outside, ProgramSummary,
};
pub use run::run;
pub use run::state::{Connection, LinkChange, RunState, Watch};
pub use web::fetch::{FetchOptions, FetchOutcome, fetch};
pub use web::serve::{Answer, ServeOptions, ServeOutcome, serve};
pub use web::userspace_host::{ConnectionSummary, Conversation};
