//! A flow: what one host asks of the path to another, or several alike.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use units::text::{REMEDY, parse_duration};
use units::{Bytes, Duration};
use workload::Application;

/// One connection, or several equal ones, over which `from` sends as fast as it can; or the traffic of a workload.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name of the flow; several equal flows are called name-1, name-2, …
    pub name: String,
    /// The host that sends.
    pub from: String,
    /// The host that reads.
    pub to: String,
    /// The TCP of its connections at both ends, instead of the hosts': the name of a profile, or a path to one. In
    /// a live run its sockets get the profile's congestion control, if the kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Keys of its TCP that replace those of its profile or, without a profile, those of its hosts:
    /// `{ congestion = "bbr" }`.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: serde_json::Map<String, serde_json::Value>,
    /// Amount of data to send; the alternative is `until`.
    pub bytes: Option<Bytes>,
    /// Writes until this time of the run; the alternative is `bytes`. Data in its socket at that time, up to 128 KiB,
    /// are still sent, which takes two minutes at 9600 bit/s. A workload starts nothing new from then on.
    pub until: Option<Duration>,
    /// Traffic other than sending as fast as possible, written as a table of one key, its name:
    /// `{ web = { connection = "persistent" } }`.
    pub workload: Option<Application>,
    /// The traffic class of its packets, both ways, used by the disciplines `priority` and `weighted-round-robin`: from
    /// 0, the lowest, to 7. Default: 0.
    #[serde(default)]
    #[schemars(range(max = 7))]
    pub class: u8,
    /// Start of the flow. Default: the start of the run.
    #[serde(default)]
    pub start: Start,
    /// Number of equal flows. Default: 1.
    pub count: Option<u32>,
    /// Amounts of data whose time of acknowledgment is reported.
    #[serde(default)]
    pub milestones: Vec<Bytes>,
}

/// Start of a flow: "2 s", or { uniform = ["0 s", "100 ms"] }.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Start {
    /// At this time.
    At(Duration),
    /// At a time drawn uniformly between two, from the flow's own stream.
    Between {
        /// Earliest and latest.
        uniform: [Duration; 2],
    },
}

impl Start {
    /// The earliest start, and the longest delay drawn on top.
    #[must_use]
    pub fn parts(self) -> (Duration, Option<Duration>) {
        match self {
            Self::At(time) => (time, None),
            Self::Between { uniform: [earliest, latest] } => {
                (earliest, Some(latest.saturating_sub(earliest)).filter(|jitter| !jitter.is_zero()))
            }
        }
    }
}

impl Default for Start {
    fn default() -> Self {
        Self::At(Duration::ZERO)
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StartVisitor)
    }
}

struct StartVisitor;

impl<'de> Visitor<'de> for StartVisitor {
    type Value = Start;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration like \"2 s\" or { uniform = [\"0 s\", \"100 ms\"] }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Start, E> {
        parse_duration(text).map(Start::At).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Start, A::Error> {
        let Some(key) = map.next_key::<String>()? else { return Err(A::Error::missing_field("uniform")) };
        if key != "uniform" {
            return Err(A::Error::unknown_field(&key, &["uniform"]));
        }
        let uniform: [Duration; 2] = map.next_value()?;
        if uniform[1] < uniform[0] {
            let message =
                format!("the latest start is before the earliest{REMEDY}write the earlier time first");
            return Err(A::Error::custom(message));
        }
        Ok(Start::Between { uniform })
    }
}
