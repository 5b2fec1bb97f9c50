//! A scenario: hosts, the links between them, the flows, and the records.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cell::quantity::{Degrees, Metres, Speed};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use stacks::{DccpSettings, QuinnSettings, StackId};
use units::text::{PacketsOrBytes, QueueLimit, REMEDY};
use units::{Bytes, Duration, Rate};

use super::{Flow, Machine, Measure, Proxy};
use crate::topology::Topology;

/// A scenario file: a path, its hosts and its flows. The same file runs in virtual and in real time.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario. Default: that of the file.
    pub name: Option<String>,
    /// One line that describes the scenario.
    pub summary: Option<String>,
    /// Master seed of all random streams. Default: 1. `--seed` replaces it.
    pub seed: Option<u64>,
    /// Latest end of the run. Default: the time at which every flow has closed.
    pub stop: Option<Duration>,
    /// A common network shape, written as a table of one key, its name: { dumbbell = { pairs = 5, … } }. It expands to
    /// hosts, routers and links with known names; the file may have others in addition.
    pub topology: Option<Topology>,
    /// The hosts, by name, each with its own TCP. Required unless there is a topology.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// Nodes that only forward, by name.
    #[serde(default)]
    pub routers: Vec<String>,
    /// The links between hosts and routers. Required unless there is a topology.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Performance enhancing proxies at the ends of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<Proxy>,
    /// The traffic between hosts.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Records of the run.
    #[serde(default)]
    pub record: Record,
    /// Measurements over spans of the run.
    #[serde(default)]
    pub measure: Measure,
    /// Settings of real-time runs.
    #[serde(default)]
    pub live: Live,
}

/// One end.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its TCP: the name of a profile, or a path to one. Required unless its stack is smoltcp, quinn, dccp or a
    /// program, which use no profile.
    pub profile: Option<String>,
    /// Its network stack; without it, our own TCP in virtual time and the kernel's in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// Settings of its stack if that is quinn: the congestion control, the first window, 0-RTT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quinn: Option<QuinnSettings>,
    /// Settings of its stack if that is DCCP: the congestion control, the Ack Ratio, the Sequence Window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dccp: Option<DccpSettings>,
    /// A change of its address during a run in virtual time, which needs quinn: connections that it opened continue
    /// from the new one (RFC 9000 §9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrate: Option<Migrate>,
    /// Number of equal hosts, called NAME-1, NAME-2, …; links and flows refer to all of them as NAME-*. Default: one
    /// host, called NAME.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Keys that replace those of the host's profile. Where a kernel runs the host, those with a setting of its network
    /// namespace (`sack`: net.ipv4.tcp_sack) are set there, and others are named.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: serde_json::Map<String, serde_json::Value>,
    /// Its address; without it, one of 10.0.0.0/8 that comes from the host's name.
    pub address: Option<Ipv4Addr>,
    /// The machine on which it is in a live run, with its kernel, stack or program; without it, that of the links. A
    /// peer of another version, or of other sources, is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Machine>,
}

/// A change of a host's address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// The time. A connection that is being opened then follows when it is open.
    pub at: Duration,
    /// The new address, over the same links; or the name of another link of the host, at which it has an address of its
    /// own. In one of several equal hosts a `*` stands for its number.
    pub to: String,
}

/// A network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Our own TCP, with the host's profile, in virtual and in real time.
    Lasthop,
    /// The kernel's TCP, in real time only.
    Kernel,
    /// The TCP of the crate smoltcp, in virtual and in real time.
    Smoltcp,
    /// The QUIC of the crate quinn-proto, in virtual and in real time. Both hosts of a flow have it.
    Quinn,
    /// A program of the user's (`lasthop live --in`), which gets the host's packets by a descriptor, in real time only.
    Program,
    /// DCCP, datagrams with congestion control, in virtual time only. Both hosts of a flow have it.
    Dccp,
}

impl Stack {
    /// Its place in the registry of stacks.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a test holds the names equal to the registry's")]
    pub fn id(self) -> StackId {
        let name = match self {
            Self::Lasthop => "lasthop",
            Self::Kernel => "kernel",
            Self::Smoltcp => "smoltcp",
            Self::Quinn => "quinn",
            Self::Program => "program",
            Self::Dccp => "dccp",
        };
        StackId::named(name).expect("every stack is in the registry")
    }

    /// Whether it follows a profile.
    pub(crate) const fn follows_a_profile(self) -> bool {
        matches!(self, Self::Lasthop | Self::Kernel)
    }
}

