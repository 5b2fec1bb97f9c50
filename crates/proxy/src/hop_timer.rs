//! The retransmission timer of a proxy: the round-trip time over the link alone.

use units::{Duration, Instant};

/// The estimate of RFC 6298 §2 over the link, and the timer that follows from it.
#[derive(Debug)]
pub(crate) struct HopTimer {
    shortest: Duration,
    srtt: Option<Duration>,
    rttvar: Duration,
    /// Expirations since the last new ACK.
    pub(crate) expired: u32,
    pub(crate) due: Instant,
}

impl HopTimer {
    pub(crate) const fn new(shortest: Duration) -> Self {
        Self { shortest, srtt: None, rttvar: Duration::ZERO, expired: 0, due: Instant::NEVER }
    }

    pub(crate) const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// RFC 6298 §2.2 and §2.3: alpha 1/8, beta 1/4.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        match self.srtt {
            None => (self.srtt, self.rttvar) = (Some(rtt), rtt.mul_f64(0.5)),
            Some(srtt) => {
                self.rttvar = self.rttvar.mul_f64(0.75) + srtt.abs_diff(rtt).mul_f64(0.25);
                self.srtt = Some(srtt.mul_f64(0.875) + rtt.mul_f64(0.125));
            }
        }
    }

    /// Its present length: twice as long after each expiration (RFC 6298 §5.5).
    pub(crate) fn length(&self) -> Duration {
        let once =
            self.srtt.map_or(FIRST, |srtt| srtt + (self.rttvar * 4).max(GRANULARITY)).max(self.shortest);
        once.doubled(self.expired).min(LONGEST.max(once))
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        self.due = now + self.length();
    }

    pub(crate) const fn stop(&mut self) {
        self.due = Instant::NEVER;
    }
}

/// Before the first sample, as RFC 6298 §2.1: a shorter timer would expire on every slow link.
const FIRST: Duration = Duration::from_secs(1);

/// RFC 6298 §2: the granularity of the clock, below which the variation does not count. A queue that stands still has
/// none, and a timer without a margin expires just before the answer to a copy. The RFC names no value; this is a tick
/// of 100 Hz.
const GRANULARITY: Duration = Duration::from_millis(10);

/// RFC 6298 §2.5: a maximum of at least 60 s.
const LONGEST: Duration = Duration::from_secs(60);
