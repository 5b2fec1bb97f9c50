//! The input queue: packets that wait for the send buffer, and the disciplines that govern it.
//!
//! The queue keeps the packets and the limits. A discipline is either a [`Policy`] of one line, which decides
//! which packets are dropped or marked beyond the limits, or a [`Scheduler`] of several sub-queues, each with a policy.
//! One file each: a new one is a file with `ENTRY`, `Parameters` and its policy or scheduler, and a line in the list
//! below.

mod classful;
mod fifo;
mod input_queue;
mod limits;
mod policy;
mod round_robin;
mod scheduler;
mod setting;
mod settings;
mod sub_queue;
mod threshold;

pub(crate) use fifo::QueuedPacket;
pub(crate) use input_queue::{Admission, ArrivingPacket, InputQueue};
pub(crate) use limits::Limits;
pub use policy::{Arrival, Decision, Departure, Policy, Victim};
pub use registry::Entry;
pub use scheduler::{Keys, Scheduler};
pub use setting::{QueueParameters, Service};
pub use settings::{Overflow, Queue};
pub use sub_queue::SubQueue;

use units::Stream;
use units::text::QueueLimit;

use crate::error::ConfigError;
use registry::registry;

registry! {
    /// Choice of the packets that are dropped from the input queue, and of those that leave it first. Written as its
    /// name, or as a table of one key where it has parameters: `{ red = { … } }`.
    Discipline in "queue", a "queue discipline" of dyn QueueParameters:
    TailDrop = tail_drop,
    FrontDrop = front_drop,
    Infinite = infinite,
    Red = red,
    Blue = blue,
    Codel = codel,
    FqCodel = fq_codel,
    Pie = pie,
    Dualpi2 = dualpi2,
    Cake = cake,
    Pdpc = pdpc,
    Priority = priority,
    AcksFirst = acks_first,
    WeightedRoundRobin = weighted_round_robin,
    Separate = separate,
}

impl Discipline {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this discipline.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }

    /// Returns its policy of serving and dropping packets, with draws from `stream`; it has passed its check.
    #[must_use]
    pub fn service(&self, stream: Stream) -> Service {
        self.parameters().service(stream)
    }

    /// Whether a limit of the queue has no meaning for it.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.parameters().is_unlimited()
    }

    /// The limit of each of its sub-queues, where it has one.
    pub(crate) fn limit_of_sub_queues(&mut self) -> Option<&mut QueueLimit> {
        self.parameters_mut().limit_of_sub_queues()
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::TailDrop(tail_drop::Parameters {})
    }
}

#[cfg(test)]
mod delay_tests;
#[cfg(test)]
mod tests;
