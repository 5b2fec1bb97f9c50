//! What a connection leaves to the next one between the same two hosts: control block interdependence
//! (RFC 2140, RFC 9040).
//!
//! Whoever opens connections keeps a [`ControlBlock`] for each pair of hosts: that of the connection that
//! was closed last (temporal sharing), or that of one that is still open (ensemble sharing).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use crate::endpoint::Endpoint;
use crate::rto::Estimate;

/// What is shared.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Interdependence {
    /// Whether the slow-start threshold is shared.
    pub ssthresh: bool,
    /// Whether the smoothed round-trip time and its variation are shared.
    pub rtt: bool,
    /// After how long an entry is forgotten. RFC 9040 §4 asks for ageing and names no time; 10 min as Linux
    /// took for its destination cache.
    pub lifetime: Duration,
}

impl Default for Interdependence {
    fn default() -> Self {
        Self { ssthresh: true, rtt: true, lifetime: Duration::from_secs(600) }
    }
}

/// What a connection knows of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlBlock {
    /// When it knew it.
    pub at: Instant,
    /// The slow-start threshold, if there was a loss.
    pub ssthresh: Option<Bytes>,
    /// The round-trip estimate, if there was a sample.
    pub estimate: Option<Estimate>,
}

impl Endpoint {
    /// Whether its profile shares anything, and it has something to share.
    #[must_use]
    pub fn shares_control_block(&self) -> bool {
        self.config.plain.interdependence.is_some() && self.sending.rto.estimate().is_some()
    }

    /// What this connection would leave to another.
    #[must_use]
    pub fn control_block(&self, now: Instant) -> ControlBlock {
        let ssthresh = self.sending.congestion.ssthresh();
        ControlBlock {
            at: now,
            ssthresh: (ssthresh != Bytes::MAX).then_some(ssthresh),
            estimate: self.sending.rto.estimate(),
        }
    }

    /// Begins with what another connection to the same peer knew, as far as the profile shares it and it
    /// is not too old. Call it before the handshake.
    pub fn inherit(&mut self, now: Instant, block: &ControlBlock) {
        let Some(rules) = &self.config.plain.interdependence else { return };
        if now.saturating_since(block.at) > rules.lifetime {
            return;
        }
        if let Some(estimate) = block.estimate.filter(|_| rules.rtt) {
            self.sending.rto.inherit(estimate.aged(now.saturating_since(block.at), rules.lifetime));
        }
        if let Some(ssthresh) = block.ssthresh.filter(|_| rules.ssthresh) {
            self.sending.inherited_ssthresh = Some(ssthresh);
        }
    }
}

impl Estimate {
    /// The estimate after a time without samples: the older, the less sure. The variation grows towards
    /// twice its value at the end of the lifetime, so that the first timer errs on the long side.
    #[must_use]
    pub fn aged(self, age: Duration, lifetime: Duration) -> Self {
        let share = age.as_secs_f64() / lifetime.as_secs_f64().max(f64::MIN_POSITIVE);
        let more = Duration::from_nanos((self.rttvar.as_nanos() as f64 * share.min(1.0)) as u64);
        Self { rttvar: self.rttvar + more, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_estimate_is_less_sure() {
        let (srtt, rttvar) = (Duration::from_millis(100), Duration::from_millis(10));
        let fresh = Estimate { srtt, rttvar };
        let lifetime = Duration::from_secs(600);
        assert_eq!(fresh.aged(Duration::ZERO, lifetime), fresh);
        let old = fresh.aged(Duration::from_secs(300), lifetime);
        assert_eq!((old.srtt, old.rttvar), (srtt, Duration::from_millis(15)));
    }
}
