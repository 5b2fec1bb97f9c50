//! A network between hosts of the caller, in virtual time.

use std::net::Ipv4Addr;
use std::time::Duration;

use ::scenario::Resolved;
use sim::{ExternalFate, NodeKind, Outcome, Spec, World};
use units::{Instant, NodeId};

use crate::datagram::{Datagram, LARGEST_PAYLOAD};
use crate::error::NetworkError;
use crate::results::Results;

/// The links of a scenario between hosts of the caller.
///
/// All times are since the start of the run, and never decrease from call to call. What is due up to the time of a call
/// has happened before it.
pub struct Network {
    world: World,
    resolved: Resolved,
    hosts: Vec<Host>,
    now: Duration,
    /// Identification field of the next datagram (RFC 791 §3.1).
    identification: u16,
}

struct Host {
    node: NodeId,
    name: String,
    address: Ipv4Addr,
}

/// A host of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(usize);

/// A packet that has reached a host of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The host.
    pub host: HostId,
    /// Time at which the packet was sent.
    pub sent: Duration,
    /// Time at which it arrived.
    pub at: Duration,
    /// The IPv4 packet.
    pub packet: Vec<u8>,
}

/// What happened to a packet on its way, other than its arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Time of the event.
    pub at: Duration,
    /// The IPv4 packet.
    pub packet: Vec<u8>,
    /// The event.
    pub loss: Loss,
}

/// Kind of a [`Fate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The packet was dropped, or damaged so that its receiver refuses it.
    Lost {
        /// What did it, such as "tail-drop" or "random".
        rule: &'static str,
    },
    /// A link holds the packet for an unusual time.
    Delayed {
        /// Length of the delay.
        by: Duration,
        /// The reason, such as "outage".
        cause: &'static str,
    },
}

impl Network {
    pub(crate) fn new(resolved: Resolved, mut spec: Spec) -> Result<Self, NetworkError> {
        if let Some(host) = resolved.hosts.iter().find(|host| host.stack.is_some()) {
            return Err(NetworkError::Stack(host.name.clone()));
        }
        let hosts = take_idle_hosts(&mut spec);
        if hosts.is_empty() {
            return Err(NetworkError::NoHost);
        }
        Ok(Self { world: World::new(spec)?, resolved, hosts, now: Duration::ZERO, identification: 0 })
    }

    /// The caller's hosts, in the order of the scenario, with their names and addresses.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &str, Ipv4Addr)> {
        self.hosts.iter().enumerate().map(|(place, host)| (HostId(place), host.name.as_str(), host.address))
    }

    /// The caller's host of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.hosts.iter().position(|host| host.name == name).map(HostId)
    }

    /// The address of a host of this network.
    ///
    /// # Panics
    /// If the host is of another network.
    #[must_use]
    pub fn address(&self, host: HostId) -> Ipv4Addr {
        self.hosts[host.0].address
    }

    /// A host sends an IPv4 packet at `at`. Returns whether a host has its destination address: otherwise it is
    /// dropped, and counted by [`Network::unroutable`].
    ///
    /// # Errors
    /// A time before that of an earlier call; an error of the run.
    ///
    /// # Panics
    /// If the host is of another network.
    pub fn send(&mut self, at: Duration, from: HostId, packet: Vec<u8>) -> Result<bool, NetworkError> {
        self.run_until(at)?;
        let node = self.hosts[from.0].node;
        Ok(self.world.inject(instant(at), node, packet)?.is_some())
    }

    /// The host with the address `datagram.from` sends a UDP datagram at `at`. Returns what [`Network::send`] does.
    ///
    /// # Errors
    /// Those of [`Network::send`]; an address that no host of the caller has; more than 65,507 bytes.
    pub fn send_datagram(&mut self, at: Duration, datagram: &Datagram) -> Result<bool, NetworkError> {
        let source = *datagram.from.ip();
        let known = self.hosts.iter().position(|host| host.address == source);
        let host = known.map(HostId).ok_or(NetworkError::Address(source))?;
        if datagram.payload.len() > LARGEST_PAYLOAD {
            return Err(NetworkError::Length(datagram.payload.len()));
        }
        self.identification = self.identification.wrapping_add(1);
        self.send(at, host, datagram.packet(self.identification))
    }

    /// Time at which something next happens in the network. None if nothing will, or the run is over.
    #[must_use]
    pub fn next_event(&self) -> Option<Duration> {
        self.world.next_event().map(since_start)
    }

    /// Lets happen what is due up to and with `time`.
    ///
    /// # Errors
    /// A time before that of an earlier call; an error of the run.
    pub fn run_until(&mut self, time: Duration) -> Result<(), NetworkError> {
        if time < self.now {
            return Err(NetworkError::Past { asked: time, now: self.now });
        }
        self.now = time;
        Ok(self.world.run_until(instant(time))?)
    }

    /// The next packet that has arrived, in the order of arrival.
    pub fn poll(&mut self) -> Option<Arrival> {
        let (node, arrived) = self.world.poll_external()?;
        let place = self.hosts.iter().position(|host| host.node == node)?;
        Some(Arrival {
            host: HostId(place),
            sent: since_start(arrived.sent),
            at: since_start(arrived.due),
            packet: arrived.bytes.to_bytes().into_owned(),
        })
    }

    /// The next loss or delay of a packet of the caller's hosts.
    pub fn poll_fate(&mut self) -> Option<Fate> {
        let event = self.world.poll_external_event()?;
        let loss = match event.fate {
            ExternalFate::Lost { rule } => Loss::Lost { rule },
            ExternalFate::Delayed { by, cause } => {
                Loss::Delayed { by: Duration::from_nanos(by.as_nanos()), cause }
            }
        };
        Some(Fate { at: since_start(event.at), packet: event.bytes, loss })
    }

    /// Whether the run is over: the scenario's `stop` has come, or a link has ended the run. Nothing moves any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.world.is_over()
    }

    /// Number of packets of the caller's hosts to addresses that no host has, or not of IPv4.
    #[must_use]
    pub fn unroutable(&self) -> u64 {
        self.world.unroutable()
    }

    /// Ends the run at the time of the last call, and returns its results.
    #[must_use]
    pub fn finish(mut self) -> Results {
        self.world.stop();
        let Outcome { mut summary, tables, captures } = self.world.finish();
        // The caller drives the run, and reads no clock.
        summary.clock = sim::Clock::Virtual;
        Results::new(&self.resolved, &summary, &sim::Records { tables, captures })
    }
}

impl Arrival {
    /// The UDP datagram in the packet. None if the packet is damaged, or carries something else.
    #[must_use]
    pub fn datagram(&self) -> Option<Datagram> {
        Datagram::parse(&self.packet)
    }
}

/// Makes the hosts without a flow external, and returns them.
fn take_idle_hosts(spec: &mut Spec) -> Vec<Host> {
    let busy: Vec<NodeId> = spec.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    let mut idle = Vec::new();
    for (node, known) in (0..).map(NodeId::new).zip(&mut spec.nodes) {
        if let NodeKind::Host { address } = known.kind
            && !busy.contains(&node)
        {
            known.kind = NodeKind::External { address };
            idle.push(Host { node, name: known.name.clone(), address });
        }
    }
    idle
}

fn instant(since_start: Duration) -> Instant {
    Instant::START + units::Duration::from_nanos(u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX))
}

fn since_start(time: Instant) -> Duration {
    Duration::from_nanos((time - Instant::START).as_nanos())
}
