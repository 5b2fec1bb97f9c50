//! Independent errors of packets or bits. With a `burst` of b, a drop event is drawn, which takes b consecutive packets
//! (Bruyeron 1997, section 2: events of probability P' with b = 3).
//!
//! One number is drawn for every packet, also inside a burst, where it is ignored. The packet after a burst is
//! therefore the first that can begin another, bursts neither overlap nor extend each other, and the draws do not
//! depend on b. The share of lost packets is b·P' / (1 + (b − 1)·P'), close to b·P' if P' is small.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Stream};

use super::{ErrorParameters, Process};
use crate::error::ConfigError;
use crate::random::happens;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "independent",
    "each packet or bit independently; with a burst, each event hits several packets in a row",
    "Bernoulli; bursts as in Bruyeron 1997, section 2",
)
.written("{ independent = { probability = 0.01, burst = 3 } }");

/// Probability, its unit, and the length of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Unit of the probability.
    #[serde(default)]
    pub per: ErrorUnit,
    /// Probability of an error in one unit; with a burst, of an event that begins at a packet.
    pub probability: Probability,
    /// Number of consecutive packets hit by an event.
    #[serde(default = "one")]
    pub burst: u32,
}

/// The unit of an error's probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorUnit {
    /// A packet.
    #[default]
    Packet,
    /// A bit of it.
    Bit,
}

const fn one() -> u32 {
    1
}

impl Default for Parameters {
    fn default() -> Self {
        Self { per: ErrorUnit::Packet, probability: Probability::ZERO, burst: 1 }
    }
}

impl ErrorParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.burst == 0 {
            return Err(ConfigError::new("burst", "a burst of 0 packets has no effect", "write 1 or more"));
        }
        Ok(())
    }

    fn process(&self, stream: Stream) -> Box<dyn Process> {
        Box::new(Independent::new(*self, stream))
    }
}

/// The process itself, which the error stage holds unboxed: it is the usual one.
#[derive(Debug)]
pub(crate) struct Independent {
    unit: ErrorUnit,
    probability: f64,
    burst: u32,
    /// Number of packets that remain of the present burst.
    to_come: u32,
    stream: Stream,
    /// Probability for a packet of the size met last: sizes repeat.
    memo: (Bytes, f64),
}

impl Independent {
    pub(crate) fn new(parameters: Parameters, stream: Stream) -> Self {
        let (unit, probability) = (parameters.per, parameters.probability.get());
        Self { unit, probability, burst: parameters.burst, to_come: 0, stream, memo: (Bytes::ZERO, 0.0) }
    }

    fn probability_for(&mut self, size: Bytes) -> f64 {
        if self.unit == ErrorUnit::Packet {
            return self.probability;
        }
        if self.memo.0 != size {
            self.memo = (size, at_least_one(self.probability, size));
        }
        self.memo.1
    }
}

impl Process for Independent {
    fn hits(&mut self, size: Bytes) -> bool {
        let probability = self.probability_for(size);
        let begins = happens(&mut self.stream, probability);
        if self.to_come > 0 {
            self.to_come -= 1;
            return true;
        }
        if begins {
            self.to_come = self.burst - 1;
        }
        begins
    }
}

/// 1 − (1 − p)ⁿ for the n bits of a packet, without cancellation where p is tiny.
fn at_least_one(probability: f64, size: Bytes) -> f64 {
    let bits = 8.0 * size.0 as f64;
    -libm::expm1(bits * libm::log1p(-probability))
}
