//! Weighted round robin: the traffic classes are served in turn, each with as many packets as its weight (Katevenis,
//! Sidiropoulos and Courcoubetis 1991). All classes share the queue's limit. Where it is reached, the oldest packet is
//! dropped of the class with the most packets for its weight, or the arriving packet if that is its own class: so a
//! class that floods the queue cannot keep the others out of their turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Stream};

use super::round_robin::RoundRobin;
use super::{Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue, tail_drop};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "weighted-round-robin",
    "traffic classes by turns, each as many packets as its weight",
    "Katevenis, Sidiropoulos and Courcoubetis 1991",
)
.written("{ weighted-round-robin = { weights = [1, 4] } }");

/// The weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Packets in a turn of class 0, of class 1 and so on. Classes above the last are served as that.
    pub weights: Vec<u32>,
}

impl QueueParameters for Parameters {
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
        Service::Classful(Box::new(WeightedRoundRobin { weights, round_robin: RoundRobin::default() }))
    }
}

#[derive(Debug)]
struct WeightedRoundRobin {
    weights: Vec<u32>,
    round_robin: RoundRobin,
}

impl Scheduler for WeightedRoundRobin {
    fn classify(&mut self, keys: &Keys) -> usize {
        usize::from(keys.class).min(self.weights.len() - 1)
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        tail_drop::policy()
    }

    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        self.round_robin.next(sub_queues, |class| self.weights[class])
    }

    fn on_served(&mut self, _: usize, _: Bytes) {
        self.round_robin.on_served();
    }

    fn victims(&self, sub_queues: &[SubQueue], arriving: usize) -> Option<(usize, u32)> {
        // Lengths over weights, compared without dividing; of equals the arriving class is not the victim.
        let longer = |one: usize, other: usize| {
            let len = |class: usize| u64::from(sub_queues[class].len());
            len(one) * u64::from(self.weights[other]) > len(other) * u64::from(self.weights[one])
        };
        let longest = (0..sub_queues.len())
            .fold(arriving, |most, class| if longer(class, most) { class } else { most });
        (longest != arriving).then_some((longest, 1))
    }
}
