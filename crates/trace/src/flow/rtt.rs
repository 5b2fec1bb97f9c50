//! The round-trip time as a sender would measure it, and how long its timer is at least.

use units::Duration;

/// The estimate of RFC 6298 §2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    smoothed: Option<(Duration, Duration)>,
}

impl Rtt {
    /// A segment that was sent once was acknowledged after `sample`.
    pub(super) fn measure(&mut self, sample: Duration) {
        self.smoothed = Some(match self.smoothed {
            // RFC 6298 §2.2 and §2.3: gains of 1/8 and 1/4.
            None => (sample, sample / 2),
            Some((srtt, rttvar)) => ((srtt * 7 + sample) / 8, (rttvar * 3 + srtt.abs_diff(sample)) / 4),
        });
    }

    /// The smoothed round-trip time.
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The shortest that a retransmission timer is likely to be.
    pub(super) fn shortest_timer(&self) -> Duration {
        self.smoothed.map_or(INITIAL, |(srtt, rttvar)| {
            // Linux keeps four deviations at 200 ms or more (TCP_RTO_MIN).
            let timer = srtt + (rttvar * 4).max(Duration::from_millis(200));
            timer * 4 / 5 // Our estimate is not the sender's: it may be a little shorter.
        })
    }
}

/// RFC 6298 §2.1 has one second before the first measurement; a fifth less, as above.
const INITIAL: Duration = Duration::from_millis(800);
