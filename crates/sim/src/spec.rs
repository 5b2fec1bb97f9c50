//! What a run is made of. A run is a pure function of its [`Spec`].
//!
//! The `scenario` crate makes one from a file; tests write one by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;

use cell::layout::Point;
use units::{Bytes, Duration, Instant, Streams};

use crate::workload::bulk::Bulk;
use crate::workload::{Application, BULK_PORT, Program, Service, Transport};

/// A whole run: nodes, links, flows, and what is recorded.
///
/// Nodes, links and flows refer to each other by their place in these lists. Names are what random
/// streams, results and messages go by, so they are unique within their list.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The scenario's name.
    pub name: String,
    /// Master seed of all random streams.
    pub seed: u64,
    /// When the run ends at the latest; without it, when every flow has closed.
    pub stop: Option<Duration>,
    /// Hosts, routers and external nodes.
    pub nodes: Vec<NodeSpec>,
    /// What joins them.
    pub links: Vec<LinkSpec>,
    /// Channels that links share.
    pub cells: Vec<CellSpec>,
    /// Connections or streams of datagrams between hosts.
    pub flows: Vec<FlowSpec>,
    /// What is kept.
    pub record: RecordSpec,
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
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
    pub ends: [usize; 2],
    /// The direction from the first end to the second.
    pub down: link::Config,
    /// The direction from the second end to the first.
    pub up: link::Config,
    /// The largest packet, IP header included, that either direction takes.
    pub mtu: Bytes,
}

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
    /// The place of its link in the list of links.
    pub link: usize,
    /// What it is promised.
    pub config: cell::UserConfig,
    /// Where it stands; without it, at a place at random.
    pub place: Option<Point>,
}

/// One connection and what is sent over it.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name.
    pub name: String,
    /// The host that connects and sends.
    pub from: usize,
    /// The host that listens and reads.
    pub to: usize,
    /// When `from` connects.
    pub start: Duration,
    /// Longest delay added to `start`, drawn uniformly from the flow's own stream.
    pub start_jitter: Option<Duration>,
    /// The traffic class of its packets, both ways: 0 (the lowest) to 7.
    pub class: u8,
    /// What is sent.
    pub workload: Workload,
    /// The TCP of `from`.
    pub sender: Arc<tcp::Config>,
    /// The TCP of `to`.
    pub receiver: Arc<tcp::Config>,
    /// Amounts whose time of acknowledgment is reported.
    pub milestones: Vec<Bytes>,
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has one for each flow, and none moves during the run")]
pub enum Workload {
    /// As fast as the connection takes it; then the sender closes.
    Bulk(Amount),
    /// What a program wants.
    Application {
        /// Which.
        application: Application,
        /// When it stops asking for anything new; without it, it continues until the run's end.
        until: Option<Duration>,
    },
}

/// How much a bulk flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// Whatever goes until this time of the run.
    Until(Duration),
}

/// What is kept of a run. With nothing chosen, packets cost no recording at all.
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
    /// The table `segments`: what the ends sent and received.
    pub segments: bool,
    /// Where packets are captured.
    pub captures: Vec<CapturePoint>,
    /// Whether captures keep whole packets, and not their headers alone.
    pub payload: bool,
    /// The table `queue_lengths`: for how long each queue had each length, in each window.
    pub queue_lengths: bool,
    /// The table `transfers`: every file, page or echo that a program waited for.
    pub transfers: bool,
    /// What is measured over spans of the run.
    pub measure: MeasureSpec,
}

/// What is measured over spans of the run. Measuring changes no packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasureSpec {
    /// Spans over which every flow and link is summed up.
    pub windows: Vec<WindowSpec>,
    /// Whether links are metered, how long each sent and how long its queue was, and flows' one-way
    /// delays. It costs a tenth of a run's time.
    pub links: bool,
    /// How often the table `progress` gets a row for each flow; without it, there is no such table.
    pub sample: Option<Duration>,
}

/// A span of the run, from after everything that happens at `from` to after everything at `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Its name.
    pub name: String,
    /// When it opens.
    pub from: Duration,
    /// When it closes; without it, at the end of the run.
    pub to: Option<Duration>,
}

/// A place whose packets are captured into one pcapng file, named after the node or link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// What a node sends and receives.
    Node(usize),
    /// What enters a link, at either end.
    Link(usize),
}

impl FlowSpec {
    /// When the flow's sender connects in a run with this master seed: `start` and what is drawn
    /// from the stream "flow.<name>.start".
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

    /// The flow's program in a run with this master seed, for a driver that runs it over sockets of its own, and what
    /// it goes over. It draws what the flow's program in a world draws.
    #[must_use]
    pub fn program(&self, seed: u64) -> (Box<dyn Program>, Service) {
        self.workload.program(&self.streams(seed), self.start_at(seed))
    }

    fn streams(&self, seed: u64) -> Streams {
        Streams::new(seed).below("flow").below(&self.name)
    }
}

impl Workload {
    /// The program, which begins at `start` and draws from below `streams`, and what it goes over.
    pub(crate) fn program(&self, streams: &Streams, start: Instant) -> (Box<dyn Program>, Service) {
        match self {
            Self::Bulk(amount) => {
                let service = Service { transport: Transport::Tcp, port: BULK_PORT, budget: None };
                (Box::new(Bulk::new(*amount, start)), service)
            }
            Self::Application { application, until } => {
                let until = until.map_or(Instant::NEVER, |until| Instant::START + until);
                (application.program(streams, start, until), application.service())
            }
        }
    }
}

impl RecordSpec {
    /// Whether anything is kept of packets.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.packets || self.tcp || self.queue || self.cell || self.segments || !self.captures.is_empty()
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
