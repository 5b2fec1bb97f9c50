//! Kernels' hosts as programs see them that have a stack of this process at their other end: commands go to the threads that
//! have the sockets (`workload/kernel_end.rs`), and what happened there comes back, told with its time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use linux::mailbox::Mailbox;
use stacks::{EndAction, Ends, HostEvent, Key, OutgoingDatagram, ProgramHost, Remains};
use units::Instant;

use crate::run::host::HostSpec;
use crate::workload::{KernelEndSpec, Order};

/// What happened at the kernels' ends, each with the host's node.
pub(crate) type KernelEvents = Mailbox<(usize, HostEvent)>;

/// The hosts, by their nodes.
#[derive(Debug, Default)]
pub(crate) struct KernelHosts {
    hosts: BTreeMap<usize, KernelHost>,
    events: Arc<KernelEvents>,
}

/// A kernel's host.
#[derive(Debug, Default)]
pub(crate) struct KernelHost {
    /// The orders for its end of each flow, by the flow's place.
    orders: BTreeMap<usize, Arc<Mailbox<Order>>>,
    events: VecDeque<HostEvent>,
}

impl KernelHosts {
    /// Those with ends of such programs.
    pub(crate) fn new(kernels: &[HostSpec]) -> io::Result<Self> {
        let mut hosts = BTreeMap::new();
        let with_ends = kernels.iter().filter(|kernel| !kernel.ends.is_empty());
        for kernel in with_ends {
            let orders = |end: &KernelEndSpec| (end.flow.index, Arc::clone(&end.orders));
            let orders = kernel.ends.iter().map(orders).collect();
            hosts.insert(kernel.node, KernelHost { orders, events: VecDeque::new() });
        }
        let events = kernels.iter().flat_map(|kernel| &kernel.ends).map(|end| Arc::clone(&end.events)).next();
        let events = events.unwrap_or_default();
        if !hosts.is_empty() {
            events.watch()?;
        }
        Ok(Self { hosts, events })
    }

    /// Takes in what has happened.
    pub(crate) fn collect(&mut self) {
        if self.hosts.is_empty() {
            return;
        }
        for (node, event) in self.events.take() {
            if let Some(host) = self.hosts.get_mut(&node) {
                host.events.push_back(event);
            }
        }
    }

    /// The host of a node.
    pub(crate) fn host(&mut self, node: usize) -> Option<&mut KernelHost> {
        self.hosts.get_mut(&node)
    }

    /// What is readable when something has happened.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.events.descriptor()
    }
}

impl KernelHost {
    fn order(&self, flow: usize, order: Order) {
        if let Some(orders) = self.orders.get(&flow) {
            orders.put(order);
        }
    }
}

impl ProgramHost for KernelHost {
    fn open(&mut self, _: Instant, Key { flow, socket }: Key, ends: Ends, connects: bool) {
        self.order(flow, Order::Open { socket, ends, connects });
    }

    fn act(&mut self, _: Instant, Key { flow, socket }: Key, action: EndAction) {
        self.order(flow, Order::Act { socket, action });
    }

    /// What is left is told at the end of the run, by the thread.
    fn remove(&mut self, _: Instant, Key { flow, socket }: Key) -> Remains {
        self.order(flow, Order::Remove { socket });
        Remains::default()
    }

    fn send_datagram(&mut self, flow: usize, outgoing: OutgoingDatagram) {
        self.order(flow, Order::Send(outgoing));
    }

    fn poll_event(&mut self, _: Instant, wanted: &dyn Fn(usize) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|event| wanted(event.flow))?;
        self.events.remove(place)
    }
}
