//! The attachment at each host's end of the network: the device of a kernel, or a stack in this process with transfers
//! or with programs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linux::tun::{Buffers, Tun};
use nix::poll::{PollFd, PollFlags};
use units::{Instant, NodeId};
use wire::offload::{Coalesced, Segments, VirtioNetHeader, segments};
use workload::{HostTable, ProgramHost};

use crate::drive::bridge::Bridge;
use crate::drive::network::Network;
use crate::machines::Tunnel;
use crate::run::host;
use crate::workload::KernelHosts;

/// The device by which a kernel's packets are read and written.
#[derive(Clone, Copy)]
pub(crate) enum Device<'a> {
    /// The device of a namespace of this process.
    Local(&'a Tun),
    /// The tunnel to a host on another machine.
    Remote(&'a Tunnel),
}

impl Device<'_> {
    /// Reads the next packets, or `None` if there are none.
    pub(crate) fn receive(self, buffers: &mut Buffers) -> io::Result<Option<Segments>> {
        match self {
            Self::Local(tun) => tun.receive(buffers),
            Self::Remote(tunnel) => {
                let buffer = buffers.room();
                let Some(length) = tunnel.receive(buffer)? else { return Ok(None) };
                Ok(segments(VirtioNetHeader::default(), buffer[..length].to_vec()).ok())
            }
        }
    }

    /// Returns whether the kernel accepts a train of datagrams as one packet.
    pub(crate) fn takes_trains(self) -> bool {
        match self {
            Self::Local(tun) => tun.takes_trains(),
            Self::Remote(_) => false,
        }
    }

    /// Gives packets to the kernel.
    pub(crate) fn send(self, packets: Coalesced<'_>) -> io::Result<()> {
        match self {
            Self::Local(tun) => tun.send(packets),
            Self::Remote(tunnel) => {
                packets.segments().for_each(|packet| tunnel.send(&packet.to_bytes()));
                Ok(())
            }
        }
    }

    /// Descriptor that becomes readable when a packet arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Local(tun) => tun.as_fd(),
            Self::Remote(tunnel) => tunnel.as_fd(),
        }
    }
}

/// The attachment of a host to the network.
pub(crate) enum Attachment<'a> {
    /// A kernel.
    Device(Device<'a>),
    /// A stack in this process.
    Stack(Box<stacks::Host>),
    /// A stack in this process whose streams are those of programs.
    Programs(Box<Bridge>),
    /// A stack in this process that has no flow: packets to it vanish.
    Nothing,
}

/// The hosts of programs of which at least one has a stack in this process, by their nodes.
pub(crate) struct Attached<'a, 'b> {
    /// The nodes of the network's hosts.
    pub(crate) nodes: &'a [NodeId],
    /// The attachments of these hosts.
    pub(crate) attachments: &'a mut [Attachment<'b>],
    /// Proxies for the kernels at the other sides.
    pub(crate) kernels: &'a mut KernelHosts,
}

impl HostTable for Attached<'_, '_> {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        let place = self.nodes.iter().position(|known| *known == node)?;
        match &mut self.attachments[place] {
            Attachment::Stack(host) => Some(&mut **host),
            Attachment::Device(_) => self.kernels.host(node).map(|host| host as &mut dyn ProgramHost),
            Attachment::Programs(_) | Attachment::Nothing => None,
        }
    }
}

/// Attaches kernels and stacks to the network's hosts. Some kernels are reached by tunnels; `kernels` are the others,
/// in the order of the network's hosts.
pub(crate) fn attach<'a>(
    network: &Network,
    kernels: &'a [host::Host],
    tunnel: &dyn Fn(NodeId) -> Option<&'a Tunnel>,
    stacks: Vec<(NodeId, stacks::Host)>,
    is_in_process: &dyn Fn(NodeId) -> bool,
) -> Vec<Attachment<'a>> {
    let mut devices = kernels.iter().map(|kernel| &kernel.tun);
    let mut stacks: BTreeMap<NodeId, stacks::Host> = stacks.into_iter().collect();
    let attachment = |node: &NodeId| match stacks.remove(node) {
        Some(host) => Attachment::Stack(Box::new(host)),
        None if is_in_process(*node) => Attachment::Nothing,
        None => match tunnel(*node) {
            Some(tunnel) => Attachment::Device(Device::Remote(tunnel)),
            None => devices.next().map_or(Attachment::Nothing, |tun| Attachment::Device(Device::Local(tun))),
        },
    };
    network.nodes().iter().map(attachment).collect()
}

impl Attachment<'_> {
    /// Returns the stack in this process.
    pub(crate) fn stack(&self) -> Option<&stacks::Host> {
        match self {
            Self::Stack(host) => Some(host),
            Self::Device(_) | Self::Programs(_) | Self::Nothing => None,
        }
    }

    /// Takes out the stack in this process.
    pub(crate) fn into_stack(self) -> Option<stacks::Host> {
        match self {
            Self::Stack(host) => Some(*host),
            Self::Device(_) | Self::Programs(_) | Self::Nothing => None,
        }
    }

    /// Returns the streams of programs.
    pub(crate) fn bridge(&mut self) -> Option<&mut Bridge> {
        match self {
            Self::Programs(bridge) => Some(bridge),
            Self::Device(_) | Self::Stack(_) | Self::Nothing => None,
        }
    }

    /// Returns the time at which the stack is to be woken.
    pub(crate) fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        match self {
            Self::Stack(host) => host.poll_timeout(now),
            Self::Programs(bridge) => bridge.poll_timeout(now),
            Self::Device(_) | Self::Nothing => None,
        }
    }

    /// Wakes the stack if it is due, and carries programs' bytes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let is_due = self.poll_timeout(now).is_some_and(|due| due <= now);
        match self {
            Self::Stack(host) if is_due => host.handle_timeout(now),
            Self::Programs(bridge) if is_due => bridge.handle_timeout(now),
            Self::Programs(bridge) => bridge.pump(now),
            Self::Device(_) | Self::Stack(_) | Self::Nothing => {}
        }
    }

    /// Returns the next packet that the stack sends.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        match self {
            Self::Stack(host) => host.poll_transmit(now),
            Self::Programs(bridge) => bridge.poll_transmit(now),
            Self::Device(_) | Self::Nothing => None,
        }
    }

    /// Returns the descriptors to wait for: a device's only while its link accepts packets.
    pub(crate) fn descriptors(&self, accepts: bool) -> Vec<PollFd<'_>> {
        match self {
            Self::Device(device) if accepts => vec![PollFd::new(device.as_fd(), PollFlags::POLLIN)],
            Self::Programs(bridge) => bridge.descriptors().collect(),
            Self::Device(_) | Self::Stack(_) | Self::Nothing => Vec::new(),
        }
    }
}
