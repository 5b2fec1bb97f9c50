//! CoDel: controlled delay (RFC 8289; Nichols and Jacobson 2012).
//!
//! CoDel uses the sojourn time of packets. If it has been above `target` for a whole `interval`, the packet that leaves
//! is dropped, and then further ones at times given by the control law, at intervals that shrink with the square root
//! of their number, until the delay is below `target` again. The pseudocode of RFC 8289 §5 takes several packets in one
//! call of its dequeue; here each packet that leaves is a call, and the next is taken at the same instant if one was
//! dropped.
//!
//! With ECN a packet is marked instead of dropped, and leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Stream};

use super::{Arrival, Decision, Departure, Entry, Policy, QueueParameters, Service};
use crate::error::ConfigError;
use crate::event::DropRule;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("codel", "controlled delay: drops packets that stayed too long, when they leave", "RFC 8289")
        .written("{ codel = { target = \"5 ms\", interval = \"100 ms\" } }");

/// Dropped because packets have stayed above the target for an interval.
pub const DELAY: DropRule = DropRule::named("codel");

/// Target and interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Acceptable queueing delay. RFC 8289 §4.3: 5 ms; on a slow link it should be
    /// above the time of a packet's transmission.
    pub target: Duration,
    /// Time for which packets may exceed the target, of the order of the longest usual round trip. RFC 8289 §4.2:
    /// 100 ms.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked where they would be dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.interval.is_zero() {
            let message = "an interval of no length drops everything";
            return Err(ConfigError::new("interval", message, "write a time like \"100 ms\""));
        }
        if self.target >= self.interval {
            let message = "the target is not below the interval";
            return Err(ConfigError::new(
                "target",
                message,
                "write 5 to 10 % of the interval (RFC 8289 §4.3)",
            ));
        }
        Ok(())
    }

    fn service(&self, _: Stream) -> Service {
        Service::Fifo(Box::new(Codel::new(*self)))
    }
}

/// The names are the RFC's.
#[derive(Debug)]
pub(super) struct Codel {
    parameters: Parameters,
    /// Time at which the stay will have been above the target for an interval, if it is above now.
    first_above: Option<Instant>,
    /// Whether packets are being dropped.
    dropping: bool,
    drop_next: Instant,
    /// Packets dropped since dropping began, and what that was when it last began.
    count: u32,
    last_count: u32,
    /// The largest packet so far: if at most one of this size waits, no packet is dropped.
    max_packet: Bytes,
}

impl Codel {
    pub(super) const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            first_above: None,
            dropping: false,
            drop_next: Instant::START,
            count: 0,
            last_count: 0,
            max_packet: Bytes::ZERO,
        }
    }

    /// RFC 8289 §5.4, the part of dodequeue that judges a packet: whether it may be dropped.
    fn may_drop(&mut self, departure: &Departure) -> bool {
        self.max_packet = self.max_packet.max(departure.size);
        if departure.waited < self.parameters.target || departure.left_bytes <= self.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(departure.now + self.parameters.interval);
                false
            }
            Some(due) => departure.now >= due,
        }
    }

    /// RFC 8289 §5.3: the time of the next drop shrinks with the square root of their number.
    fn control_law(&self, from: Instant) -> Instant {
        from + self.parameters.interval.mul_f64(1.0 / f64::from(self.count).sqrt())
    }

    /// RFC 8289 §5.5: dropping begins. If it ended shortly before, it continues at about the same rate.
    fn begin(&mut self, now: Instant) {
        self.dropping = true;
        let recent = now.saturating_since(self.drop_next) < self.parameters.interval * 16;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }
}

impl Policy for Codel {
    fn on_arrival(&mut self, _: &Arrival) -> Decision {
        Decision::Pass
    }

    fn on_departure(&mut self, departure: &Departure) -> Decision {
        let may_drop = self.may_drop(departure);
        if !may_drop {
            self.dropping = false;
            return Decision::Pass;
        }
        if !self.dropping {
            self.begin(departure.now);
        } else if departure.now >= self.drop_next {
            self.count += 1;
            self.drop_next = self.control_law(self.drop_next);
        } else {
            return Decision::Pass;
        }
        let marks = self.parameters.ecn && departure.ecn.is_capable();
        if marks { Decision::Mark(DELAY) } else { Decision::Drop(DELAY) }
    }
}
