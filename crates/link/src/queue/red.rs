//! RED: random early detection (Floyd and Jacobson 1993, "Random Early Detection Gateways for
//! Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), figure 2).
//!
//! The moving average of the queue's length, in packets or in bytes, decides: below `min` no packet is dropped, from
//! `max` on every packet, and between them with a probability that grows with the average and with the packets since
//! the last drop, which spreads the drops evenly. While the queue is empty the average falls as if small packets had
//! passed. Sarolahti 2000, Table 11, gives the parameters in this order. With a weight of 1 the average is the
//! instantaneous length.
//!
//! Gentle: from `max` to twice `max` the probability grows from `max_probability` to 1 (Floyd 2000, "Recommendation on
//! using the gentle_ variant of RED"). With ECN, packets are marked instead of dropped below `max`; from `max` on they
//! are dropped (RFC 3168 §7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Packets, PacketsOrBytes, Probability};
use units::{Bytes, Duration, Instant, Stream};

use super::threshold::{check_thresholds, length, number};
use super::{Arrival, Decision, Departure, Entry, Policy, QueueParameters, Service};
use crate::error::ConfigError;
use crate::event::DropRule;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "red",
    "random early detection on the moving average of the queue's length",
    "Floyd and Jacobson 1993, figure 2; Sarolahti 2000, Table 11",
)
.written("{ red = { min = \"2 packets\", max = \"7 packets\", weight = 0.15, max_probability = 0.3 } }");

/// Dropped at random, the average being between the thresholds.
pub const EARLY: DropRule = DropRule::named("red_early");
/// Dropped because the average has reached the upper threshold.
pub const FORCED: DropRule = DropRule::named("red_forced");

/// The four parameters in Sarolahti's order, and one for idle times. The defaults are those of Floyd 1997, "RED:
/// Discussions of Setting Parameters".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Average from which packets are dropped at random, in packets or in bytes (framing included). Floyd 1997: 5
    /// packets.
    pub min: PacketsOrBytes,
    /// Average from which every packet is dropped. Floyd 1997: three times `min`, 15 packets.
    pub max: PacketsOrBytes,
    /// Weight of the current length in the moving average, above 0 and up to 1. Floyd 1997: 0.002.
    pub weight: Probability,
    /// The probability that the average nears towards `max`, before the spreading. Floyd 1997: 0.1.
    pub max_probability: Probability,
    /// Size of the packets that are assumed to pass while the queue is empty (the paper's s, as a size). Default: that
    /// of the packet that ends the idle time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_packet: Option<Bytes>,
    /// The probability is that of a packet of this size, and in proportion for others (the paper's
    /// byte mode). Without it, it is the same for all sizes, as RFC 7141 advises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<Bytes>,
    /// Whether the probability grows gently to 1 between `max` and twice `max`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gentle: bool,
    /// Whether ECN-capable packets are marked where they would be dropped early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let packets = |number| PacketsOrBytes::Packets(Packets(number));
        let probability = |number| Probability::new(number).unwrap_or_default();
        Self {
            min: packets(5),
            max: packets(15),
            weight: probability(0.002),
            max_probability: probability(0.1),
            idle_packet: None,
            scaled_by: None,
            gentle: false,
            ecn: false,
        }
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_thresholds(self.min, self.max)?;
        if self.weight == Probability::ZERO {
            let message = "with a weight of 0 the average never moves";
            return Err(ConfigError::new("weight", message, "write a number above 0, up to 1"));
        }
        for (key, size) in [("idle_packet", self.idle_packet), ("scaled_by", self.scaled_by)] {
            if size == Some(Bytes::ZERO) {
                let message = "a packet of no size takes no time and has no share";
                return Err(ConfigError::new(key, message, "write a size like \"303 bytes\""));
            }
        }
        Ok(())
    }

    fn service(&self, stream: Stream) -> Service {
        Service::Fifo(Box::new(Red::new(*self, stream)))
    }
}

