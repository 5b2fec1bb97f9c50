//! Proxies for kernels' hosts in the driver. Commands go to the threads with the sockets, and their events come back.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use linux::mailbox::Mailbox;
use units::{FlowId, Instant, NodeId};
use workload::{Ends, HostEvent, Key, OutgoingDatagram, ProgramHost, Remains, SocketCall};

use super::orders::Order;
use super::{Placement, ProgramSpec};

/// The events at the kernels' ends, each with the host's node.
pub(crate) type KernelEvents = Mailbox<(NodeId, HostEvent)>;

/// The hosts, by node.
#[derive(Debug, Default)]
pub(crate) struct KernelHosts {
    hosts: BTreeMap<NodeId, KernelHost>,
    events: Arc<KernelEvents>,
}

/// A proxy for a kernel's host.
#[derive(Debug, Default)]
pub(crate) struct KernelHost {
    /// The orders for its end of each flow.
    orders: BTreeMap<FlowId, Arc<Mailbox<Order>>>,
    events: VecDeque<HostEvent>,
}

impl KernelHosts {
    /// Proxies for the hosts of those `programs` that run alongside a stack.
    pub(crate) fn new<'a>(programs: impl Iterator<Item = &'a ProgramSpec>) -> io::Result<Self> {
        let mut proxies = Self::default();
        for program in programs {
            let Placement::BesideStack { orders, events, .. } = &program.placement else { continue };
            let host = proxies.hosts.entry(program.node()).or_default();
            host.orders.insert(program.setup.flow, Arc::clone(orders));
            proxies.events = Arc::clone(events);
        }
        if !proxies.hosts.is_empty() {
            proxies.events.watch()?;
        }
        Ok(proxies)
    }

    /// Collects the events that have happened.
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
    pub(crate) fn host(&mut self, node: NodeId) -> Option<&mut KernelHost> {
        self.hosts.get_mut(&node)
    }

    /// The descriptor that is readable when there are events.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.events.descriptor()
    }
}

impl KernelHost {
    fn order(&self, flow: FlowId, order: Order) {
        if let Some(orders) = self.orders.get(&flow) {
            orders.put(order);
        }
    }
}

impl ProgramHost for KernelHost {
    fn open(&mut self, _: Instant, Key { flow, socket }: Key, ends: Ends, connects: bool) {
        self.order(flow, Order::Open { socket, ends, connects });
    }

    fn call(&mut self, _: Instant, Key { flow, socket }: Key, call: SocketCall) {
        self.order(flow, Order::Call { socket, call });
    }

    /// The thread reports the results at the end of the run.
    fn remove(&mut self, _: Instant, Key { flow, socket }: Key) -> Remains {
        self.order(flow, Order::Remove { socket });
        Remains::default()
    }

    fn send_datagram(&mut self, flow: FlowId, outgoing: OutgoingDatagram) {
        self.order(flow, Order::Send(outgoing));
    }

    fn poll_event(&mut self, now: Instant, wanted: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        let place = self.events.iter().position(|event| wanted(event.flow))?;
        let event = self.events.remove(place)?;
        Some(HostEvent { late_by: now.saturating_since(event.at), ..event })
    }
}
