//! What stands at each end of the network: a kernel's device, or a stack in this process.

use units::Instant;

use crate::host;
use crate::network::Network;
use crate::tun::Tun;

/// What stands at a host's end of the network.
pub(crate) enum Attachment<'a> {
    /// The device of a kernel's namespace.
    Device(&'a Tun),
    /// A stack in this process.
    Stack(Box<stacks::Host>),
    /// A stack in this process that has nothing to do: packets to it vanish.
    Nothing,
}

/// Attaches kernels and stacks to the network's hosts. Kernels come in the order of the network's other hosts.
pub(crate) fn attach<'a>(
    network: &Network,
    kernels: &'a [host::Host],
    stacks: Vec<(usize, stacks::Host)>,
    is_in_process: &dyn Fn(usize) -> bool,
) -> Vec<Attachment<'a>> {
    let mut devices = kernels.iter().map(|kernel| &kernel.tun);
    let mut stacks: std::collections::BTreeMap<usize, stacks::Host> = stacks.into_iter().collect();
    let attachment = |node: &usize| match stacks.remove(node) {
        Some(host) => Attachment::Stack(Box::new(host)),
        None if is_in_process(*node) => Attachment::Nothing,
        None => devices.next().map_or(Attachment::Nothing, Attachment::Device),
    };
    network.nodes().iter().map(attachment).collect()
}

impl<'a> Attachment<'a> {
    /// The device of a kernel.
    pub(crate) fn device(&self) -> Option<&'a Tun> {
        match self {
            Self::Device(tun) => Some(tun),
            Self::Stack(_) | Self::Nothing => None,
        }
    }

    /// The stack in this process.
    pub(crate) fn stack(&self) -> Option<&stacks::Host> {
        match self {
            Self::Stack(host) => Some(host),
            Self::Device(_) | Self::Nothing => None,
        }
    }

    /// The same, taken out.
    pub(crate) fn into_stack(self) -> Option<stacks::Host> {
        match self {
            Self::Stack(host) => Some(*host),
            Self::Device(_) | Self::Nothing => None,
        }
    }

    /// When the stack wants to be woken.
    pub(crate) fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        match self {
            Self::Stack(host) => host.poll_timeout(now),
            Self::Device(_) | Self::Nothing => None,
        }
    }
}