/// The names are the paper's.
#[derive(Debug)]
struct Red {
    parameters: Parameters,
    min: f64,
    max: f64,
    weight: f64,
    max_probability: f64,
    stream: Stream,
    /// The moving average, in the unit of the thresholds.
    average: f64,
    /// Packets since the last drop while the average is between the thresholds; −1 outside.
    count: i64,
    /// Since when the queue is empty, if it is.
    empty_since: Instant,
}

impl Red {
    fn new(parameters: Parameters, stream: Stream) -> Self {
        Self {
            parameters,
            min: number(parameters.min) as f64,
            max: number(parameters.max) as f64,
            weight: parameters.weight.get(),
            max_probability: parameters.max_probability.get(),
            stream,
            average: 0.0,
            count: -1,
            empty_since: Instant::START,
        }
    }

    fn update_average(&mut self, arrival: &Arrival) {
        if arrival.queued > 0 {
            self.average += self.weight * (self.length(arrival) - self.average);
        } else {
            let gone_by = self.packets_in(arrival.now - self.empty_since, arrival);
            self.average *= libm::pow(1.0 - self.weight, gone_by);
            // The idle time up to here is accounted for, whether or not this packet gets in.
            self.empty_since = arrival.now;
        }
    }

    fn length(&self, arrival: &Arrival) -> f64 {
        number(length(arrival.queued, arrival.queued_bytes, self.parameters.min)) as f64
    }

    /// The paper's m: number of small packets that could have been transmitted in an idle time.
    fn packets_in(&self, idle: Duration, arrival: &Arrival) -> f64 {
        if idle.is_zero() {
            return 0.0;
        }
        let Some(rate) = arrival.rate else { return f64::INFINITY };
        let each = rate.time_for(self.parameters.idle_packet.unwrap_or(arrival.size));
        idle.as_nanos() as f64 / each.as_nanos() as f64
    }

    /// The paper's p_b at the present average: from 0 at `min` to `max_probability` at `max`, and
    /// gently on to 1 at twice `max`.
    fn drop_probability(&self, size: Bytes) -> f64 {
        let probability = if self.average < self.max {
            self.max_probability * (self.average - self.min) / (self.max - self.min)
        } else {
            self.max_probability + (1.0 - self.max_probability) * (self.average - self.max) / self.max
        };
        let share = self.parameters.scaled_by.map_or(1.0, |whole| size.0 as f64 / whole.0 as f64);
        (probability * share).min(1.0)
    }

    /// Between the thresholds: p_b grows with the average, p_a spreads the drops.
    fn drops_early(&mut self, size: Bytes) -> bool {
        self.count += 1;
        let probability = spread(self.drop_probability(size), self.count);
        unit(&mut self.stream) < probability
    }

    /// Average length from which on every arriving packet is dropped.
    fn upper_end(&self) -> f64 {
        if self.parameters.gentle { 2.0 * self.max } else { self.max }
    }
}

impl Policy for Red {
    fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        self.update_average(arrival);
        if self.average >= self.upper_end() {
            self.count = 0;
            Decision::Drop(FORCED)
        } else if self.average < self.min {
            self.count = -1;
            Decision::Pass
        } else if self.drops_early(arrival.size) {
            self.count = 0;
            let marks = self.parameters.ecn && arrival.ecn.is_capable() && self.average < self.max;
            if marks { Decision::Mark(EARLY) } else { Decision::Drop(EARLY) }
        } else {
            Decision::Pass
        }
    }

    fn on_departure(&mut self, departure: &Departure) -> Decision {
        if departure.left == 0 {
            self.empty_since = departure.now;
        }
        Decision::Pass
    }

    fn on_removal(&mut self, now: Instant, left: u32) {
        if left == 0 {
            self.empty_since = now;
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.average)
    }
}

/// The paper's p_a = p_b / (1 − count·p_b), equation 3; certain once the denominator is used up.
fn spread(probability: f64, count: i64) -> f64 {
    let rest = 1.0 - count as f64 * probability;
    if rest <= probability { 1.0 } else { probability / rest }
}
