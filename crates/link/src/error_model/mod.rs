//! Error models: which packets are hit. The error stage decides on the effect.
//!
//! A model is asked once for every packet that comes to the error stage, in their order, so its
//! draws depend on nothing but the packets' number and sizes. A new model is a file with `ENTRY`,
//! `Parameters` and its process, and a line in the list below.

mod process;

pub use process::{ErrorParameters, Process};

use units::Stream;

use crate::error::ConfigError;
use registry::registry;

registry! {
    /// Packets that errors hit. Written as a table of one key, its name.
    ErrorModel in "error", a "error model" of dyn ErrorParameters:
    Independent = independent,
    GilbertElliott = gilbert_elliott,
    FourStateMarkov = four_state_markov,
    Periodic = periodic,
}

impl ErrorModel {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this model.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }

    /// The process, drawing from `stream`; the model has passed its check.
    #[must_use]
    pub fn process(&self, stream: Stream) -> Box<dyn Process> {
        self.parameters().process(stream)
    }
}

#[cfg(test)]
mod tests;
