//! What stands in for a program that only the caller of a run can supply.

use registry::Choice;
use units::Bytes;

use super::{AckSample, CongestionControl, CongestionEvent, Traits};

/// `reno`, which says that it is not what was chosen ([`Traits::stands_in`]).
#[derive(Debug)]
pub(super) struct StandIn(Box<dyn CongestionControl>);

impl Default for StandIn {
    fn default() -> Self {
        Self(Choice::named("reno").expect("reno has defaults").build())
    }
}

impl CongestionControl for StandIn {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.0.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.0.on_segment_size(smss);
    }

    fn traits(&self) -> Traits {
        Traits { stands_in: true, ..self.0.traits() }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.0.on_ack(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.0.on_loss(event);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.0.on_timeout(event);
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.0.on_recovery_exit(window);
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.0.on_restore(cwnd, ssthresh);
    }

    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
}
