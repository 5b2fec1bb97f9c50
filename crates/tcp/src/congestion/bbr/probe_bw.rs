//! PROBE_BW of BBR: a cycle of gains, each for one shortest round trip.

use units::{Duration, Instant};

use super::super::DeliverySample;
use super::{Bbr, CYCLE, Mode};

impl Bbr {
    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, sample: &DeliverySample) {
        let Mode::ProbeBw { phase, began } = self.mode else { return };
        if self.is_next_phase(began, sample) {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), began: sample.now };
        }
    }

    /// `bbr_is_next_cycle_phase`: a phase lasts a shortest round trip. Probing continues until the flight is as large
    /// as its gain, or something is lost; draining ends as soon as the queue is gone.
    fn is_next_phase(&self, began: Instant, sample: &DeliverySample) -> bool {
        let lasted = sample.now.saturating_since(began) > self.min_rtt.unwrap_or(Duration::MAX);
        let gain = self.gains().0;
        let in_network = || self.in_network_at_departure(sample.now, sample.prior_in_flight);
        if gain > 1.0 {
            let filled = || in_network() >= self.inflight(self.max_bw(), gain);
            lasted && (!sample.newly_lost.is_zero() || filled())
        } else if gain < 1.0 {
            lasted || in_network() <= self.inflight(self.max_bw(), 1.0)
        } else {
            lasted
        }
    }

    /// A flow begins anywhere in the cycle but where it drains (`bbr_reset_probe_bw_mode`).
    pub(super) fn start_probe_bw(&mut self, now: Instant) {
        let phase = CYCLE.len() - 1 - (self.random() % 7) as usize;
        self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), began: now };
    }

    /// A number that differs between flows: SplitMix64 (Steele, Lea and Flood 2014) of their seeds. Its upper bits.
    fn random(&mut self) -> u64 {
        self.draw = self.draw.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.draw;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) >> 16
    }
}
