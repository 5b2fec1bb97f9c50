//! Interfaces to the operating system for live runs. Each module stands alone: no World, no clock, no thread of its
//! own.
//!
//! - Devices and addresses: [`tun`] (packets), [`device`] (pairs of devices), [`route`] (interfaces, addresses,
//!   routes), [`policy`] (routing rules), [`nat`] (address translation), [`forwarding`] (a setting that is given back).
//! - Namespaces and processes: [`namespace`], [`process`], [`scheduling`], [`processor`], [`memory`].
//! - Sockets: [`socket`] (options), [`tcp_info`] and [`sock_diag`] (what the kernel's TCP reports), [`listening`],
//!   [`drops`], [`sysctl`].
//! - Waiting for descriptors: [`channel`], [`mailbox`].
//! - [`doctor`] says what this machine lacks, with a remedy for each.
//!
//! Nearly all `unsafe` code of the workspace is here; each block says why it is sound. The crate must never know a
//! scenario, a link or a protocol stack of ours, and must never leave a change outside its namespaces that nothing
//! takes back.

mod error;
mod netlink;
#[cfg(test)]
mod testing;

pub mod channel;
pub mod device;
pub mod doctor;
pub mod drops;
pub mod forwarding;
pub mod listening;
pub mod mailbox;
pub mod memory;
pub mod namespace;
pub mod nat;
pub mod policy;
pub mod process;
pub mod processor;
pub mod route;
pub mod scheduling;
pub mod sock_diag;
pub mod socket;
pub mod sysctl;
pub mod tcp_info;
pub mod tun;

pub use error::Error;
