//! Pacing: the window decides how much is in flight; each segment takes its share of a round trip before the next one
//! may leave (Aggarwal, Savage and Anderson 2000).

use units::{Bytes, Duration, Instant};

use crate::endpoint::Endpoint;
use crate::timers::Timer;

impl Endpoint {
    /// Whether the next segment has to wait; sets the timer that ends the wait.
    pub(crate) fn pacing_holds(&mut self, now: Instant) -> bool {
        let holds = self.sending.paced_until > now;
        if holds {
            self.timers.set(Timer::Pacing, self.sending.paced_until);
        }
        holds
    }

    /// A segment of `len` bytes went out: the next one leaves its share of a round trip later. Before the
    /// first round trip is measured there is nothing to pace by.
    pub(crate) fn pace(&mut self, now: Instant, len: Bytes) {
        let Some(gain) = self.config.plain.pacing else { return };
        let Some(estimate) = self.sending.rto.estimate() else { return };
        let window = self.sending.window();
        let share = len.0 as f64 / (window.0 as f64 * gain);
        let gap = Duration::from_nanos((estimate.srtt.as_nanos() as f64 * share) as u64);
        self.sending.paced_until = self.sending.paced_until.max(now) + gap;
    }
}
