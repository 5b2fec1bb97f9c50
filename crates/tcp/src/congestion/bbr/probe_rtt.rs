//! The shortest round trip, and PROBE_RTT, which lets the queue drain to measure it.

use units::Instant;

use super::super::DeliverySample;
use super::{Bbr, Mode};

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, sample: &DeliverySample) {
        let now = sample.now;
        let expired = now.saturating_since(self.min_rtt_at) > self.parameters.min_rtt_window;
        if let Some(rtt) = sample.rtt
            && (self.min_rtt.is_none_or(|shortest| rtt < shortest) || (expired && !sample.maybe_delayed))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        let probing = matches!(self.mode, Mode::ProbeRtt { .. });
        if expired && !self.idle_restart && !probing && !self.parameters.probe_rtt.is_zero() {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
        }
        self.probe_rtt(sample);
        if sample.rate.is_some_and(|rate| !rate.delivered.is_zero()) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &DeliverySample) {
        let Mode::ProbeRtt { until, round_done } = self.mode else { return };
        match until {
            None if sample.in_flight <= self.least_window() => {
                let until = Some(sample.now + self.parameters.probe_rtt);
                self.mode = Mode::ProbeRtt { until, round_done: false };
                self.round_ends = sample.delivered;
            }
            None => {}
            Some(_) => {
                let round_done = round_done || self.round_start;
                self.mode = Mode::ProbeRtt { until, round_done };
                if round_done {
                    self.check_probe_rtt_done(sample.now);
                }
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        let Mode::ProbeRtt { until: Some(until), .. } = self.mode else { return };
        if now > until {
            self.min_rtt_at = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.full_pipe.is_reached() {
                self.start_probe_bw(now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }
}
