//! Control block interdependence (RFC 2140, RFC 9040): state that a connection takes over from another one between the
//! same two hosts.
//!
//! The user of endpoints keeps a [`ControlBlock`] for each pair of hosts: that of the connection that was closed last
//! (temporal sharing), or that of a connection that is still open (ensemble sharing).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use crate::rto::Estimate;

/// State that is shared.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Interdependence {
    /// Whether the slow-start threshold is shared.
    pub ssthresh: bool,
    /// Whether the smoothed round-trip time and its variation are shared.
    pub rtt: bool,
    /// Lifetime of an entry. RFC 9040 §4 asks for ageing and names no time; 10 min as Linux
    /// took for its destination cache.
    pub lifetime: Duration,
}

impl Default for Interdependence {
    fn default() -> Self {
        Self { ssthresh: true, rtt: true, lifetime: Duration::from_secs(600) }
    }
}

/// The state of a connection that others may take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlBlock {
    /// Time at which the state was read.
    pub at: Instant,
    /// The slow-start threshold, if there was a loss.
    pub ssthresh: Option<Bytes>,
    /// The round-trip estimate, if there was a sample.
    pub estimate: Option<Estimate>,
}

impl ControlBlock {
    /// The estimate and the threshold that a connection takes over at `now` by these rules: none that is too old.
    pub(crate) fn shared_by(
        &self,
        rules: &Interdependence,
        now: Instant,
    ) -> (Option<Estimate>, Option<Bytes>) {
        let age = now.saturating_since(self.at);
        if age > rules.lifetime {
            return (None, None);
        }
        let estimate = self.estimate.filter(|_| rules.rtt).map(|estimate| estimate.aged(age, rules.lifetime));
        (estimate, self.ssthresh.filter(|_| rules.ssthresh))
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
