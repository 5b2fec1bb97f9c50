//! RED: random early detection (Floyd and Jacobson 1993, "Random Early Detection Gateways for
//! Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), figure 2).
//!
//! The moving average of the queue's length, in packets, decides: below `min` nobody is dropped,
//! from `max` on everybody, and between them with a probability that grows with the average and with
//! the packets since the last drop, which spreads the drops evenly. While the queue is empty the
//! average falls as if small packets had gone by. Sarolahti 2000, Table 11, gives the parameters in
//! the order in which they stand here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Packets, Probability};
use units::{Bytes, Duration, Instant, Stream};

use super::{Arrival, Departure, Entry, Policy, Setting, Verdict};
use crate::config::ConfigError;
use crate::event::DropRule;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "red",
    summary: "random early detection on the moving average of the queue's length",
    example: "{ red = { min = \"2 packets\", max = \"7 packets\", weight = 0.15, max_probability = 0.3 } }",
    source: "Floyd and Jacobson 1993, figure 2; Sarolahti 2000, Table 11",
};

/// Dropped at random, the average being between the thresholds.
pub const EARLY: DropRule = DropRule::named("red_early");
/// Dropped because the average has reached the upper threshold.
pub const FORCED: DropRule = DropRule::named("red_forced");

/// The four parameters in Sarolahti's order, and one for idle times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Average from which packets are dropped at random.
    pub min: Packets,
    /// Average from which every packet is dropped.
    pub max: Packets,
    /// Weight of the current length in the moving average, above 0 and up to 1.
    pub weight: Probability,
    /// The probability that the average nears towards `max`, before the spreading.
    pub max_probability: Probability,
    /// Size of the packets that the average takes to have gone by while the queue was empty (the
    /// paper's s, as a size). Without it, that of the packet that ends the idle time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_packet: Option<Bytes>,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.min >= self.max {
            let message = format!("min ({}) is not below max ({})", self.min, self.max);
            return Err(ConfigError::new("min", message, "write the lower threshold as min"));
        }
        if self.weight == Probability::ZERO {
            let message = "with a weight of 0 the average never moves";
            return Err(ConfigError::new("weight", message, "write a number above 0, up to 1"));
        }
        if self.idle_packet == Some(Bytes::ZERO) {
            let message = "a packet of no size takes no time";
            return Err(ConfigError::new("idle_packet", message, "write a size like \"303 bytes\""));
        }
        Ok(())
    }

    fn policy(&self, stream: Stream) -> Box<dyn Policy> {
        Box::new(Red::new(*self, stream))
    }
}

/// The names are the paper's.
#[derive(Debug)]
struct Red {
    min: f64,
    max: f64,
    weight: f64,
    max_probability: f64,
    idle_packet: Option<Bytes>,
    stream: Stream,
    /// The moving average in packets.
    average: f64,
    /// Packets since the last drop while the average is between the thresholds; −1 outside.
    count: i64,
    /// Since when the queue is empty, if it is.
    empty_since: Instant,
}

impl Red {
    fn new(parameters: Parameters, stream: Stream) -> Self {
        Self {
            min: parameters.min.0 as f64,
            max: parameters.max.0 as f64,
            weight: parameters.weight.get(),
            max_probability: parameters.max_probability.get(),
            idle_packet: parameters.idle_packet,
            stream,
            average: 0.0,
            count: -1,
            empty_since: Instant::START,
        }
    }

    fn update_average(&mut self, arrival: &Arrival) {
        if arrival.waiting > 0 {
            self.average += self.weight * (f64::from(arrival.waiting) - self.average);
        } else {
            let gone_by = self.packets_in(arrival.now - self.empty_since, arrival);
            self.average *= libm::pow(1.0 - self.weight, gone_by);
            // The idle time up to here is accounted for, whether or not this packet gets in.
            self.empty_since = arrival.now;
        }
    }

    /// The paper's m: how many small packets could have been transmitted in an idle time.
    fn packets_in(&self, idle: Duration, arrival: &Arrival) -> f64 {
        if idle.is_zero() {
            return 0.0;
        }
        let Some(rate) = arrival.rate else { return f64::INFINITY };
        let each = rate.time_for(self.idle_packet.unwrap_or(arrival.size));
        idle.as_nanos() as f64 / each.as_nanos() as f64
    }

    /// Between the thresholds: p_b grows with the average, p_a spreads the drops.
    fn drops_early(&mut self) -> bool {
        self.count += 1;
        let drop_probability = self.max_probability * (self.average - self.min) / (self.max - self.min);
        unit(&mut self.stream) < spread(drop_probability, self.count)
    }
}

impl Policy for Red {
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        self.update_average(arrival);
        if self.average >= self.max {
            self.count = 0;
            Verdict::Drop(FORCED)
        } else if self.average < self.min {
            self.count = -1;
            Verdict::Pass
        } else if self.drops_early() {
            self.count = 0;
            Verdict::Drop(EARLY)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(&mut self, departure: &Departure) -> Verdict {
        if departure.left == 0 {
            self.empty_since = departure.now;
        }
        Verdict::Pass
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
