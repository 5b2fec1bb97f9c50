//! Specification of a run. A run is a pure function of its [`Spec`].
//!
//! The `scenario` crate makes one from a file; tests write one by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;

use cell::layout::Point;
use units::{Bytes, Duration, Instant, LinkId, NodeId, PerSide, Streams};
use workload::{Program, Service, Workload};

/// A whole run: nodes, links, flows, and what is recorded.
///
/// An identity is a place in these lists. Random streams, results and messages use names, which are unique within
/// their list.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The scenario's name.
    pub name: String,
    /// Master seed of all random streams.
    pub seed: u64,
    /// Latest end of the run. Default: the time at which every flow has closed.
    pub stop: Option<Duration>,
    /// Hosts, routers and external nodes.
    pub nodes: Vec<NodeSpec>,
    /// Links between the nodes.
    pub links: Vec<LinkSpec>,
    /// Channels that links share.
    pub cells: Vec<CellSpec>,
    /// Proxies at the ends of links.
    pub proxies: Vec<ProxySpec>,
    /// Connections or streams of datagrams between hosts.
    pub flows: Vec<FlowSpec>,
    /// Records to keep.
    pub record: RecordSpec,
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Kind of the node.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An end with our own TCP. Hosts do not forward.
    Host {
        /// Its address.
        address: Ipv4Addr,
    },
    /// Forwards packets, and has no address.
    Router,
    /// A host with a network stack of its own, such as a kernel with a TUN device.
    External {
        /// Its address.
        address: Ipv4Addr,
    },
}

/// One link: two directions, each a pipeline of its own.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name.
    pub name: String,
    /// The two nodes that it joins.
    pub ends: [NodeId; 2],
    /// The direction from the first end to the second.
    pub down: link::Config,
    /// The direction from the second end to the first.
    pub up: link::Config,
    /// The largest packet, IP header included, that either direction takes.
    pub mtu: Bytes,
    /// Whether the hosts know it, by ICMP or otherwise. If not, they assume Ethernet's.
    pub mtu_known: bool,
}

impl LinkSpec {
    /// The MTU that hosts take it to have.
    #[must_use]
    pub fn believed_mtu(&self) -> Bytes {
        if self.mtu_known { self.mtu } else { ETHERNET_MTU }
    }
}

/// RFC 894.
const ETHERNET_MTU: Bytes = Bytes(1500);

/// A shared channel: in its users' links it takes the place of the direction from the first end to the second, whose
/// own configuration then has no meaning.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// Its name.
    pub name: String,
    /// Layout, radio, blocks, scheduler.
    pub config: cell::Config,
    /// Its users.
    pub users: Vec<CellUserSpec>,
}

/// A user of a shared channel.
#[derive(Clone, Debug)]
pub struct CellUserSpec {
    /// Its link.
    pub link: LinkId,
    /// Guarantees to the user.
    pub config: cell::UserConfig,
    /// Position. Default: random.
    pub place: Option<Point>,
}

/// A proxy at one end of a link.
#[derive(Clone, Debug)]
pub struct ProxySpec {
    /// Its name.
    pub name: String,
    /// The link that it serves.
    pub link: LinkId,
    /// The end of the link at which it stands.
    pub node: NodeId,
    /// What it does.
    pub kind: proxy::Proxy,
    /// The TCP of a split towards the link. Default: that of the flow's end for which it stands.
    pub wireless: Option<Arc<tcp::Config>>,
    /// The TCP of a split towards the other side. Default: likewise.
    pub wired: Option<Arc<tcp::Config>>,
}

/// One connection and what is sent over it.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name.
    pub name: String,
    /// The host that connects and sends.
    pub from: NodeId,
    /// The host that listens and reads.
    pub to: NodeId,
    /// Time at which `from` connects.
    pub start: Duration,
    /// Longest delay added to `start`, drawn uniformly from the flow's own stream.
    pub start_jitter: Option<Duration>,
    /// The traffic class of its packets, both ways: 0 (the lowest) to 7.
    pub class: u8,
    /// Traffic of the flow.
    pub workload: Workload,
    /// The TCP of `from`.
    pub sender: Arc<tcp::Config>,
    /// The TCP of `to`.
    pub receiver: Arc<tcp::Config>,
    /// Amounts whose time of acknowledgment is reported.
    pub milestones: Vec<Bytes>,
}

