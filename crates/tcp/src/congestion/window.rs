//! cwnd and ssthresh, and the changes of them that algorithms have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::CongestionEvent;

/// The congestion window and the slow-start threshold of a connection.
///
/// The window keeps fractions of a byte: one ACK adds SMSS·SMSS/cwnd to it, which is less than a byte once the window
/// is larger than the square of a segment, and what each ACK would lose adds up to a third of the growth long before.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The segment size.
    pub smss: Bytes,
    /// The congestion window, in units of 2^-20 bytes.
    cwnd: u64,
    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    pub ssthresh: Bytes,
}

impl Window {
    /// Before the connection is established.
    pub const UNSET: Self = Self { smss: Bytes::ZERO, cwnd: 0, ssthresh: Bytes::MAX };

    pub fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.smss = smss;
        self.set_cwnd(initial_window);
    }

    /// The congestion window in whole bytes.
    pub const fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd >> FRACTION_BITS)
    }

    /// The congestion window in segments, with its fraction.
    pub fn segments(&self) -> f64 {
        self.cwnd as f64 / UNIT as f64 / self.smss.0 as f64
    }

    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.0.saturating_mul(UNIT);
    }

    #[cfg(test)]
    pub fn of(cwnd: Bytes, smss: Bytes) -> Self {
        let mut window = Self::UNSET;
        window.start(smss, cwnd);
        window
    }

    /// Adds whole bytes; the fraction stays.
    pub fn open(&mut self, by: Bytes) {
        self.cwnd = self.cwnd.saturating_add(by.0.saturating_mul(UNIT));
    }

    /// Adds a number of bytes with its fraction.
    pub fn open_by(&mut self, bytes: f64) {
        self.cwnd = self.cwnd.saturating_add((bytes * UNIT as f64).round() as u64);
    }

    /// Takes off a number of bytes with its fraction.
    pub fn close_by(&mut self, bytes: f64) {
        self.cwnd = self.cwnd.saturating_sub((bytes * UNIT as f64).round() as u64);
    }

    /// Adds α·SMSS·acked/cwnd bytes: α segments in a round trip in which a whole window is acknowledged.
    pub fn open_by_part(&mut self, acked: Bytes, alpha: Alpha) {
        let (product, cwnd) = (self.smss.0 * acked.0, self.cwnd().0.max(1));
        let part = if product < EXACT {
            (product * UNIT + cwnd / 2) / cwnd
        } else {
            (u128::from(product) * u128::from(UNIT) / u128::from(cwnd)) as u64
        };
        self.cwnd = self.cwnd.saturating_add(alpha.times(part));
    }

    /// RFC 5681 equation 2: at most a segment for each ACK.
    pub fn slow_start(&mut self, acked: Bytes) {
        self.open(acked.min(self.smss));
    }

    pub fn is_below_ssthresh(&self) -> bool {
        self.cwnd() < self.ssthresh
    }

    /// Sets ssthresh to what a congestion event leaves: two segments at least (RFC 5681 equation 4).
    pub fn reduce_ssthresh(&mut self, kept: Bytes, unit: SsthreshUnit) {
        let kept = match unit {
            SsthreshUnit::Bytes => kept,
            SsthreshUnit::Segments => self.smss * kept.whole(self.smss),
        };
        self.ssthresh = kept.max(self.smss * 2);
    }

    /// Lowers cwnd to ssthresh; a window below it stays as it is.
    pub fn reduce_to_ssthresh(&mut self) {
        if !self.is_below_ssthresh() {
            self.set_cwnd(self.ssthresh);
        }
    }

    /// RFC 5681 §3.1: the loss window, one segment.
    pub fn collapse(&mut self) {
        self.set_cwnd(self.smss);
    }

    pub fn restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set_cwnd(cwnd);
        self.ssthresh = ssthresh;
    }
}

/// Segments that a round trip of congestion avoidance adds, in units of 2^-20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alpha(u64);

impl Alpha {
    /// RFC 5681 §3.1.
    pub const ONE: Self = Self(UNIT);

    pub fn new(segments: f64) -> Self {
        Self((segments * UNIT as f64).round() as u64)
    }

    /// α times a number of bytes or ACKs, in units of 2^-20.
    pub const fn scaled(self, number: u64) -> u64 {
        self.0 * number
    }

