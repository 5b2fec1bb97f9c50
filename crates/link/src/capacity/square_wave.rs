//! Square wave: a high and a low rate in turn (Landström 2008, section 4.5: 15 and 5 Mbit/s).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::piecewise::PiecewiseRate;
use super::{CapacityParameters, RateSource, TransmissionEnd};
use crate::distribution::Quantity;
use crate::error::ConfigError;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("square-wave", "a high and a low rate in turn", "Landström 2008, section 4.5")
        .written("{ square-wave = { high = \"15 Mbit/s\", low = \"5 Mbit/s\", period = \"2 s\" } }");

/// The rates and their turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The rate in the first part of each period.
    pub high: Rate,
    /// The rate in the rest; zero is an outage.
    pub low: Rate,
    /// Length of a period: 1 / frequency.
    pub period: Duration,
    /// Share of the period with the high rate.
    #[serde(default = "half")]
    pub share: Probability,
    /// Time at which a period starts. Default: the start of the run.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub phase: Duration,
}

fn half() -> Probability {
    Probability::new(0.5).unwrap_or_default()
}

impl Parameters {
    /// Length of the high rate.
    fn first(&self) -> Duration {
        self.period.mul_f64(self.share.get())
    }
}

impl CapacityParameters for Parameters {
    fn check(&self, _: Option<Rate>) -> Result<(), ConfigError> {
        if self.high == Rate::ZERO {
            let help = "write the higher of the two rates";
            return Err(ConfigError::new("high", "a rate of zero transmits nothing", help));
        }
        if self.period < Duration::from_micros(2) {
            let message = "the rate would change all the time";
            return Err(ConfigError::new("period", message, "write a time like \"2 s\""));
        }
        let first = self.first();
        if first.is_zero() || first >= self.period {
            let message = "one of the two rates would never hold";
            return Err(ConfigError::new("share", message, "write a number between 0 and 1"));
        }
        Ok(())
    }

    fn source(&self, _: Option<Rate>, _: &Streams) -> Box<dyn RateSource> {
        Box::new(SquareWave { wave: *self, first: self.first() })
    }

    fn nominal(&self, _: Option<Rate>) -> Option<Rate> {
        let (high, low) = (self.high.bits_per_sec() as f64, self.low.bits_per_sec() as f64);
        let share = self.share.get();
        Some(Rate::from_bits_per_sec((share * high + (1.0 - share) * low).round() as u64))
    }
}

#[derive(Debug)]
struct SquareWave {
    wave: Parameters,
    first: Duration,
}

impl PiecewiseRate for SquareWave {
    fn piece(&mut self, at: Instant) -> (Rate, Instant) {
        let period = self.wave.period.as_nanos();
        let shift = period - self.wave.phase.as_nanos() % period;
        let within = Duration::from_nanos((at.as_nanos() % period + shift) % period);
        if within < self.first {
            (self.wave.high, at + self.first.saturating_sub(within))
        } else {
            (self.wave.low, at + self.wave.period.saturating_sub(within))
        }
    }
}

impl RateSource for SquareWave {
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd {
        PiecewiseRate::transmit(self, now, size)
    }
}
