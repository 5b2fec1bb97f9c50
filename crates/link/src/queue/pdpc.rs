//! PDPC: the packet discard prevention counter (Sågfors, Ludwig, Meyer and Peisa 2003, "Queue
//! management for TCP traffic over 3G links", IEEE WCNC; the rule is in WO 02/098153 too).
//!
//! A radio bearer's queue holds one or a few flows, so one drop is signal enough. Above `min` a
//! packet is discarded, and the counter is set, so that the next `prevention` packets are spared:
//! the sender is given the time to react. From `max` on every packet is discarded. Nothing is random,
//! and nothing is averaged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;
use units::text::PacketsOrBytes;

use super::threshold::{check_thresholds, length, number};
use super::{Arrival, Decision, Entry, Policy, QueueParameters, Service, Victim};
use crate::error::ConfigError;
use crate::event::DropRule;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "pdpc",
    "above a threshold one packet is discarded, then a number of packets pass before the next discard",
    "Sågfors, Ludwig, Meyer and Peisa 2003",
)
.written("{ pdpc = { min = \"8 packets\", max = \"20 packets\", prevention = 20 } }");

/// Discarded because the queue is above `min` and the counter had run down.
pub const EARLY: DropRule = DropRule::named("pdpc_early");
/// Discarded because the queue has reached `max`.
pub const FORCED: DropRule = DropRule::named("pdpc_forced");

/// Thresholds and counter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Length above which a packet is discarded each time that the counter runs out.
    pub min: PacketsOrBytes,
    /// Length from which every packet is discarded.
    pub max: PacketsOrBytes,
    /// Packets that are let in after one was discarded, before the next may be. The longer the
    /// window of the flows, the more.
    pub prevention: u32,
    /// The packet that is discarded.
    #[serde(default)]
    pub discard: Discard,
}

/// Packet that is discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discard {
    /// The arriving packet.
    #[default]
    Arriving,
    /// The oldest one, so that the sender learns of it sooner.
    Oldest,
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_thresholds(self.min, self.max)
    }

    fn service(&self, _: Stream) -> Service {
        Service::Fifo(Box::new(Pdpc { parameters: *self, counter: 0 }))
    }
}

#[derive(Debug)]
struct Pdpc {
    parameters: Parameters,
    /// Packets still to be spared.
    counter: u32,
}

impl Pdpc {
    fn discard(&mut self, rule: DropRule) -> Decision {
        self.counter = self.parameters.prevention;
        match self.parameters.discard {
            Discard::Arriving => Decision::Drop(rule),
            Discard::Oldest => Decision::DropOldest(rule),
        }
    }
}

impl Policy for Pdpc {
    fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        let Parameters { min, max, .. } = self.parameters;
        let length = number(length(arrival.queued, arrival.queued_bytes, min));
        if length >= number(max) {
            return self.discard(FORCED);
        }
        if length > number(min) && self.counter == 0 {
            return self.discard(EARLY);
        }
        self.counter = self.counter.saturating_sub(1);
        Decision::Pass
    }

    fn victim(&self) -> Victim {
        match self.parameters.discard {
            Discard::Arriving => Victim::Arriving,
            Discard::Oldest => Victim::Oldest,
        }
    }
}