    /// α times a number, rounded down.
    const fn times(self, number: u64) -> u64 {
        match self.0.checked_mul(number) {
            Some(product) => product >> FRACTION_BITS,
            None => ((self.0 as u128 * number as u128) >> FRACTION_BITS) as u64,
        }
    }

    /// Its whole segments.
    pub const fn whole(self) -> u64 {
        self.0 >> FRACTION_BITS
    }
}

/// Base of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionOf {
    /// The congestion window, as Linux (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`) and ns-2 (`slowdown`).
    Cwnd,
    /// FlightSize, SACKed segments included (RFC 5681 equation 4, RFC 9438 §4.6), but no more than the window.
    #[serde(alias = "flight")]
    FlightSize,
    /// The estimated amount in the network (RFC 6675 §2).
    Pipe,
    /// The smaller of the congestion window and FlightSize: a window that the sender has not filled says nothing about
    /// the path, and FlightSize counts what was SACKed meanwhile. On a timeout FlightSize (RFC 5681 equation 4): during
    /// recovery the window is reduced already for the same losses, and Linux does not reduce it again
    /// (`tcp_enter_loss`).
    #[default]
    Smaller,
}

impl ReductionOf {
    /// Rest of the base after a congestion event, never more than the window.
    pub fn kept(self, factor: f64, event: &CongestionEvent) -> Bytes {
        let base = match self {
            Self::Cwnd => event.cwnd,
            Self::FlightSize => event.flight,
            Self::Pipe => event.pipe,
            Self::Smaller if event.is_timeout() => event.flight,
            Self::Smaller => event.in_use(),
        };
        // 5/7 of 14 segments are 10 segments, though 1 - 2/7 as a number is a little less than that.
        Bytes((factor * base.0 as f64 + ROUNDING) as u64).min(event.cwnd)
    }
}

/// Unit of ssthresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SsthreshUnit {
    /// Bytes (RFC 5681), and in ns-2 fractions of a packet (`precisionReduce_`).
    #[default]
    Bytes,
    /// Whole segments, rounded down, as Linux and BSD.
    Segments,
}

const FRACTION_BITS: u32 = 20;
/// One byte, or one segment a round trip.
const UNIT: u64 = 1 << FRACTION_BITS;
/// Products below it can be divided in 64 bits.
const EXACT: u64 = 1 << (63 - FRACTION_BITS);
/// Rounding error of a product with a fraction like 2/7, in bytes.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_than_a_byte_adds_up() {
        let mut window = Window::UNSET;
        window.start(Bytes(1000), Bytes(4_000_000));
        for _ in 0..4 {
            assert_eq!(window.cwnd(), Bytes(4_000_000));
            window.open_by_part(Bytes(1000), Alpha::ONE);
        }
        assert_eq!(window.cwnd(), Bytes(4_000_001));
    }

    #[test]
    fn a_round_trip_adds_alpha_segments_to_any_window() {
        for (segments, alpha) in [(10_u64, 1.0), (1000, 0.5), (10_661, 30.0), (1_000_000, 73.0)] {
            let mut window = Window::UNSET;
            window.start(Bytes(1460), Bytes(1460) * segments);
            (0..segments).for_each(|_| window.open_by_part(Bytes(1460), Alpha::new(alpha)));
            let grown = window.segments() - segments as f64;
            // Each ACK divides by the window of then, which has grown since the first; what the millionth of a byte
            // cuts off is less than a thousandth.
            let least = alpha * (1.0 - 0.6 * alpha / segments as f64);
            assert!(grown < alpha * 1.001 && grown > least * 0.999, "{grown} with {alpha} from {segments}");
        }
    }

    #[test]
    fn an_ack_of_a_large_window_is_divided_without_overflow() {
        let mut window = Window::UNSET;
        window.start(Bytes(65_000), Bytes(1 << 30));
        window.open_by_part(Bytes(1 << 30), Alpha::ONE);
        assert_eq!(window.cwnd(), Bytes((1 << 30) + 65_000));
        let before = window.cwnd();
        window.open_by_part(before, Alpha::new(10_000.0));
        assert_eq!(window.cwnd() - before, Bytes(650_000_000));
    }
}
