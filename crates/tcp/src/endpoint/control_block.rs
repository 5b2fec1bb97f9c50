//! Control block interdependence (`interdependence.rs`): the state that an endpoint shares and takes over.

use units::{Bytes, Instant};

use super::Endpoint;
use crate::ControlBlock;

impl Endpoint {
    /// Whether the profile shares anything, and the endpoint has something to share.
    #[must_use]
    pub fn shares_control_block(&self) -> bool {
        self.config.plain.interdependence.is_some() && self.send.estimate().is_some()
    }

    /// The state that another connection may take over.
    #[must_use]
    pub fn control_block(&self, now: Instant) -> ControlBlock {
        let ssthresh = self.send.ssthresh();
        ControlBlock {
            at: now,
            ssthresh: (ssthresh != Bytes::MAX).then_some(ssthresh),
            estimate: self.send.estimate(),
        }
    }

    /// Takes over the state of another connection to the same peer, as far as the profile shares it and it is not too
    /// old. Call it before the handshake.
    pub fn inherit(&mut self, now: Instant, block: &ControlBlock) {
        let Some(rules) = &self.config.plain.interdependence else { return };
        let (estimate, ssthresh) = block.shared_by(rules, now);
        if let Some(estimate) = estimate {
            self.send.inherit_estimate(estimate);
        }
        if let Some(ssthresh) = ssthresh {
            self.send.inherit_ssthresh(ssthresh);
        }
    }
}
