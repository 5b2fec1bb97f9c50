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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::{Duration, Seq};

    use super::*;
    use crate::rto::Estimate;
    use crate::{Config, Ports};

    // RFC 9040 §4; RFC 6298 §2.2 with the estimate that was taken over.
    #[test]
    fn the_first_timer_is_that_of_the_estimate_which_was_taken_over() {
        let rto = |profile| {
            let config = Config::from_profile(&profile).expect("a profile");
            let mut endpoint = Endpoint::connect(&config.into(), Ports { local: 1, remote: 2 }, Seq(1));
            let estimate = Estimate { srtt: Duration::from_secs(2), rttvar: Duration::from_millis(250) };
            let block = ControlBlock { at: Instant::START, ssthresh: None, estimate: Some(estimate) };
            endpoint.inherit(Instant::START, &block);
            endpoint.rto()
        };
        let initial = rto(json!({}));
        assert_eq!(rto(json!({ "interdependence": {} })), Duration::from_secs(3));
        assert_eq!(rto(json!({ "interdependence": { "rtt": false } })), initial);
        assert_ne!(initial, Duration::from_secs(3));
    }
}
