//! A scenario: hosts, the links between them, who sends what, and what is kept.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use units::text::REMEDY;
use units::{Bytes, Duration};

use super::{Flow, Measure};
use crate::topology::Topology;

/// A scenario file: a path, its hosts, and who sends what. The same file runs in virtual and in real time.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario's name; without it, the file's.
    pub name: Option<String>,
    /// One line that says what the scenario shows.
    pub summary: Option<String>,
    /// Master seed of all random streams; without it, 1. `--seed` replaces it.
    pub seed: Option<u64>,
    /// When the run ends at the latest; without it, when every flow has closed.
    pub stop: Option<Duration>,
    /// A common shape of networks, written as a table of one key, its name: { dumbbell = { pairs = 5, … } }. It stands
    /// for hosts, routers and links of known names, beside which the file may have others.
    pub topology: Option<Topology>,
    /// The ends, by name: each a TCP of its own. Needed unless there is a topology.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// Nodes that only forward, by name.
    #[serde(default)]
    pub routers: Vec<String>,
    /// What joins hosts and routers. Needed unless there is a topology.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Who sends what to whom.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// What is kept of a run.
    #[serde(default)]
    pub record: Record,
    /// What is measured over spans of the run.
    #[serde(default)]
    pub measure: Measure,
    /// What holds only in real time.
    #[serde(default)]
    pub live: Live,
}

/// One end.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its TCP: the name of a profile, or a path to one.
    pub profile: String,
    /// So many hosts, all alike: NAME-1, NAME-2, …, which links and flows call NAME-*. Without it there is the one.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Keys of the profile that this host has otherwise.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: serde_json::Map<String, serde_json::Value>,
    /// Its address; without it, one of 10.0.0.0/8 that comes from the host's name.
    pub address: Option<Ipv4Addr>,
}

/// One link: two directions, each a pipeline of its own.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The two nodes that it joins; `down` runs from the first to the second. A `*` in a name stands for each host that is
    /// called so, and there is a link to each.
    #[serde(deserialize_with = "two_nodes")]
    pub between: [String; 2],
    /// A named link whose keys hold where this one has none: the name of a preset, or a path to one.
    pub preset: Option<String>,
    /// The largest packet, IP header included; without it 1500 bytes, as on Ethernet (RFC 894).
    pub mtu: Option<Bytes>,
    /// The direction from the first node to the second.
    pub down: link::Config,
    /// The direction from the second node to the first.
    pub up: link::Config,
}

fn two_nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[String; 2], D::Error> {
    let nodes: Vec<String> = Vec::deserialize(deserializer)?;
    nodes.try_into().map_err(|nodes: Vec<String>| {
        let count = nodes.len();
        D::Error::custom(format!("a link joins two nodes, not {count}{REMEDY}write [\"server\", \"mobile\"]"))
    })
}

/// What is kept of a run. With nothing chosen, recording costs nothing.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The tables to keep.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// The hosts, routers and links whose packets are captured, by name.
    #[serde(default)]
    pub captures: Vec<String>,
    /// Whether captures keep whole packets. Without it they keep the headers, and how long each packet was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payload: bool,
}

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// Every packet's passage over every link, with its fate.
    Packets,
    /// Every decision of every sender.
    Tcp,
    /// The length of every queue at every change.
    Queue,
    /// What the ends sent and received.
    Segments,
    /// How far each flow had got, sampled.
    Progress,
    /// Every file, page or echo that a program waited for.
    Transfers,
    /// For how long each queue had each length.
    #[serde(rename = "queue_lengths")]
    QueueLengths,
}

/// What holds only in real time, where the kernel's TCP takes the place of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The kernel's congestion control, set for each socket; without it, the machine's.
    pub congestion: Option<String>,
    /// Settings of the hosts' network namespaces: "net.ipv4.tcp_sack" = 1.
    #[serde(default)]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

impl Live {
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
