//! Gilbert-Elliott: a channel that is in a good or in a bad state (Gilbert 1960, Elliott 1963).
//!
//! Each packet is judged by the present state's probability, and then the channel leaves the state
//! with that state's probability: two draws for every packet. The channel starts good. In the long
//! run it is bad for the share to_bad / (to_bad + to_good) of the packets, and a stay in the bad
//! state lasts 1/to_good packets in the mean, geometrically distributed.

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
    "gilbert-elliott",
    "a good and a bad state that alternate at random, each with its own probability of loss",
    "Gilbert 1960; Elliott 1963",
)
.written("{ gilbert-elliott = { to_bad = 0.01, to_good = 0.3, good = 0.0, bad = 1.0 } }");

/// Changes of state, and errors in each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Probability, after each packet in the good state, that the state turns bad.
    pub to_bad: Probability,
    /// Probability, after each packet in the bad state, that the state turns good; above 0.
    pub to_good: Probability,
    /// Probability that a packet in the good state is hit.
    #[serde(default)]
    pub good: Probability,
    /// Probability that a packet in the bad state is hit. Gilbert's simplest case is 1.
    #[serde(default = "certain")]
    pub bad: Probability,
}

const fn certain() -> Probability {
    Probability::ONE
}

impl ErrorParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.to_good == Probability::ZERO {
            let message = "a bad state that is never left is the only one";
            return Err(ConfigError::new("to_good", message, "write a number above 0, up to 1"));
        }
        Ok(())
    }

    fn process(&self, stream: Stream) -> Box<dyn Process> {
        let state = |hit: Probability, leave: Probability| (hit.get(), leave.get());
        let states = [state(self.good, self.to_bad), state(self.bad, self.to_good)];
        Box::new(GilbertElliott { states, current: 0, stream })
    }
}

#[derive(Debug)]
struct GilbertElliott {
    /// Probability of a hit and of leaving, for the good state and the bad.
    states: [(f64, f64); 2],
    current: usize,
    stream: Stream,
}

impl Process for GilbertElliott {
    fn hits(&mut self, _: Bytes) -> bool {
        let (hit, leave) = self.states[self.current];
        let is_hit = happens(&mut self.stream, hit);
        if happens(&mut self.stream, leave) {
            self.current = 1 - self.current;
        }
        is_hit
    }
}
