//! STARTUP and DRAIN of BBRv3: the search for the bandwidth, its end, and the queue that it leaves
//! (draft-ietf-ccwg-bbr-06 §5.3.1 and §5.3.2).

use super::super::{DeliverySample, LossPhase};
use super::model::{bandwidth_of, scaled};
use super::probe_bw::is_too_high;
use super::state::State;
use super::{Bbr3, FULL_PIPE_GROWTH, FULL_PIPE_ROUNDS, LONGEST_DRAIN_ROUNDS, STARTUP_LOSSES};

impl Bbr3 {
    /// `CheckFullBWReached`.
    pub(super) fn check_full_pipe(&mut self, sample: &DeliverySample) {
        let Some(rate) = sample.rate else { return };
        if self.full_pipe.now || !self.model.round_start || rate.application_limited {
            return;
        }
        let bandwidth = bandwidth_of(sample);
        if bandwidth >= scaled(self.full_pipe.bandwidth, FULL_PIPE_GROWTH) {
            self.full_pipe.reset(bandwidth);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= FULL_PIPE_ROUNDS;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, sample: &DeliverySample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain { since: self.model.rounds };
            self.ssthresh = self.inflight(self.model.max_bw(), 1.0);
        }
    }

    /// `CheckStartupHighLoss` (§5.3.1.3): a round trip of recovery, six losses, 2 % lost.
    fn check_startup_high_loss(&mut self, sample: &DeliverySample) {
        self.loss_events += u32::from(!sample.newly_lost.is_zero());
        if !self.model.loss_round_start {
            return;
        }
        let recovers = sample.phase == LossPhase::FastRecovery;
        let lossy = sample.rate.is_some_and(|rate| is_too_high(rate.lost, rate.in_flight));
        if self.state == State::Startup
            && !self.full_pipe.reached
            && self.recovering_at_round
            && recovers
            && self.loss_events >= STARTUP_LOSSES
            && lossy
        {
            self.undo.state = Some(State::Startup);
            self.full_pipe.reached = true;
            let safe = self.bdp(self.model.max_bw(), 1.0).max(self.model.inflight_latest());
            self.model.bounds.inflight_longterm = Some(safe);
        }
        (self.loss_events, self.recovering_at_round) = (0, recovers);
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, sample: &DeliverySample) {
        let State::Drain { since } = self.state else { return };
        let drained = sample.in_flight <= self.inflight(self.model.bw, 1.0);
        if drained || self.model.rounds > since + LONGEST_DRAIN_ROUNDS {
            self.start_down(sample.now);
        }
    }
}
