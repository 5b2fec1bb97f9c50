//! The World in real time: the same links, between the TCPs of real kernels.
//!
//! A live run gives each host of a scenario a network namespace with a TUN device, lets the
//! kernel's own TCP (or any program) talk there, and carries the packets through the very link
//! that a run in virtual time uses. This is the only crate that touches sockets, devices and the
//! system's clock.
//!
//! Namespaces have no names: they belong to threads of this process, so whatever ends the process
//! takes them away, a kill included.
//!
//! Where to read: `run.rs` for the whole in one function; `session.rs` for the order of building,
//! driving and taking down; `driver.rs` for the loop around the World; `host.rs` for what a host
//! is; `sightings.rs` and `outcome.rs` for how numbers come of packets; `doctor.rs` for what a
//! machine must allow.
//!
//! This crate must never decide what a link does to a packet, change anything of the machine
//! outside its namespaces, or leave anything behind.

mod bell;
mod between;
mod bulk;
mod clock;
mod command;
mod doctor;
mod driver;
mod error;
mod host;
mod lateness;
mod namespace;
mod netlink;
mod outcome;
mod run;
mod scene;
mod scheduling;
mod session;
mod sightings;
mod socket;
mod stop;
mod sysctl;
mod tun;

pub use doctor::{Check, doctor};
pub use error::LiveError;
pub use lateness::{Lateness, TAINTED_FROM};
pub use namespace::Right;
pub use outcome::{CommandSummary, Kernel, KernelFlow, LiveOutcome, LiveSummary, Outside};
pub use run::{Options, Progress, run};
pub use scheduling::Scheduling;
pub use socket::KernelCounts;
pub use sysctl::Sysctls;
