//! The shortest round trip, and PROBE_RTT, which halves the flight to measure it without a queue
//! (draft-ietf-ccwg-bbr-06 §5.3.4).

use units::{Bytes, Instant};

use super::super::DeliverySample;
use super::state::{AckPhase, Phase, State};
use super::{Bbr3, PROBE_RTT_CWND_GAIN};

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, sample: &DeliverySample) {
        let now = sample.now;
        let trip = &mut self.round_trip;
        trip.probe_rtt_expired = now > trip.probe_rtt_min_at + self.params.probe_rtt_interval;
        if let Some(rtt) = sample.rtt
            && (trip.probe_rtt_min.is_none_or(|min| rtt < min) || trip.probe_rtt_expired)
        {
            (trip.probe_rtt_min, trip.probe_rtt_min_at) = (Some(rtt), now);
        }
        let expired = now > trip.min_at + self.params.min_rtt_window;
        let shorter = trip.probe_rtt_min.is_some_and(|probed| trip.min.is_none_or(|min| probed < min));
        if shorter || expired {
            (trip.min, trip.min_at) = (trip.probe_rtt_min, trip.probe_rtt_min_at);
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, sample: &DeliverySample) {
        let probes = matches!(self.state, State::ProbeRtt { .. });
        if !probes && self.round_trip.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt { until: None, round_done: false };
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round(self.delivered);
        }
        self.handle_probe_rtt(sample);
        if sample.rate.is_some_and(|rate| !rate.delivered.is_zero()) {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, sample: &DeliverySample) {
        let State::ProbeRtt { until, round_done } = self.state else { return };
        if until.is_some() {
            let round_done = round_done || self.model.round_start;
            self.state = State::ProbeRtt { until, round_done };
            if round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= self.probe_rtt_cwnd() {
            self.state =
                State::ProbeRtt { until: Some(sample.now + self.params.probe_rtt), round_done: false };
            self.model.start_round(self.delivered);
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        let State::ProbeRtt { until: Some(until), .. } = self.state else { return };
        if now <= until {
            return;
        }
        self.round_trip.probe_rtt_min_at = now;
        self.restore_cwnd();
        self.model.reset_short_term();
        if self.full_pipe.reached {
            self.start_down(now);
            self.state = State::ProbeBw(Phase::Cruise);
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp(self.model.bw, PROBE_RTT_CWND_GAIN).max(self.least_window())
    }
}
