//! Rate sources: variations of the rate of transmission that a distribution cannot express.
//!
//! A source computes the end of a transmission that starts now, including changes of its rate in between. A new source
//! is a file with `ENTRY`, `Parameters` and its source, and a line in the list below.

mod piecewise;
mod source;

pub use source::{CapacityParameters, RateSource, TransmissionEnd};

use units::{Rate, Streams};

use crate::distribution::ReadFile;
use crate::error::ConfigError;
use registry::registry;

registry! {
    /// Variation of the rate of transmission. Written as a table of one key, its name.
    Capacity in "capacity", a "rate source" of dyn CapacityParameters:
    SquareWave = square_wave,
    Schedule = schedule,
    RandomMultiples = random_multiples,
    Trace = trace,
    TokenBucket = token_bucket,
}

impl Capacity {
    /// Whether the parameters are valid with this base rate of the link.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this source.
    pub fn check(&self, base: Option<Rate>) -> Result<(), ConfigError> {
        self.parameters().check(base).map_err(|error| error.below(self.id()))
    }

    /// The source, once it has passed its check.
    #[must_use]
    pub fn source(&self, base: Option<Rate>, streams: &Streams) -> Box<dyn RateSource> {
        self.parameters().source(base, streams)
    }

    /// The mean rate in the long run.
    #[must_use]
    pub fn nominal(&self, base: Option<Rate>) -> Option<Rate> {
        self.parameters().nominal(base)
    }

    /// Reads the files that it names, by `read`, into its parameters.
    ///
    /// # Errors
    /// Errors of `read`, and invalid lines.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let id = self.id();
        self.parameters_mut().load_files(read).map_err(|error| error.below(id))
    }
}

#[cfg(test)]
mod tests;
