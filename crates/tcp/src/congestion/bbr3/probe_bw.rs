//! PROBE_BW of BBRv3: DOWN, CRUISE, REFILL and UP, when one follows the other, and what a probe teaches of the data
//! that may safely be in flight (draft-ietf-ccwg-bbr-06 §5.3.3).

use units::{Bytes, Duration, Instant};

use super::super::DeliverySample;
use super::Bbr3;
use super::model::{bandwidth_of, part};
use super::state::{AckPhase, Phase, State};

impl Bbr3 {
    /// `StartProbeBW_DOWN`, with `PickProbeWait`.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_congestion_signals();
        let round = u64::from(self.draws.next() >= 0.5);
        let cycle = &mut self.cycle;
        cycle.acked_per_increment = Bytes::MAX;
        cycle.rounds_since_probe_up = round;
        cycle.wait = Duration::from_secs(2) + Duration::from_secs(1).mul_f64(self.draws.next());
        cycle.began = now;
        cycle.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round(self.delivered);
        self.state = State::ProbeBw(Phase::Down);
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.model.reset_short_term();
        let cycle = &mut self.cycle;
        (cycle.probe_up_rounds, cycle.probe_up_acked) = (0, Bytes::ZERO);
        cycle.prev_probe_precautionary = false;
        cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round(self.delivered);
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, sample: &DeliverySample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round(self.delivered);
        self.full_pipe.reset(bandwidth_of(sample));
        self.state = State::ProbeBw(Phase::Up);
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, sample: &DeliverySample) {
        if !self.full_pipe.reached || sample.rate.is_none() || self.adapts_long_term(sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(),
            Phase::Down if self.is_time_to_cruise(sample) => self.state = State::ProbeBw(Phase::Cruise),
            Phase::Refill if self.model.round_start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_up(sample);
            }
            Phase::Up if self.is_time_to_go_down(sample) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(sample.now);
            }
            _ => {}
        }
    }

    /// `AdaptLongTermModel`: whether it has decided on another phase.
    fn adapts_long_term(&mut self, sample: &DeliverySample) -> bool {
        let Some(rate) = sample.rate else { return false };
        let probes = matches!(self.state, State::ProbeBw(_));
        if self.model.round_start {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.is_bw_probe_sample = false;
                    self.cycle.ack_phase = AckPhase::Init;
                    if probes && !rate.application_limited {
                        self.model.advance_max_bw();
                    }
                    // §5.3.3.6: a careful probe that has lost little is followed by a whole one.
                    if probes && self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high {
                        self.start_refill();
                        return true;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        if !is_too_high(rate.lost, rate.in_flight)
            && let Some(bound) = &mut self.model.bounds.inflight_longterm
        {
            *bound = (*bound).max(rate.in_flight);
            if self.state == State::ProbeBw(Phase::Up) {
                self.probe_upward(sample);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`: by 1, 2, 4, … segments in each round trip that uses all of the bound.
    fn probe_upward(&mut self, sample: &DeliverySample) {
        let Some(bound) = self.model.bounds.inflight_longterm else { return };
        if !self.is_cwnd_limited() || self.cwnd < bound {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.probe_up_acked += sample.newly_delivered;
        let increments = cycle.probe_up_acked.0 / cycle.acked_per_increment.0.max(1);
        cycle.probe_up_acked -= cycle.acked_per_increment * increments;
        self.model.bounds.inflight_longterm = Some(bound + self.smss * increments);
        if self.model.round_start {
            self.raise_slope();
        }
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self) {
        let growth = 1_u64 << self.cycle.probe_up_rounds;
        self.cycle.probe_up_rounds = (self.cycle.probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.cycle.acked_per_increment = (self.cwnd / growth).max(self.smss);
    }

    /// `IsTimeToProbeBW`: after two to three seconds, or after as many round trips as Reno needs for its sawtooth.
    pub(super) fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno_rounds = self.target_inflight().whole(self.smss).min(MOST_RENO_ROUNDS);
        now > self.cycle.began + self.cycle.wait || self.cycle.rounds_since_probe_up >= reno_rounds
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &DeliverySample) -> bool {
        self.inflight_with_headroom().is_none_or(|bound| sample.in_flight <= bound)
            && sample.in_flight <= self.inflight(self.model.max_bw(), 1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, sample: &DeliverySample) -> bool {
        let bound = self.model.bounds.inflight_longterm;
        if self.cycle.prev_probe_too_high && bound.is_some_and(|bound| sample.in_flight >= bound) {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && bound.is_some_and(|bound| self.cwnd >= bound) {
            // The bandwidth is limited by the bound, and a plateau means nothing.
            self.full_pipe.reset(bandwidth_of(sample));
            return false;
        }
        self.full_pipe.now
    }

    /// `InflightWithHeadroom`: room for other flows below what is safe.
    pub(super) fn inflight_with_headroom(&self) -> Option<Bytes> {
        let bound = self.model.bounds.inflight_longterm?;
        let headroom = part(bound, HEADROOM).max(self.smss);
        Some(bound.saturating_sub(headroom).max(self.least_window()))
    }

    /// `HandleLostPacket` for a segment that was sent with `in_flight` bytes in flight, itself included, and since
    /// whose sending `lost` bytes are lost, with it.
    pub(super) fn on_lost(
        &mut self,
        size: Bytes,
        in_flight: Bytes,
        lost: Bytes,
        limited: bool,
        now: Instant,
    ) {
        if self.cycle.is_bw_probe_sample && is_too_high(lost, in_flight) {
            self.handle_too_high(inflight_at_loss(size, in_flight, lost), limited, now);
        }
    }

    /// `HandleInflightTooHigh`.
    fn handle_too_high(&mut self, in_flight: Bytes, application_limited: bool, now: Instant) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !application_limited {
            let least = part(self.target_inflight(), self.parameters.beta);
            self.model.bounds.inflight_longterm = Some(in_flight.max(least));
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.undo.state = Some(self.state);
            self.start_down(now);
        }
    }

    /// `TargetInflight`.
    fn target_inflight(&self) -> Bytes {
        self.bdp(self.model.bw, 1.0).min(self.cwnd)
    }
}

/// `IsInflightTooHigh`: more than 2 % are lost. Every sender that this runs in has selective acknowledgments, or takes
/// a loss for the only one of its round trip.
pub(super) fn is_too_high(lost: Bytes, in_flight: Bytes) -> bool {
    lost.0 as f64 > in_flight.0 as f64 * LOSS_THRESHOLD
}

/// `InflightAtLoss`: at which flight the losses came to be more than 2 %.
fn inflight_at_loss(size: Bytes, in_flight: Bytes, lost: Bytes) -> Bytes {
    let before = in_flight.saturating_sub(size);
    let lost_before = lost.saturating_sub(size).0 as f64;
    let prefix = (LOSS_THRESHOLD * before.0 as f64 - lost_before) / (1.0 - LOSS_THRESHOLD);
    before.saturating_add_signed(prefix as i64)
}

/// `BBR.LossThresh` (§2.7).
const LOSS_THRESHOLD: f64 = 0.02;
/// `BBR.Headroom` (§2.7).
const HEADROOM: f64 = 0.15;
/// `RaiseInflightLongtermSlope`.
const MOST_UP_ROUNDS: u32 = 30;
/// `IsRenoCoexistenceProbeTime`.
const MOST_RENO_ROUNDS: u64 = 63;
