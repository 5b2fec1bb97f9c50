//! Hosts on other machines. Their packets travel to and from the emulator as IP in UDP.
//!
//! A machine's **part** (`part.rs`) is a process there that sets up its hosts as a local run would, and forwards
//! packets between their devices and tunnels (`forwarder.rs`, `tunnel.rs`, `datagram.rs`). The emulator's process has
//! the other ends of the tunnels (`remote.rs`), which are devices to its driver. Both exchange messages (`protocol.rs`)
//! over streams that they are given (`control_stream.rs`): the standard streams of ssh, which the Python package starts
//! and joins. `offset.rs` estimates the difference of their clocks.
//!
//! This module must never open a connection to another machine other than the tunnels, ask for a password, or accept a
//! datagram without the run's token. A part whose control stream ends takes everything down.

mod control_stream;
mod datagram;
mod device_capture;
mod forwarder;
mod offset;
mod outputs;
mod part;
mod protocol;
mod remote;
mod summary;
mod tunnel;

pub(crate) use remote::RemoteMachines;
pub(crate) use summary::RemoteResults;
pub(crate) use tunnel::Tunnel;

pub use control_stream::examine_control_stream;
pub use part::part;
pub use summary::{MachineSummary, TunnelDirection, TunnelSummary};
pub use tunnel::Delay;

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use units::NodeId;

/// A fingerprint of the sources that the processes of one run must have in common: sixteen hexadecimal digits.
pub const SOURCES: &str = env!("LASTHOP_SOURCES");

/// The streams by which processes of a run speak: one to read and one to write.
#[derive(Debug)]
pub struct Streams {
    /// The stream from the other end.
    pub input: OwnedFd,
    /// The stream to the other end.
    pub output: OwnedFd,
}

impl Streams {
    /// Takes over two descriptors of this process by their numbers.
    ///
    /// # Errors
    /// If they are not open.
    pub fn take_over(input: RawFd, output: RawFd) -> io::Result<Self> {
        let [input, output] = linux::process::take_over([input, output])?;
        Ok(Self { input, output })
    }
}

/// The machines of a run, and the streams by which their parts are reached.
#[derive(Debug)]
pub struct Machines {
    /// The machines, in the order in which messages number them.
    pub machines: Vec<Machine>,
    /// One pair of streams for all of them.
    pub streams: Streams,
    /// The resolved scenario, as JSON.
    pub scenario: String,
}

impl Machines {
    /// Returns whether a node is a host on one of them.
    #[must_use]
    pub fn have(&self, node: NodeId) -> bool {
        self.machines.iter().any(|machine| machine.hosts.contains(&node))
    }
}

/// A machine with hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name in messages to the user.
    pub name: String,
    /// The name or address to which its datagrams go.
    pub address: String,
    /// The port of its first host; the ports of the others follow. Without it the system chooses.
    pub port: Option<u16>,
    /// The nodes of its hosts.
    pub hosts: Vec<NodeId>,
}
