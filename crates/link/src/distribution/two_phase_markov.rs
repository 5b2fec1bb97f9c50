//! Two-phase Markov: a process that is in one of two phases and changes between them at random.
//! Draws of one phase come in runs: a good time and a bad time (Gilbert 1960).
//!
//! Each draw is made in the current phase; then the process leaves the phase with that phase's
//! probability. It starts in the first. A stay lasts 1/`leave` draws in the mean, and in the long
//! run the first phase gives the share leave₂ / (leave₁ + leave₂) of the draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;
use units::text::Probability;

use super::family::ReadFile;
use super::{Distribution, Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::happens;

/// The registry's line.
pub const ENTRY: Entry = Entry::new("two-phase-markov", "two phases that alternate at random, each with its own distribution", "Gilbert 1960").written("{ two-phase-markov = { first = { draw = \"100 ms\", leave = 0.05 }, second = { draw = \"2 s\", leave = 0.5 } } }");

/// The two phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Parameters<Q> {
    /// The phase in which the process starts.
    pub first: Phase<Q>,
    /// The other one.
    pub second: Phase<Q>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
#[schemars(rename = "{Q}Phase")]
pub struct Phase<Q> {
    /// The distribution of this phase.
    pub draw: Box<Distribution<Q>>,
    /// Probability of leaving the phase after a draw, above 0.
    pub leave: Probability,
}

impl<Q: Quantity> Phase<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.leave == Probability::ZERO {
            let help = "write a number above 0, up to 1";
            return Err(ConfigError::new("leave", "a phase that is never left is the only one", help));
        }
        self.draw.check().map_err(|error| error.below("draw"))
    }
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        self.first.check().map_err(|error| error.below("first"))?;
        self.second.check().map_err(|error| error.below("second"))
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let phase = |phase: &Phase<Q>| (phase.draw.sampler(), phase.leave.get());
        Box::new(TwoPhaseMarkov { phases: [phase(&self.first), phase(&self.second)], current: 0 })
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.first.draw.load_files(read).map_err(|error| error.below("first.draw"))?;
        self.second.draw.load_files(read).map_err(|error| error.below("second.draw"))
    }
}

#[derive(Debug)]
struct TwoPhaseMarkov {
    phases: [(Box<dyn Sampler>, f64); 2],
    current: usize,
}

impl Sampler for TwoPhaseMarkov {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        let (sampler, leave) = &mut self.phases[self.current];
        let value = sampler.sample(stream);
        if happens(stream, *leave) {
            self.current = 1 - self.current;
        }
        value
    }
}
