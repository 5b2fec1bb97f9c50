//! Long-term bandwidth: BBR's estimate of a token-bucket policer (Flach et al. 2016; `bbr_lt_bw_sampling`).
//!
//! Two intervals in a row with a fifth lost and the same rate delivered are taken for a policer's; for 48 round trips
//! its rate is then the bandwidth of the model.

use units::{Bytes, Instant, Rate};

/// The state of the estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    interval: Option<Interval>,
    rounds: u32,
    /// The rate of the interval before.
    rate: Option<Rate>,
    policed: bool,
}

/// Start of an interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    at: Instant,
    delivered: Bytes,
    lost: Bytes,
}

/// Information of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub now: Instant,
    /// All data delivered and lost so far.
    pub delivered: Bytes,
    pub lost: Bytes,
    pub application_limited: bool,
    /// Whether something is newly lost.
    pub lossy: bool,
    pub round_start: bool,
    /// Whether the flow is in PROBE_BW.
    pub probes: bool,
}

impl LongTerm {
    /// The policer's rate, if one was found.
    pub fn policed(&self) -> Option<Rate> {
        self.rate.filter(|_| self.policed)
    }

    /// An ACK came; whether the policer's rate has counted long enough, and PROBE_BW starts over.
    pub fn on_sample(&mut self, sample: &Sample) -> bool {
        if self.policed {
            self.rounds += u32::from(sample.probes && sample.round_start);
            let over = self.rounds >= POLICED_ROUNDS;
            if over {
                *self = Self::default();
            }
            return over;
        }
        let Some(interval) = self.interval.or_else(|| sample.lossy.then(|| begin(sample))) else {
            return false;
        };
        self.interval = Some(interval);
        self.rounds += u32::from(sample.round_start);
        if sample.application_limited || self.rounds > 4 * LEAST_ROUNDS {
            *self = Self::default();
        } else if self.rounds >= LEAST_ROUNDS && sample.lossy {
            self.end_interval(interval, sample);
        }
        false
    }

    /// An interval ends with a loss, at which the policer has no token left (`bbr_lt_bw_interval_done`).
    fn end_interval(&mut self, interval: Interval, sample: &Sample) {
        let (lost, delivered) = (sample.lost - interval.lost, sample.delivered - interval.delivered);
        let time = sample.now.saturating_since(interval.at).as_secs_f64();
        if delivered.is_zero() || (lost.0 as f64) < LOSS_THRESHOLD * delivered.0 as f64 || time < 0.001 {
            return;
        }
        let rate = Rate::from_bits_per_sec((delivered.0 as f64 * 8.0 / time) as u64);
        match self.rate.filter(|before| agrees(*before, rate)) {
            Some(before) => {
                let mean = before.bits_per_sec().midpoint(rate.bits_per_sec());
                *self = Self { rate: Some(Rate::from_bits_per_sec(mean)), policed: true, ..Self::default() };
            }
            None => {
                *self = Self { rate: Some(rate), interval: Some(begin(sample)), ..Self::default() };
            }
        }
    }
}

const fn begin(sample: &Sample) -> Interval {
    Interval { at: sample.now, delivered: sample.delivered, lost: sample.lost }
}

/// Whether two rates differ by an eighth at most, or by 4 kbit/s.
fn agrees(before: Rate, rate: Rate) -> bool {
    let difference = before.bits_per_sec().abs_diff(rate.bits_per_sec());
    difference * 8 <= before.bits_per_sec() || difference <= NEGLIGIBLE
}

/// `bbr_lt_intvl_min_rtts`.
const LEAST_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: 50/256 lost of what was delivered.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// `bbr_lt_bw_diff`, in bits per second.
const NEGLIGIBLE: u64 = 4000;
/// `bbr_lt_bw_max_rtts`.
const POLICED_ROUNDS: u32 = 48;

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    /// A round of 100 ms in which 100 kB arrive and a part of as much is lost; each third ACK reports losses.
    fn round(long_term: &mut LongTerm, number: u64, lost_percent: u64) -> bool {
        long_term.on_sample(&Sample {
            now: Instant::START + Duration::from_millis(100) * number,
            delivered: Bytes(100_000 * number),
            lost: Bytes(1000 * number * lost_percent),
            application_limited: false,
            lossy: lost_percent > 0,
            round_start: true,
            probes: true,
        })
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policers_for_48_rounds() {
        let mut long_term = LongTerm::default();
        let found = (1..40).find(|number| {
            round(&mut long_term, *number, 25);
            long_term.policed().is_some()
        });
        assert_eq!(found, Some(8), "two intervals of four rounds");
        assert_eq!(long_term.policed(), Some(Rate::from_bits_per_sec(8_000_000)));
        let over = (9..100).find(|number| round(&mut long_term, *number, 0));
        assert_eq!((over, long_term.policed()), (Some(56), None));
    }

    #[test]
    fn a_tenth_lost_is_no_policer() {
        let mut long_term = LongTerm::default();
        let restarts = (1..60).filter(|number| round(&mut long_term, *number, 10)).count();
        assert_eq!((restarts, long_term.policed()), (0, None));
    }
}
