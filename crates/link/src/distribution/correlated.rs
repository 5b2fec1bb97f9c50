//! Correlated: each number leans on the one before, with this correlation.
//!
//! `blend` takes ρ of the number before and 1 − ρ of a new draw. It keeps the mean, and the variance
//! becomes (1 − ρ) / (1 + ρ) of the distribution's. netem blends so, too, but the uniform number of 32
//! bits (`get_crandom`), before its remainder becomes a delay or a place in the table (`tabledist`): its
//! delays have another spread and another correlation than these. `hold` repeats the number before with
//! probability ρ and draws a new one otherwise: it keeps the distribution. With both, numbers that are k
//! apart have the correlation ρᵏ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;
use units::text::Probability;

use super::family::ReadFile;
use super::{Distribution, Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::happens;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "correlated",
    "each number is correlated with the previous number, or sometimes repeats it",
    "after netem (Hemminger 2005), which blends the uniform number that it draws from",
)
.written("{ correlated = { of = { uniform = [\"80 ms\", \"120 ms\"] }, correlation = 0.25 } }");

/// The distribution and its correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Parameters<Q> {
    /// The distribution.
    pub of: Box<Distribution<Q>>,
    /// Correlation of a number with the one before, below 1.
    pub correlation: Probability,
    /// Dependence of a number on the previous number.
    #[serde(default)]
    pub method: Method,
}

/// Dependence of a number on the previous number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// It is a weighted mean of both.
    #[default]
    Blend,
    /// It is the same, or a new one.
    Hold,
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.correlation == Probability::ONE {
            let message = "with a correlation of 1 the first number is the only one";
            return Err(ConfigError::new("correlation", message, "write a number below 1"));
        }
        self.of.check().map_err(|error| error.below("of"))
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let (of, correlation) = (self.of.sampler(), self.correlation.get());
        Box::new(Correlated { of, correlation, method: self.method, last: None })
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.of.load_files(read).map_err(|error| error.below("of"))
    }
}

#[derive(Debug)]
struct Correlated {
    of: Box<dyn Sampler>,
    correlation: f64,
    method: Method,
    last: Option<f64>,
}

impl Sampler for Correlated {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        let next = match (self.last, self.method) {
            (None, _) => self.of.sample(stream),
            (Some(last), Method::Blend) => {
                self.correlation * last + (1.0 - self.correlation) * self.of.sample(stream)
            }
            (Some(last), Method::Hold) if happens(stream, self.correlation) => last,
            (Some(_), Method::Hold) => self.of.sample(stream),
        };
        self.last = Some(next);
        next
    }
}
