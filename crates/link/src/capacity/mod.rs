//! Rate sources: how the rate of transmission varies beyond what a distribution says.
//!
//! A source is asked when a transmission ends that starts now; one that changes its rate meanwhile is
//! followed through the change. A new source is a file with `ENTRY`, `Parameters` and its source, and a
//! line in the list below.

mod piecewise;
mod source;

pub mod random_multiples;
pub mod schedule;
pub mod square_wave;
pub mod token_bucket;
pub mod trace;

pub use source::{RateSource, Setting, TransmissionEnd};

use units::{Rate, Streams};

use crate::distribution::ReadFile;
use crate::error::ConfigError;
use crate::registry;

registry! {
    /// How the rate of transmission varies. Written as a table of one key, its name.
    Capacity, a "rate source" of dyn Setting:
    /// Two rates by turns.
    SquareWave = square_wave,
    /// Rates at given times.
    Schedule = schedule,
    /// Multiples of the base rate, at random.
    RandomMultiples = random_multiples,
    /// Opportunities to transmit, from a file.
    Trace = trace,
    /// A long-term rate with bursts.
    TokenBucket = token_bucket,
}

impl Capacity {
    /// Whether the parameters make sense beside this base rate of the link.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this source.
    pub fn check(&self, base: Option<Rate>) -> Result<(), ConfigError> {
        self.setting().check(base).map_err(|error| error.below(self.id()))
    }

    /// The source, once it has passed its check.
    #[must_use]
    pub fn source(&self, base: Option<Rate>, streams: &Streams) -> Box<dyn RateSource> {
        self.setting().source(base, streams)
    }

    /// The rate that it has in the mean, for whoever wants one number.
    #[must_use]
    pub fn nominal(&self, base: Option<Rate>) -> Option<Rate> {
        self.setting().nominal(base)
    }

    /// Reads the files that it names, by `read`, into its parameters.
    ///
    /// # Errors
    /// What `read` answers, and lines that are wrong.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let id = self.id();
        let loaded = match self {
            Self::Trace(trace) => trace.load_file(read),
            Self::RandomMultiples(multiples) => {
                multiples.interval.load_files(read).map_err(|error| error.below("interval"))
            }
            _ => Ok(()),
        };
        loaded.map_err(|error| error.below(id))
    }
}

#[cfg(test)]
mod tests;
