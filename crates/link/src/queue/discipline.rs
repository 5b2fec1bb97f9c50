//! The list of queue disciplines.

use units::Stream;

use super::setting::{Service, Setting};
use super::{
    blue, codel, fq_codel, front_drop, infinite, pdpc, pie, priority, red, separate, tail_drop,
    weighted_round_robin,
};
use crate::error::ConfigError;
use crate::registry;

registry! {
    /// Which packets are dropped from the input queue, and which leave it first. Written as its name, or as a table of
    /// one key where it has parameters: `{ red = { … } }`.
    Discipline, a "queue discipline" of dyn Setting:
    /// Drops arriving packets where the queue is at its limit.
    TailDrop = tail_drop,
    /// Drops the oldest packets where the queue is at its limit.
    FrontDrop = front_drop,
    /// Drops no packets.
    Infinite = infinite,
    /// Random early detection.
    Red = red,
    /// Drop probability steered by overflow and idleness.
    Blue = blue,
    /// Controlled delay.
    Codel = codel,
    /// Fair queueing of flows with controlled delay.
    FqCodel = fq_codel,
    /// Proportional integral controller, enhanced.
    Pie = pie,
    /// Packet discard prevention counter.
    Pdpc = pdpc,
    /// Higher traffic classes first.
    Priority = priority,
    /// Traffic classes in turn.
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

    /// How it serves and drops packets, drawing from `stream`; it has passed its check.
    #[must_use]
    pub fn service(&self, stream: Stream) -> Service {
        self.setting().service(stream)
    }

    /// Whether a limit of the queue has no meaning for it.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.setting().is_unlimited()
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::TailDrop(tail_drop::Parameters {})
    }
}
