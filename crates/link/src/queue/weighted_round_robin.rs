//! Weighted round robin: the traffic classes by turns, in each turn as many packets as the class's
//! weight (Katevenis, Sidiropoulos and Courcoubetis 1991). They share the queue's limit; where it is reached,
//! the oldest packet goes of the class that has most waiting for its weight, and the arriving one if that is
//! its own: so that a class which floods the queue cannot keep the others out of their turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Stream};

use super::scheduler::Turns;
use super::{Entry, Keys, Lane, Policy, Scheduler, Service, Setting, tail_drop};
use crate::config::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "weighted-round-robin",
    summary: "traffic classes by turns, each as many packets as its weight",
    example: "{ weighted-round-robin = { weights = [1, 4] } }",
    source: "Katevenis, Sidiropoulos and Courcoubetis 1991",
};

/// The weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Packets in a turn of class 0, of class 1 and so on. Classes above the last are served as that.
    pub weights: Vec<u32>,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        let help = "write a number of packets, 1 or more, for each class";
        if self.weights.is_empty() {
            return Err(ConfigError::new("weights", "the list is empty", help));
        }
        if let Some(class) = self.weights.iter().position(|weight| *weight == 0) {
            let message = format!("class {class} would never be served");
            return Err(ConfigError::new(format!("weights[{class}]"), message, help));
        }
        Ok(())
    }

    fn service(&self, _: Stream) -> Service {
        let weights = self.weights.clone();
        Service::Lanes(Box::new(WeightedRoundRobin { weights, turns: Turns::default() }))
    }
}

#[derive(Debug)]
struct WeightedRoundRobin {
    weights: Vec<u32>,
    turns: Turns,
}

impl Scheduler for WeightedRoundRobin {
    fn lane_of(&mut self, keys: &Keys) -> usize {
        usize::from(keys.class).min(self.weights.len() - 1)
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn next(&mut self, lanes: &[Lane]) -> Option<usize> {
        self.turns.next(lanes, |lane| self.weights[lane])
    }

    fn on_served(&mut self, _: usize, _: Bytes) {
        self.turns.on_served();
    }

    fn victims(&self, lanes: &[Lane], arriving: usize) -> Option<(usize, u32)> {
        // Lengths over weights, compared without dividing; of equals the arriving class is not the victim.
        let longer = |one: usize, other: usize| {
            let len = |lane: usize| u64::from(lanes[lane].len());
            len(one) * u64::from(self.weights[other]) > len(other) * u64::from(self.weights[one])
        };
        let longest =
            (0..lanes.len()).fold(arriving, |most, lane| if longer(lane, most) { lane } else { most });
        (longest != arriving).then_some((longest, 1))
    }
}
