//! BLUE: a drop probability that packet loss raises and an idle link lowers (Feng, Shin, Kandlur and Saha 2002, "The
//! BLUE active queue management algorithms", IEEE/ACM Transactions on Networking 10(4), figure 6).
//!
//! The length of the queue is not used; an overflow means that too few packets were dropped, and an idle link that too
//! many were. After a change the probability is constant for the freeze time, in which it takes effect.
//!
//! The paper lowers the probability "upon link idle event". Here a link is idle from the end of a transmission until
//! the next packet arrives, and the event holds for all that time: the probability falls once in every freeze time of
//! it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Duration, Instant, Stream};

use super::{Arrival, Decision, Entry, Policy, Service, Setting};
use crate::error::ConfigError;
use crate::event::DropRule;
use crate::random::happens;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "blue",
    summary: "drops at random, more after each overflow of the queue, less while the link is idle",
    example: "{ blue = { freeze_time = \"100 ms\" } }",
    source: "Feng, Shin, Kandlur and Saha 2002",
};

/// Dropped at random.
pub const EARLY: DropRule = DropRule::named("blue");

/// The steps of the probability, and the time between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Increase of the probability at an overflow: the paper's d1, 0.0025 in its Table I.
    pub increment: Probability,
    /// Decrease at an idle link: the paper's d2, 0.00025 in its Table I. It should be well below the increment, because
    /// an idle link costs less than an overflowing queue.
    pub decrement: Probability,
    /// The smallest time between two changes: the paper's `freeze_time`, 100 ms in its Table I. It should be long
    /// enough for senders to react, which takes a round trip.
    pub freeze_time: Duration,
    /// Whether ECN-capable packets are marked where they would be dropped at random.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let probability = |number| Probability::new(number).unwrap_or_default();
        Self {
            increment: probability(0.0025),
            decrement: probability(0.00025),
            freeze_time: Duration::from_millis(100),
            ecn: false,
        }
    }
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, step) in [("increment", self.increment), ("decrement", self.decrement)] {
            if step == Probability::ZERO {
                let message = format!("with a {key} of 0 the probability moves one way only");
                return Err(ConfigError::new(key, message, "write a number above 0, up to 1"));
            }
        }
        if self.freeze_time.is_zero() {
            let message = "the probability would fall without end while the link is idle";
            return Err(ConfigError::new("freeze_time", message, "write a time like \"100 ms\""));
        }
        Ok(())
    }

    fn service(&self, stream: Stream) -> Service {
        Service::Fifo(Box::new(Blue::new(*self, stream)))
    }
}

#[derive(Debug)]
struct Blue {
    parameters: Parameters,
    stream: Stream,
    /// The paper's p_m.
    probability: f64,
    /// The earliest time of the next change: the last one and the freeze time.
    frozen_until: Instant,
}

impl Blue {
    const fn new(parameters: Parameters, stream: Stream) -> Self {
        Self { parameters, stream, probability: 0.0, frozen_until: Instant::START }
    }

    fn on_overflow(&mut self, now: Instant) {
        if now >= self.frozen_until {
            self.probability = (self.probability + self.parameters.increment.get()).min(1.0);
            self.frozen_until = now + self.parameters.freeze_time;
        }
    }

    /// The link has been idle from `since` until `now`.
    fn on_idle(&mut self, since: Instant, now: Instant) {
        let first = since.max(self.frozen_until);
        if first >= now {
            return;
        }
        let freeze_time = self.parameters.freeze_time;
        let later = (now - first).as_nanos().saturating_sub(1) / freeze_time.as_nanos();
        let fall = (later + 1) as f64 * self.parameters.decrement.get();
        self.probability = (self.probability - fall).max(0.0);
        self.frozen_until = first + freeze_time * (later + 1);
    }
}

impl Policy for Blue {
    fn on_arrival(&mut self, arrival: &Arrival) -> Decision {
        if let Some(since) = arrival.idle_since {
            self.on_idle(since, arrival.now);
        }
        if !arrival.has_room {
            self.on_overflow(arrival.now);
        }
        if !happens(&mut self.stream, self.probability) {
            return Decision::Pass;
        }
        let marks = self.parameters.ecn && arrival.ecn.is_capable();
        if marks { Decision::Mark(EARLY) } else { Decision::Drop(EARLY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use units::{Bytes, Streams};

    fn ms(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn blue() -> Blue {
        Blue::new(Parameters::default(), Streams::new(1).stream("queue"))
    }

    fn arrival(now: Instant) -> Arrival {
        Arrival {
            now,
            size: Bytes(1500),
            ecn: Ecn::NotCapable,
            queued: 10,
            queued_bytes: Bytes(15_000),
            has_room: true,
            idle_since: None,
            rate: None,
        }
    }

    fn overflow(now: Instant) -> Arrival {
        Arrival { has_room: false, ..arrival(now) }
    }

    #[test]
    fn an_overflow_raises_the_probability_once_in_a_freeze_time() {
        let mut blue = blue();
        for at in 0..1_000 {
            blue.on_arrival(&overflow(ms(at)));
        }
        assert!((blue.probability - 10.0 * 0.0025).abs() < 1e-12);
    }

    #[test]
    fn the_probability_stays_while_the_queue_neither_overflows_nor_the_link_is_idle() {
        let mut blue = blue();
        blue.on_arrival(&overflow(ms(0)));
        for at in 1..10_000 {
            blue.on_arrival(&arrival(ms(at)));
        }
        assert!((blue.probability - 0.0025).abs() < 1e-12);
    }

    #[test]
    fn an_idle_link_lowers_the_probability_once_in_each_freeze_time_of_its_idleness() {
        let mut blue = blue();
        for at in 0..1_000 {
            blue.on_arrival(&overflow(ms(at)));
        }
        let high = blue.probability;
        // Frozen until 1000 ms; idle at 1000, 1100, … 1500 ms.
        blue.on_arrival(&Arrival { idle_since: Some(ms(950)), ..arrival(ms(1_550)) });
        assert!((high - blue.probability - 6.0 * 0.00025).abs() < 1e-12);
        // Frozen until 1600 ms.
        let low = blue.probability;
        blue.on_arrival(&Arrival { idle_since: Some(ms(1_560)), ..arrival(ms(1_600)) });
        assert!((blue.probability - low).abs() < 1e-12);
        blue.on_arrival(&Arrival { idle_since: Some(ms(1_600)), ..arrival(ms(100_000)) });
        assert!(blue.probability.abs() < 1e-12, "never below 0");
    }

    #[test]
    fn packets_are_dropped_with_the_probability_or_marked_where_they_are_capable() {
        let parameters = Parameters { ecn: true, ..Parameters::default() };
        let mut blue = Blue::new(parameters, Streams::new(1).stream("queue"));
        blue.probability = 0.2;
        let mut share = |ecn, wanted| {
            let hits = (0..50_000).filter(|_| blue.on_arrival(&Arrival { ecn, ..arrival(ms(0)) }) == wanted);
            hits.count() as f64 / 50_000.0
        };
        assert!((share(Ecn::NotCapable, Decision::Drop(EARLY)) - 0.2).abs() < 0.006);
        assert!((share(Ecn::Capable, Decision::Mark(EARLY)) - 0.2).abs() < 0.006);
    }
}
