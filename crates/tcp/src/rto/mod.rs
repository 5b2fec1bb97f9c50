//! The retransmission timer: how long to wait for an acknowledgment.
//!
//! A policy turns round-trip samples into a length. The endpoint owns the timer itself: it arms it,
//! doubles the length on each expiry, and keeps the doubled length until a fresh sample comes
//! (Karn and Partridge 1987, RFC 6298 §5.5 and §3).

mod fixed_point;

use units::text::write_duration;
use units::{Duration, Instant};

pub use rfc6298::Backoff;

use registry::{algorithms, refusal};

algorithms! {
    /// The retransmission timers.
    dyn Rto in "rto", a "retransmission timer":
    rfc6298,
    linux_2000,
    linux,
    bsd,
    eifel,
    windows_2000,
    ns_2,
}

/// Length of the retransmission timer.
pub trait Rto: std::fmt::Debug + Send {
    /// A round trip was measured: by the echoed clock, or without timestamps by a segment that was sent once.
    fn on_sample(&mut self, sample: &Sample);

    /// Continues from an estimate: that of an earlier connection to the same peer (RFC 2140, RFC 9040), or that before
    /// a spurious timeout.
    fn inherit(&mut self, estimate: Estimate);

    /// Tick of the clock that measures round trips.
    fn granularity(&self) -> Duration;

    /// The timer's length without back-off.
    fn length(&self) -> Duration;

    /// The longest that a backed-off timer may become.
    fn longest(&self) -> Duration;

    /// The length, doubled that many times.
    fn backed_off(&self, doublings: u32) -> Duration {
        self.length().doubled(doublings).min(self.longest())
    }

    /// Time for which a doubled length is kept.
    fn backoff(&self) -> Backoff {
        Backoff::UntilSample
    }

    /// The handshake has lost its SYN and so gave no sample: whether the timer starts anew for the data.
    /// Otherwise the backed-off length is kept.
    fn restarts_after_lost_syn(&mut self) -> bool {
        false
    }

    /// Time at which a timer of this length runs out that is started at `start`.
    fn runs_out_at(&self, start: Instant, length: Duration) -> Instant {
        start + length
    }

    /// From when the timer counts.
    fn counts_from(&self) -> CountsFrom {
        CountsFrom::LastAck
    }

    /// The estimator's state, once there is a sample.
    fn estimate(&self) -> Option<Estimate>;
}

/// Refuses lengths between which no timer fits, and an initial length that expires before any answer can arrive.
fn check_lengths(initial: Duration, min: Duration, max: Duration) -> Result<(), serde_json::Error> {
    if max.is_zero() {
        return Err(refusal(
            "max is 0 s, and every timer would expire at once",
            "RFC 6298 has \"60 s\" or more",
        ));
    }
    if min > max {
        let (min, max) = (write_duration(min), write_duration(max));
        return Err(refusal(format!("min is {min}, above max, {max}"), "write the lesser as min"));
    }
    if initial.is_zero() {
        return Err(refusal("initial is 0 s, and such a timer would expire at once", "RFC 6298 has \"1 s\""));
    }
    Ok(())
}

/// A round trip.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time at which the segment was sent.
    pub sent: Instant,
    /// Time at which its acknowledgment came.
    pub now: Instant,
    /// The congestion window in whole segments.
    pub cwnd: u64,
    /// FlightSize before the acknowledgment, in whole segments.
    pub flight: u64,
}

/// From when the timer counts once an ACK of new data has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsFrom {
    /// From that ACK (RFC 6298 §5.3).
    LastAck,
    /// From the last transmission of the oldest segment outstanding.
    OldestSent,
}

/// Smoothed round-trip time and its variation, as RFC 6298 §2 has them after Jacobson and Karels. Every policy
/// states this pair; what it keeps may be another, like the `fixed_point` numbers of `bsd` and `ns_2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// SRTT.
    pub srtt: Duration,
    /// RTTVAR, the smoothed mean deviation.
    pub rttvar: Duration,
}

impl Estimate {
    /// The estimate after `sample`, which may be the first.
    #[must_use]
    pub fn updated(earlier: Option<Self>, sample: Duration) -> Self {
        match earlier {
            // RFC 6298 §2.2.
            None => Self { srtt: sample, rttvar: sample / 2 },
            // RFC 6298 §2.3, with α = 1/8 and β = 1/4.
            Some(Self { srtt, rttvar }) => {
                Self { srtt: (srtt * 7 + sample) / 8, rttvar: (rttvar * 3 + srtt.abs_diff(sample)) / 4 }
            }
        }
    }
}

impl Estimate {
    /// The estimate after a spurious timeout that this was the estimate before, where data sent after it took
    /// `rtt` (RFC 4015 §3.1, steps 0 and 11): patient enough not to run out again at once.
    #[must_use]
    pub fn after_spurious_timeout(self, rtt: Duration, granularity: Duration) -> Self {
        Self { srtt: (self.srtt + granularity * 2).max(rtt), rttvar: self.rttvar.max(rtt / 2) }
    }
}

/// The time between two instants as a clock with this tick sees it: the difference of two truncated
/// readings, at least one tick.
fn measured(&Sample { sent, now, .. }: &Sample, tick: Duration) -> Duration {
    if tick.is_zero() {
        return now - sent;
    }
    let reading = |at: Instant| at.as_nanos() / tick.as_nanos();
    tick * (reading(now) - reading(sent)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_sees_whole_ticks_and_at_least_one() {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let between = |sent, now| Sample { sent: at(sent), now: at(now), cwnd: 1, flight: 1 };
        let tick = Duration::from_millis(500);
        assert_eq!(measured(&between(499, 501), tick), tick);
        assert_eq!(measured(&between(0, 499), tick), tick);
        assert_eq!(measured(&between(400, 1600), tick), tick * 3);
        assert_eq!(measured(&between(400, 1600), Duration::ZERO), Duration::from_millis(1200));
    }
}