/// Records of a run. Without any, packets have no cost of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSpec {
    /// The table `packets`: every packet's passage over every link, with its fate.
    pub packets: bool,
    /// The table `tcp`: every decision of every sender.
    pub tcp: bool,
    /// The table `queue`: the length of every queue at every change.
    pub queue: bool,
    /// The table `cell`: every block that a shared channel sends.
    pub cell: bool,
    /// The table `proxies`: what proxies did.
    pub proxies: bool,
    /// The table `segments`: what the ends sent and received.
    pub segments: bool,
    /// Capture points.
    pub captures: Vec<CapturePoint>,
    /// Whether captures keep whole packets, and not their headers alone.
    pub payload: bool,
    /// The table `queue_lengths`: for how long each queue had each length, in each window.
    pub queue_lengths: bool,
    /// The table `transfers`: every file, page or echo that a program waited for.
    pub transfers: bool,
    /// Measurements over spans of the run.
    pub measure: MeasureSpec,
}

/// Measurements over spans of the run. They change no packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasureSpec {
    /// Spans over which every flow and link is summed up.
    pub windows: Vec<WindowSpec>,
    /// Whether links are metered, how long each sent and how long its queue was, and flows' one-way
    /// delays. It costs a tenth of a run's time.
    pub links: bool,
    /// Interval of the rows of each flow in the table `progress`. Default: no such table.
    pub sample: Option<Duration>,
}

/// A span of the run, from after everything that happens at `from` to after everything at `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Its name.
    pub name: String,
    /// Time at which it opens.
    pub from: Duration,
    /// Time at which it closes. Default: the end of the run.
    pub to: Option<Duration>,
}

/// A place whose packets are captured into one pcapng file, named after the node or link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// Packets that a node sends and receives.
    Node(NodeId),
    /// Packets that enter a link, at either end.
    Link(LinkId),
}

impl Spec {
    /// The node of this identity.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &NodeSpec {
        &self.nodes[node.index()]
    }

    /// The link of this identity.
    #[must_use]
    pub fn link(&self, link: LinkId) -> &LinkSpec {
        &self.links[link.index()]
    }

    /// Whether any packet takes up another number of bytes on a wire than its own and the link's framing.
    #[must_use]
    pub fn has_other_sizes_on_wire(&self) -> bool {
        let differs = |config: &link::Config| config.compression.is_some() || config.stuffing.is_some();
        let links = self.links.iter().any(|link| differs(&link.down) || differs(&link.up));
        links || self.cells.iter().any(|cell| cell.config.compression.is_some())
    }

    /// The specification in which a link of a node ends at a node of its own; and that node.
    #[must_use]
    pub fn with_link_apart(&self, node: NodeId, link: LinkId) -> (Self, NodeId) {
        let (mut spec, apart) = (self.clone(), NodeId::new(self.nodes.len()));
        let name = format!("{} at {}", self.node(node).name, self.link(link).name);
        spec.nodes.push(NodeSpec { name, kind: self.node(node).kind });
        let ends = spec.links[link.index()].ends.iter_mut();
        ends.filter(|end| **end == node).for_each(|end| *end = apart);
        (spec, apart)
    }
}

impl FlowSpec {
    /// Its hosts.
    #[must_use]
    pub const fn nodes(&self) -> PerSide<NodeId> {
        PerSide::new(self.from, self.to)
    }

    /// Time at which the flow's sender connects in a run with this master seed: `start` and what is drawn from the
    /// stream "flow.<name>.start".
    #[must_use]
    pub fn start_at(&self, seed: u64) -> Instant {
        let streams = self.streams(seed);
        // The top 64 bits of a 64 × 64 bit product: uniform over 0..=jitter (Lemire 2019, without
        // the rejection, whose bias of jitter / 2⁶⁴ cannot be measured).
        let jitter = self.start_jitter.map_or(0, |longest| {
            ((u128::from(streams.number("start")) * (u128::from(longest.as_nanos()) + 1)) >> 64) as u64
        });
        Instant::START + self.start + Duration::from_nanos(jitter)
    }

    /// The flow's program in a run with this master seed, for a driver that runs it over hosts of its own, and the
    /// transport that it uses. It draws the same numbers as the flow's program in a World.
    #[must_use]
    pub fn program(&self, seed: u64) -> (Box<dyn Program>, Service) {
        (self.workload.program(&self.streams(seed), self.start_at(seed)), self.workload.service())
    }

    fn streams(&self, seed: u64) -> Streams {
        Streams::new(seed).below("flow").below(&self.name)
    }
}

impl RecordSpec {
    /// Whether anything is kept of packets.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.packets
            || self.tcp
            || self.queue
            || self.cell
            || self.proxies
            || self.segments
            || !self.captures.is_empty()
    }
}

impl NodeKind {
    /// The node's address, if it has one.
    #[must_use]
    pub const fn address(&self) -> Option<Ipv4Addr> {
        match self {
            Self::Host { address } | Self::External { address } => Some(*address),
            Self::Router => None,
        }
    }
}
