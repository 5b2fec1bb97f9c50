//! Hyperexponential: one of several exponential distributions, each with its probability. More
//! variable than one of them: mostly short, sometimes long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;
use units::text::Probability;

use super::exponential::standard;
use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new("hyperexponential", "one of several exponential distributions, each with its probability", "composition of exponential distributions").written("{ hyperexponential = [{ probability = 0.9, mean = \"100 ms\" }, { probability = 0.1, mean = \"5 s\" }] }");

/// The branches; their probabilities add up to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters<Q>(pub Vec<Branch<Q>>);

/// One of the exponential distributions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "{Q}Branch")]
pub struct Branch<Q> {
    /// Probability that a draw is from this branch.
    pub probability: Probability,
    /// Mean of the branch.
    pub mean: Q,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        let sum: f64 = self.0.iter().map(|branch| branch.probability.get()).sum();
        if libm::fabs(sum - 1.0) > ROUNDING {
            let message = format!("the probabilities add up to {sum}");
            return Err(ConfigError::new("", message, "write branches whose probabilities add up to 1"));
        }
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let branch = |branch: &Branch<Q>| (branch.probability.get(), branch.mean.number());
        Box::new(Hyperexponential(self.0.iter().map(branch).collect()))
    }
}

/// Tolerance of the sum of decimal probabilities, which should be 1.
const ROUNDING: f64 = 1e-9;

#[derive(Debug)]
struct Hyperexponential(Vec<(f64, f64)>);

impl Sampler for Hyperexponential {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        let mut rest = unit(stream);
        let mut mean = 0.0;
        for (probability, branch_mean) in &self.0 {
            mean = *branch_mean;
            if rest < *probability {
                break;
            }
            rest -= probability;
        }
        mean * standard(stream)
    }
}
