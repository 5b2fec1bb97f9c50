//! Cobalt: CoDel and BLUE (Høiland-Jørgensen, Täht and Morton 2018 §III.B). CoDel answers delay; BLUE's probability
//! grows if a flow overflows the queue nevertheless, as an unresponsive flow does, and falls when its queue is empty.
//!
//! Unlike RFC 8289 the number of drops is not forgotten when dropping ends: it falls by one at each time at which the
//! control law would have dropped.

use units::{Duration, Instant, Stream};

use crate::event::DropRule;
use crate::packet::Ecn;
use crate::queue::{Arrival, Decision, Departure, Policy};
use crate::random::happens;

/// Dropped or marked by CoDel's control law.
pub const DELAY: DropRule = DropRule::named("cake-codel");
/// Dropped by BLUE's probability.
pub const UNRESPONSIVE: DropRule = DropRule::named("cake-blue");

/// Cobalt's targets in a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// Acceptable delay.
    pub target: Duration,
    /// Time for which it may be exceeded.
    pub interval: Duration,
    /// Transmission of a full packet at the tin's rate.
    pub mtu_time: Duration,
}

/// Steps of BLUE's probability, up and down (Linux `p_inc`, `p_dec`).
const P_INC: f64 = 1.0 / 256.0;
const P_DEC: f64 = 1.0 / 4096.0;

#[derive(Debug)]
pub(super) struct Cobalt {
    timing: Timing,
    stream: Stream,
    count: u32,
    dropping: bool,
    drop_next: Instant,
    pub(super) p_drop: f64,
    /// Time at which the probability last changed.
    blue_timer: Instant,
}

impl Cobalt {
    pub const fn new(timing: Timing, stream: Stream) -> Self {
        Self {
            timing,
            stream,
            count: 0,
            dropping: false,
            drop_next: Instant::START,
            p_drop: 0.0,
            blue_timer: Instant::START,
        }
    }

    fn control_law(&self, from: Instant) -> Instant {
        from + self.timing.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    /// Whether BLUE may move again: once in a target.
    fn blue_is_due(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_since(self.blue_timer) > self.timing.target;
        if is_due {
            self.blue_timer = now;
        }
        is_due
    }

    /// The sub-queue overflowed.
    fn on_full(&mut self, now: Instant) {
        if self.blue_is_due(now) {
            self.p_drop = (self.p_drop + P_INC).min(1.0);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The sub-queue has become empty.
    fn on_empty(&mut self, now: Instant) {
        if self.p_drop > 0.0 && self.blue_is_due(now) {
            self.p_drop = (self.p_drop - P_DEC).max(0.0);
        }
        self.dropping = false;
    }

    /// CoDel's judgment: whether the control law drops now.
    fn codel_drops(&mut self, now: Instant, waited: Duration) -> bool {
        let Timing { target, interval, mtu_time } = self.timing;
        let is_late = waited > target && waited > mtu_time * 4;
        if is_late && !self.dropping {
            self.dropping = true;
            self.drop_next = now + interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt());
        }
        self.dropping = is_late;
        if is_late {
            self.count = self.count.max(1);
        }
        let drops = self.dropping && self.count > 0 && now >= self.drop_next;
        if drops {
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(self.drop_next);
        } else if !self.dropping {
            self.decay(now);
        }
        drops
    }

    /// The number of drops falls at the times at which there would have been some.
    fn decay(&mut self, now: Instant) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(self.drop_next);
        }
    }
}

impl Policy for Cobalt {
    fn on_arrival(&mut self, _: &Arrival) -> Decision {
        Decision::Pass
    }

    fn on_departure(&mut self, departure: &Departure) -> Decision {
        let Departure { now, waited, left, ecn, .. } = *departure;
        let by_delay = self.codel_drops(now, waited);
        let marks = by_delay && ecn != Ecn::NotCapable;
        let by_blue = self.p_drop > 0.0 && happens(&mut self.stream, self.p_drop);
        if left == 0 {
            self.on_empty(now);
        }
        // The last packet of a flow is never dropped.
        match (by_blue || (by_delay && !marks), left) {
            (true, 1..) => Decision::Drop(if by_blue { UNRESPONSIVE } else { DELAY }),
            _ if marks => Decision::Mark(DELAY),
            _ => Decision::Pass,
        }
    }

    /// Packets are removed where the queue overflows.
    fn on_removal(&mut self, now: Instant, _: u32) {
        self.on_full(now);
    }
}
