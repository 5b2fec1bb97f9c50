//! Measurements over spans of a run, and the interval of samples.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use units::Duration;
use units::text::{REMEDY, parse_duration};

/// Measurements over spans of a run. Measuring changes no packet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Whether links are metered, utilisation and queue lengths, and the one-way delays of TCP flows. Without it, if
    /// anything here is given, or any table.
    pub links: Option<bool>,
    /// Length of the warm-up: a time, or a share of the run. The rest is the window `steady`: until the run ends, or
    /// until the last flow's `until` if each flow has one.
    pub warm_up: Option<WarmUp>,
    /// Spans over which every flow and link is summed up, by name: middle = ["90 s", "270 s"].
    #[serde(default)]
    pub windows: BTreeMap<String, [Duration; 2]>,
    /// Interval of the rows of each flow in the table `progress`. Default: 0.1 s.
    pub sample: Option<Duration>,
}

/// Length of the omitted beginning: "10 s", or a number between 0 and 1 for a share of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WarmUp {
    /// Time that is cut from the beginning.
    Time(Duration),
    /// This share of the time until `stop`, or else until the last flow's `until`.
    Share(f64),
}

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WarmUpVisitor)
    }
}

struct WarmUpVisitor;

impl Visitor<'_> for WarmUpVisitor {
    type Value = WarmUp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration like \"10 s\", or a share like 0.4")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WarmUp, E> {
        parse_duration(text).map(WarmUp::Time).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, share: f64) -> Result<WarmUp, E> {
        if (0.0..1.0).contains(&share) {
            return Ok(WarmUp::Share(share));
        }
        Err(E::custom(format!(
            "a share of {share} leaves nothing{REMEDY}write a number from 0 up to 1, or a time"
        )))
    }

    fn visit_i64<E: Error>(self, share: i64) -> Result<WarmUp, E> {
        self.visit_f64(share as f64)
    }

    fn visit_u64<E: Error>(self, share: u64) -> Result<WarmUp, E> {
        self.visit_f64(share as f64)
    }
}
