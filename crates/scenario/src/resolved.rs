//! A resolved scenario: every name looked up, every default written out, one meaning.
//!
//! Its canonical JSON (keys sorted, no spaces) is hashed, stored with results, and can be run again without any file.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cell::quantity::Metres;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stacks::{DccpSettings, QuinnSettings};
use units::{Bytes, Duration};
use workload::Application;

use crate::error::InputError;
use crate::file::{Live, Machine, Record, Stack};

/// A scenario that can be run: a pure function of this gives its result.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The scenario's name.
    pub name: String,
    /// One line that describes it.
    pub summary: Option<String>,
    /// Master seed of all random streams.
    pub seed: u64,
    /// Latest end of the run.
    pub stop: Option<Duration>,
    /// The hosts: first the hosts that flows name, in the flows' order, so that an unused host changes no other host's
    /// index or address.
    pub hosts: Vec<Host>,
    /// Nodes that only forward.
    pub routers: Vec<String>,
    /// The links.
    pub links: Vec<Link>,
    /// Channels that links share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// The proxies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<Proxy>,
    /// One connection each.
    pub flows: Vec<Flow>,
    /// The records.
    pub record: Record,
    /// Measurements over spans of the run.
    #[serde(default, skip_serializing_if = "Measure::is_empty")]
    pub measure: Measure,
    /// Settings of real-time runs.
    pub live: Live,
}

/// Measurements over spans of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Whether links are metered.
    #[serde(default)]
    pub links: bool,
    /// The spans.
    pub windows: Vec<Window>,
    /// Interval of the rows of the table `progress`, if requested.
    pub sample: Option<Duration>,
}

/// A span of the run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// Time at which it opens.
    pub from: Duration,
    /// Time at which it closes. Default: the end of the run.
    pub to: Option<Duration>,
}

impl Measure {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One end.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The profile its TCP began from.
    pub profile: String,
    /// Its TCP: the profile's keys with the host's own.
    pub tcp: Value,
    /// Its stack, where the file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// Its settings of quinn, where the file has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quinn: Option<QuinnSettings>,
    /// Its settings of DCCP, where the file has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dccp: Option<DccpSettings>,
    /// The change of its address, where the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrate: Option<Migrate>,
    /// Its machine in a live run, where the file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Machine>,
    /// Settings of its network namespace in a live run, from keys of its TCP (see [`crate::KernelKeys`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
}

/// A change of a host's address.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// The time.
    pub at: Duration,
    /// The new address.
    pub address: Ipv4Addr,
    /// The link over which packets from and to it go, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// One link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The two nodes that the link joins; `down` leads from the first to the second.
    pub between: [String; 2],
    /// Maximum size of a packet, IP header included.
    pub mtu: Bytes,
    /// Whether the hosts know it.
    #[serde(default = "known", skip_serializing_if = "is_known")]
    pub mtu_known: bool,
    /// From the first node to the second.
    pub down: link::Config,
    /// From the second node to the first.
    pub up: link::Config,
    /// The machine that carries all links in a live run, where the file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Machine>,
}

/// A shared channel, which takes the place of its users' links' direction `down`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// Layout, radio, blocks, scheduler.
    pub config: cell::Config,
    /// Its users.
    pub users: Vec<CellUser>,
}

/// A user of a shared channel.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CellUser {
    /// Its link.
    pub link: String,
    /// Service and limits.
    pub config: cell::UserConfig,
    /// Position in metres to the east and to the north of the first site. Default: a random place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<[Metres; 2]>,
}

/// A proxy at one end of a link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Its name.
    pub name: String,
    /// The link that it serves.
    pub link: String,
    /// The end of the link at which it stands.
    pub node: String,
    /// What it does.
    pub kind: proxy::Proxy,
    /// The keys of a split's TCP towards the link, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireless: Option<Value>,
    /// The keys of a split's TCP towards the other side, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wired: Option<Value>,
}

/// One connection.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The host that connects and sends.
    pub from: String,
    /// The host that listens and reads.
    pub to: String,
    /// Its TCP, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<FlowTcp>,
    /// Amount to send, if it is fixed.
    pub bytes: Option<Bytes>,
    /// Until when is sent, where that is fixed.
    pub until: Option<Duration>,
    /// Traffic other than sending as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Application>,
    /// The traffic class of its packets.
    #[serde(default, skip_serializing_if = "is_lowest")]
    pub class: u8,
    /// The earliest start.
    pub start: Duration,
    /// The longest delay drawn on top.
    pub start_jitter: Option<Duration>,
    /// Amounts of data whose time of acknowledgment is reported.
    pub milestones: Vec<Bytes>,
}

/// The TCP of a flow at both ends, instead of that of its hosts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowTcp {
    /// The profile that it began from; none if it began from each host's TCP.
    pub profile: Option<String>,
    /// The keys of the end that sends.
    pub sender: Value,
    /// The keys of the end that reads.
    pub receiver: Value,
}

impl Resolved {
    /// Loads a scenario from its canonical JSON.
    ///
    /// # Errors
    /// Invalid JSON, with the key.
    pub fn from_json(json: &str) -> Result<Self, InputError> {
        let refuse = |key: String, error: &serde_json::Error| InputError {
            place: None,
            key,
            message: format!("this is no resolved scenario: {error}"),
            help: "resolve the scenario file again".to_owned(),
        };
        let mut deserializer = serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|error| refuse(error.path().to_string(), error.inner()))
    }

    /// The canonical JSON: keys sorted, no spaces; equal scenarios have equal texts.
    #[must_use]
    pub fn json(&self) -> String {
        sorted(self.to_value()).to_string()
    }

    /// The same as a JSON value.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every key is a string and every number finite")]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a resolved scenario is JSON")
    }

    /// The hash of the canonical JSON (BLAKE3, 256 bits, hexadecimal). A run with a known hash is not rerun.
    #[must_use]
    pub fn hash(&self) -> String {
        blake3::hash(self.json().as_bytes()).to_hex().to_string()
    }

    /// The same scenario under another master seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }
}

const fn known() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_known(known: &bool) -> bool {
    *known
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_lowest(class: &u8) -> bool {
    *class == 0
}

/// The value with the keys of every table sorted, whatever map `serde_json` was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(keys) => {
            let keys: BTreeMap<String, Value> = keys.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            Value::Object(keys.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