/// One link: two directions, each with its own pipeline.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The two nodes that the link joins; `down` leads from the first to the second. A `*` in a name matches all hosts
    /// of that form, and there is a link to each.
    #[serde(deserialize_with = "two_nodes")]
    pub between: [String; 2],
    /// A named link whose keys apply where this one has none: the name of a preset, or a path to one. A `rate` here
    /// takes the place of the preset's `available_rate` as well.
    pub preset: Option<String>,
    /// Maximum size of a packet, IP header included. Default: 1500 bytes, as on Ethernet (RFC 894).
    pub mtu: Option<Bytes>,
    /// Whether the hosts know the link's `mtu`. If not, its ICMP messages are lost: TCP sends packets of 1500 bytes,
    /// and the link drops longer ones than its `mtu` without a word, a black hole (RFC 2923). Default: true.
    pub mtu_known: Option<bool>,
    /// The direction from the first node to the second. Required unless a shared channel takes its place.
    #[serde(default)]
    pub down: link::Config,
    /// The direction from the second node to the first. Required unless a preset defines it.
    #[schemars(default)]
    pub up: link::Config,
    /// The shared channel of a base station, the first node, that takes the place of `down`; the second node is one of
    /// its users. With a `*` in `between` each host is one.
    pub cell: Option<cell::Config>,
    /// The shared channel's name; without it, the link's. Links that name the same channel share it, and one of them
    /// has its `cell`.
    pub channel: Option<String>,
    /// The user of the shared channel.
    #[serde(default)]
    pub user: CellUser,
    /// The machine that carries all links in a live run; without it, that of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Machine>,
}

/// A user of a shared channel.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellUser {
    /// Age from which on its packets are dropped; without it, the shortest budget among the workloads that are sent to
    /// it, if one has any.
    pub budget: Option<Duration>,
    /// Guaranteed rate, which some schedulers use. Default: 13.6 kbit/s with a budget and 64
    /// kbit/s without (Landström 2008 §7.4).
    pub min_rate: Option<Rate>,
    /// Limit of its queue, in packets or bytes. Default: no limit. The channel promises a user no rate that
    /// would make a time of it: `budget` drops packets by their age.
    #[schemars(with = "Option<PacketsOrBytes>")]
    pub queue_limit: Option<QueueLimit>,
    /// Position, to the east and to the north of the first site; with mobile users (`cell.mobility`), the start.
    /// Default: a random place.
    pub place: Option<[Metres; 2]>,
    /// Speed of the user. Default: that of the channel's users (`cell.radio.speed`).
    pub speed: Option<Speed>,
    /// Direction in which it moves if users move straight on: 0 deg is east, 90 deg is north. Default: random.
    pub heading: Option<Degrees>,
}

fn two_nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[String; 2], D::Error> {
    let nodes: Vec<String> = Vec::deserialize(deserializer)?;
    nodes.try_into().map_err(|nodes: Vec<String>| {
        let count = nodes.len();
        D::Error::custom(format!("a link joins two nodes, not {count}{REMEDY}write [\"server\", \"mobile\"]"))
    })
}

/// Records of a run. With nothing chosen, recording costs nothing.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The tables to keep.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// The hosts, routers and links whose packets are captured, by name.
    #[serde(default)]
    pub captures: Vec<String>,
    /// Whether captures keep whole packets. Default: only headers and the length of each packet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payload: bool,
}

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RecordedTable")]
pub enum Table {
    /// Every packet's passage over every link, with its fate.
    Packets,
    /// Every decision of every sender.
    Tcp,
    /// The length of every queue at every change.
    Queue,
    /// Packets that the ends sent and received.
    Segments,
    /// Progress of each flow, sampled.
    Progress,
    /// Every file, page or echo that a program waited for.
    Transfers,
    /// Every transport block that a shared channel sends.
    Cell,
    /// What proxies did: local retransmissions, discarded ACKs, bytes relayed.
    Proxies,
    /// Time for which each queue had each length.
    #[serde(rename = "queue_lengths")]
    QueueLengths,
}

/// Settings of real-time runs, in which the kernel's TCP replaces ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The kernel's congestion control, set for each socket; without it, that of the flow's profile where the kernel
    /// has it, and else the machine's.
    pub congestion: Option<String>,
    /// Hosts without a kernel, by name, with a `*` for several: they have the TCP of their profile in a live run too,
    /// and their traffic is simulated. A flow joins two of them or two others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simulated: Vec<String>,
    /// Maximum lateness of a delivery, against the links' schedule, in a valid run; a run with a later delivery is
    /// marked as tainted. Default: 10 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted_from: Option<Duration>,
    /// Number of packets dropped by the hosts' devices and sockets, in addition to the links' drops, from which a run
    /// is marked as tainted. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted_from_drops: Option<u64>,
    /// Settings of the hosts' network namespaces: "net.ipv4.tcp_sack" = 1.
    #[serde(default)]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

impl Live {
    /// Whether a host is simulated in a live run.
    #[must_use]
    pub fn simulates(&self, host: &str) -> bool {
        let fits = |pattern: &String| match pattern.split_once('*') {
            Some((head, tail)) => {
                host.strip_prefix(head).is_some_and(|rest| rest.len() > tail.len() && rest.ends_with(tail))
            }
            None => pattern == host,
        };
        self.simulated.iter().any(fits)
    }

    /// The settings as texts, by name.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, String> {
        let text = |value: &SysctlValue| match value {
            SysctlValue::Number(number) => number.to_string(),
            SysctlValue::Text(text) => text.clone(),
        };
        self.sysctl.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }
}

/// The value of a kernel setting.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SysctlValue {
    /// A number.
    Number(i64),
    /// A text, such as three numbers in a row.
    Text(String),
}
