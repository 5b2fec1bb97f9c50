//! Four-state Markov: bursts of losses with good packets in them, and isolated losses between the
//! bursts (Salsano, Ludovici, Ordine and Giannuzzi 2012, "Definition of a general and intuitive loss
//! model for packet networks and its implementation in the Netem module in the Linux kernel").
//!
//! The states have the paper's numbers: 1 received in a gap, 2 received inside a burst, 3 lost inside
//! a burst, 4 lost alone in a gap. With each packet the chain takes one step (one draw), and the
//! packet is hit if the step led to 3 or 4. It starts in 1. From 4 it always goes back to 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Stream};

use super::{ErrorParameters, Process};
use crate::error::ConfigError;
use crate::random::unit;
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "four-state-markov",
    "bursts of losses with good packets in them, and isolated losses between",
    "Salsano et al. 2012, as in netem's \"loss state\"",
)
.written("{ four-state-markov = { p13 = 0.01, p31 = 0.4, p32 = 0.2, p23 = 0.5, p14 = 0.002 } }");

/// The probabilities of the steps, with the paper's names: `p13` leads from state 1 to state 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// A burst begins.
    pub p13: Probability,
    /// A burst ends after a lost packet; above 0.
    pub p31: Probability,
    /// After a lost packet of a burst, a good one inside it.
    #[serde(default)]
    pub p32: Probability,
    /// After a good packet inside a burst, a lost one; above 0.
    #[serde(default = "certain")]
    pub p23: Probability,
    /// An isolated loss.
    #[serde(default)]
    pub p14: Probability,
}

const fn certain() -> Probability {
    Probability::ONE
}

impl ErrorParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, leaves, state) in
            [("p31", self.p31, "a burst never ends"), ("p23", self.p23, "a burst's good packets never end")]
        {
            if leaves == Probability::ZERO {
                let message = format!("with {key} = 0 {state}");
                return Err(ConfigError::new(key, message, "write a number above 0, up to 1"));
            }
        }
        for (key, one, two) in [("p13", self.p13, self.p14), ("p31", self.p31, self.p32)] {
            if one.get() + two.get() > 1.0 {
                let message = format!("the steps from one state sum to {}", one.get() + two.get());
                return Err(ConfigError::new(key, message, "p13 + p14 and p31 + p32 are at most 1"));
            }
        }
        Ok(())
    }

    fn process(&self, stream: Stream) -> Box<dyn Process> {
        Box::new(FourStateMarkov { steps: *self, state: State::Gap, stream })
    }
}

#[derive(Debug)]
struct FourStateMarkov {
    steps: Parameters,
    state: State,
    stream: Stream,
}

/// State of the chain; 1 to 4 in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Gap,
    GoodInBurst,
    LostInBurst,
    LostAlone,
}

impl Process for FourStateMarkov {
    fn hits(&mut self, _: Bytes) -> bool {
        let drawn = unit(&mut self.stream);
        let p = &self.steps;
        let branch = |one: Probability, two: Probability| {
            if drawn < one.get() { Some(true) } else { (drawn < one.get() + two.get()).then_some(false) }
        };
        self.state = match self.state {
            State::Gap => match branch(p.p13, p.p14) {
                Some(true) => State::LostInBurst,
                Some(false) => State::LostAlone,
                None => State::Gap,
            },
            State::LostInBurst => match branch(p.p31, p.p32) {
                Some(true) => State::Gap,
                Some(false) => State::GoodInBurst,
                None => State::LostInBurst,
            },
            State::GoodInBurst if drawn < p.p23.get() => State::LostInBurst,
            State::GoodInBurst => State::GoodInBurst,
            State::LostAlone => State::Gap,
        };
        matches!(self.state, State::LostInBurst | State::LostAlone)
    }
}
