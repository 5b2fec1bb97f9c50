//! The input queue: packets that wait for the send buffer, and the disciplines that govern it.
//!
//! The queue keeps the packets and the limits. A discipline is either a [`Policy`] of one line, who
//! says which packets are dropped or marked beyond the limits, or a [`Scheduler`] of several lanes,
//! each with a policy. One file each: a new one is a file with `ENTRY`, `Parameters` and its policy or
//! scheduler, and a line in the list below.

mod input;
mod lane;
mod limits;
mod policy;
mod scheduler;
mod threshold;

pub mod codel;
pub mod fq_codel;
pub mod front_drop;
pub mod infinite;
pub mod pdpc;
pub mod pie;
pub mod priority;
pub mod red;
pub mod separate;
pub mod tail_drop;
pub mod weighted_round_robin;

pub use crate::registry::Entry;
pub(crate) use input::{InputQueue, Judgement, Offer};
pub use lane::Lane;
pub(crate) use lane::Waiting;
pub(crate) use limits::Limits;
pub use policy::{Arrival, Departure, Policy, Service, Setting, Verdict, Victim};
pub use scheduler::{Keys, Scheduler};

use units::Stream;

use crate::config::ConfigError;
use crate::registry;

registry! {
    /// Who is dropped from the input queue, and when. Written as its name, or as a table of one key
    /// where it has parameters: `{ red = { … } }`.
    Discipline, a "queue discipline" of dyn Setting:
    /// Drops whoever finds the queue at its limit.
    TailDrop = tail_drop,
    /// Drops the oldest where the queue is at its limit.
    FrontDrop = front_drop,
    /// Drops nobody.
    Infinite = infinite,
    /// Random early detection.
    Red = red,
    /// Controlled delay.
    Codel = codel,
    /// Controlled delay, each flow for itself.
    FqCodel = fq_codel,
    /// Proportional integral controller, enhanced.
    Pie = pie,
    /// Packet discard prevention counter.
    Pdpc = pdpc,
    /// Higher traffic classes first.
    Priority = priority,
    /// Traffic classes by turns.
    WeightedRoundRobin = weighted_round_robin,
    /// A queue for each user or flow.
    Separate = separate,
}

impl Discipline {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this discipline.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.setting().check().map_err(|error| error.below(self.id()))
    }

    /// How it serves and drops, drawing from `stream`; it has passed its check.
    #[must_use]
    pub fn service(&self, stream: Stream) -> Service {
        self.setting().service(stream)
    }

    /// Whether it is written as its name alone.
    fn is_bare(&self) -> bool {
        matches!(self, Self::TailDrop(_) | Self::FrontDrop(_) | Self::Infinite(_) | Self::Priority(_))
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
