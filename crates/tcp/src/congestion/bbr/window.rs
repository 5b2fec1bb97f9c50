//! The congestion window: towards the target of the model, and through recovery.

use units::Bytes;

use super::{Bbr, Mode};
use crate::congestion::{DeliverySample, LossPhase};

impl Bbr {
    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, sample: &DeliverySample, gain: f64) {
        let acked = sample.newly_delivered;
        if !acked.is_zero() && !self.recovers_or_restores(sample) {
            let target = self.bdp(self.bandwidth(), gain) + self.extra_window();
            let target = self.quantized(target);
            let grown = self.cwnd + acked;
            if self.full_pipe.is_reached() {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || sample.delivered < self.initial_window {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(self.least_window());
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.least_window());
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: the first round of recovery sends a segment for each that has arrived.
    fn recovers_or_restores(&mut self, sample: &DeliverySample) -> bool {
        let acked = sample.newly_delivered;
        let (before, phase) = (self.prior_phase, sample.phase);
        self.cwnd = self.cwnd.saturating_sub(sample.newly_lost).max(self.smss);
        if phase == LossPhase::FastRecovery && before != LossPhase::FastRecovery {
            self.packet_conservation = true;
            self.round_ends = sample.delivered;
            self.cwnd = sample.in_flight + acked;
        } else if before != LossPhase::Open && phase == LossPhase::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_phase = phase;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(sample.in_flight + acked);
        }
        self.packet_conservation
    }

    /// Extra window for aggregated ACKs (`bbr_ack_aggregation_cwnd`).
    fn extra_window(&self) -> Bytes {
        if self.full_pipe.is_reached() { self.aggregation.extra(self.bandwidth()) } else { Bytes::ZERO }
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_cwnd(&mut self) {
        let untouched = self.prior_phase == LossPhase::Open && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if untouched { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// `bbr_cwnd_min_target`.
    pub(super) fn least_window(&self) -> Bytes {
        self.smss * 4
    }
}
