//! Hosts on other machines: their packets come to the emulator as IP in UDP, and go back so.
//!
//! A machine's **part** (`part.rs`) is a process there that sets up its hosts as a local run would, and forwards packets
//! between their devices and tunnels (`forwarder.rs`, `tunnel.rs`, `datagram.rs`). The emulator's process holds the other
//! ends (`elsewhere.rs`), of which the driver knows no more than that packets come out and go in. They speak in lines of
//! JSON (`protocol.rs`) over streams that somebody else has opened (`control.rs`): the standard streams of ssh, which
//! `python/lasthop/machines.py` starts and joins. `offset.rs` says how far apart their clocks are.
//!
//! Here nothing opens a connection to another machine but the tunnels' datagrams, asks for a password, or listens for
//! anybody who does not know the run's token. A part whose control stream ends takes everything down.

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

pub use part::part;
pub use summary::{MachineSummary, TunnelDirection, TunnelSummary};
pub use tunnel::Delay;

use std::io;
use std::os::fd::{OwnedFd, RawFd};

/// A fingerprint of the sources that the processes of one run must have in common: sixteen hexadecimal digits.
pub const SOURCES: &str = env!("LASTHOP_SOURCES");

/// The streams by which processes of a run speak: one to read and one to write.
#[derive(Debug)]
pub struct Streams {
    /// What the other end says.
    pub input: OwnedFd,
    /// What is said to it.
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
    /// The machines, as the lines on the streams number them.
    pub machines: Vec<Machine>,
    /// One pair of streams for all of them.
    pub streams: Streams,
    /// The resolved scenario, as JSON.
    pub scenario: String,
}

impl Machines {
    /// Returns whether a node is a host on one of them.
    #[must_use]
    pub fn have(&self, node: usize) -> bool {
        self.machines.iter().any(|machine| machine.hosts.contains(&node))
    }
}

/// A machine with hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What messages call it.
    pub name: String,
    /// The name or address to which its datagrams go.
    pub address: String,
    /// The port of its first host; those of the others follow. Without it the system chooses.
    pub port: Option<u16>,
    /// The nodes of its hosts.
    pub hosts: Vec<usize>,
}
