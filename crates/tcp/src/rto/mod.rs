//! The retransmission timer: how long to wait for an acknowledgment.
//!
//! A policy turns round-trip samples into a length. The endpoint owns the timer itself: it arms it,
//! doubles the length on each expiry, and keeps the doubled length until a fresh sample comes
//! (Karn and Partridge 1987, RFC 6298 §5.5 and §3).

mod linux_2000;
mod rfc6298;

use units::{Duration, Instant};

use crate::registry::Entry;

/// The policies that there are.
pub const ENTRIES: &[Entry<dyn Rto>] = &[rfc6298::ENTRY, linux_2000::ENTRY];

/// How long the retransmission timer runs.
pub trait Rto: std::fmt::Debug + Send {
    /// A segment that was sent once, at `sent`, is acknowledged at `now`, with a congestion window of
    /// `cwnd` whole segments.
    fn on_sample(&mut self, sent: Instant, now: Instant, cwnd: u64);

    /// The timer's length without back-off.
    fn length(&self) -> Duration;

    /// The longest that a backed-off timer may become.
    fn longest(&self) -> Duration;

    /// The handshake has lost its SYN and so gave no sample: whether the timer starts anew for the data.
    /// Otherwise the backed-off length is kept.
    fn restarts_after_lost_syn(&mut self) -> bool {
        false
    }

    /// From when the timer counts.
    fn counts_from(&self) -> CountsFrom {
        CountsFrom::LastAck
    }

    /// The estimator's state, once there is a sample.
    fn estimate(&self) -> Option<Estimate>;
}

/// From when the timer counts once an ACK of new data has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsFrom {
    /// From that ACK (RFC 6298 §5.3).
    LastAck,
    /// From the last transmission of the oldest segment outstanding.
    OldestSent,
}

/// Smoothed round-trip time and its variation, by the rule of Jacobson and Karels that RFC 6298 §2
/// writes down; every policy so far keeps this pair.
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

/// The time between two instants as a clock with this tick sees it: the difference of two truncated
/// readings, at least one tick.
fn measured(sent: Instant, now: Instant, tick: Duration) -> Duration {
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
        let tick = Duration::from_millis(500);
        assert_eq!(measured(at(499), at(501), tick), tick);
        assert_eq!(measured(at(0), at(499), tick), tick);
        assert_eq!(measured(at(400), at(1600), tick), tick * 3);
        assert_eq!(measured(at(400), at(1600), Duration::ZERO), Duration::from_millis(1200));
    }
}
