//! Schedule: rates at given times, once or repeated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::piecewise::PiecewiseRate;
use super::{CapacityParameters, RateSource, TransmissionEnd};
use crate::distribution::Quantity;
use crate::error::ConfigError;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new("schedule", "rates at given times, once or repeated", "for measured or exactly repeatable values").written("{ schedule = { steps = [{ at = \"0 s\", rate = \"1 Mbit/s\" }, { at = \"10 s\", rate = \"200 kbit/s\" }] } }");

/// The steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rates and the times from which they apply; the first from "0 s" on. Zero is an outage.
    pub steps: Vec<Step>,
    /// Period after which it repeats. Default: the last rate applies until the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Duration>,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When.
    pub at: Duration,
    /// The rate from then on.
    pub rate: Rate,
}

impl CapacityParameters for Parameters {
    fn check(&self, _: Option<Rate>) -> Result<(), ConfigError> {
        let wrong = |path: &str, message: &str, help: &str| Err(ConfigError::new(path, message, help));
        let Some(first) = self.steps.first() else {
            return wrong(
                "steps",
                "the list is empty",
                "write at least { at = \"0 s\", rate = \"1 Mbit/s\" }",
            );
        };
        if !first.at.is_zero() {
            return wrong("steps[0].at", "there is no rate before it", "let the first step be at \"0 s\"");
        }
        if let Some(place) = self.steps.windows(2).position(|pair| pair[1].at <= pair[0].at) {
            let path = format!("steps[{}].at", place + 1);
            return wrong(&path, "it is not after the step before", "write the steps in order of time");
        }
        let last = self.steps[self.steps.len() - 1];
        match self.repeat {
            Some(repeat) if repeat <= last.at => {
                wrong("repeat", "the last step would never come", "write a time after the last step")
            }
            Some(_) if self.steps.iter().all(|step| step.rate == Rate::ZERO) => {
                wrong("steps", "there is never a rate above zero", "write a rate above zero")
            }
            None if last.rate == Rate::ZERO => {
                wrong("steps", "the last rate is zero, for ever", "end with a rate above zero, or add repeat")
            }
            _ => Ok(()),
        }
    }

    fn source(&self, _: Option<Rate>, _: &Streams) -> Box<dyn RateSource> {
        Box::new(Schedule(self.clone()))
    }

    fn nominal(&self, _: Option<Rate>) -> Option<Rate> {
        let Some(end) = self.repeat else { return self.steps.last().map(|step| step.rate) };
        let ends = self.steps.iter().skip(1).map(|step| step.at).chain([end]);
        let sent = |(step, until): (&Step, Duration)| {
            step.rate.bits_per_sec() as f64 * until.saturating_sub(step.at).as_secs_f64()
        };
        let sum: f64 = self.steps.iter().zip(ends).map(sent).sum();
        Some(Rate::from_bits_per_sec((sum / end.as_secs_f64()).round() as u64))
    }
}

#[derive(Debug)]
struct Schedule(Parameters);

impl PiecewiseRate for Schedule {
    fn piece(&mut self, at: Instant) -> (Rate, Instant) {
        let nanos = at.as_nanos();
        let within = Duration::from_nanos(self.0.repeat.map_or(nanos, |repeat| nanos % repeat.as_nanos()));
        let next = self.0.steps.partition_point(|step| step.at <= within);
        let end = self.0.steps.get(next).map(|step| step.at).or(self.0.repeat);
        let until = end.map_or(Instant::NEVER, |end| at + end.saturating_sub(within));
        (self.0.steps[next.saturating_sub(1)].rate, until)
    }
}

impl RateSource for Schedule {
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        PiecewiseRate::transmit(self, now, size)
    }
}
