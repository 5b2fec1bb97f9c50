//! Aggregation of ACKs: the maximum amount acknowledged in excess of the bandwidth (`bbr_update_ack_aggregation`). The
//! window has room for as much, so that the sender continues between two bunches.

use units::{Bytes, Duration, Instant, Rate};

use super::super::DeliverySample;

/// The state of the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When the present epoch began, and what was acknowledged in it.
    epoch: Instant,
    acked: Bytes,
    /// The most of this window of five rounds, and of the one before.
    extra: [Bytes; 2],
    present: usize,
    rounds: u32,
}

impl Aggregation {
    /// A new epoch begins, as after an idle time.
    pub const fn restart(&mut self, now: Instant) {
        (self.epoch, self.acked) = (now, Bytes::ZERO);
    }

    /// An ACK has delivered something.
    pub fn on_ack(&mut self, sample: &DeliverySample, bandwidth: Rate, cwnd: Bytes, round_start: bool) {
        if sample.newly_delivered.is_zero() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                (self.rounds, self.present) = (0, 1 - self.present);
                self.extra[self.present] = Bytes::ZERO;
            }
        }
        let mut expected = carried(bandwidth, sample.now.saturating_since(self.epoch));
        if self.acked <= expected {
            self.restart(sample.now);
            expected = Bytes::ZERO;
        }
        self.acked += sample.newly_delivered;
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.extra[self.present] = self.extra[self.present].max(extra);
    }

    /// Extra window beyond the bandwidth-delay product: no more than arrives in 100 ms.
    pub fn extra(&self, bandwidth: Rate) -> Bytes {
        self.extra[0].max(self.extra[1]).min(carried(bandwidth, LONGEST_SILENCE))
    }
}

/// The data that a rate carries in some time.
pub(super) fn carried(rate: Rate, time: Duration) -> Bytes {
    Bytes((rate.bits_per_sec() as f64 / 8.0 * time.as_secs_f64()) as u64)
}

/// `bbr_extra_acked_win_rtts`.
const WINDOW_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`.
const LONGEST_SILENCE: Duration = Duration::from_millis(100);
