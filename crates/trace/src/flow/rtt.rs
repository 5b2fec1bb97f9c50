//! The round-trip time as a sender would measure it, and a lower bound of its timer.

use units::Duration;

/// The estimate of RFC 6298 §2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    smoothed: Option<(Duration, Duration)>,
    latest: Option<Duration>,
    samples: RoundTrips,
}

/// Round-trip times that were measured, by segments that were sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Number of samples.
    pub count: u64,
    /// The shortest.
    pub shortest: Duration,
    /// The longest.
    pub longest: Duration,
    /// Their sum.
    pub sum: Duration,
}

impl Rtt {
    /// A segment that was sent once was acknowledged after `sample`.
    pub(super) fn measure(&mut self, sample: Duration) {
        self.samples.add(sample);
        self.latest = Some(sample);
        self.smoothed = Some(match self.smoothed {
            // RFC 6298 §2.2 and §2.3: gains of 1/8 and 1/4.
            None => (sample, sample / 2),
            Some((srtt, rttvar)) => ((srtt * 7 + sample) / 8, (rttvar * 3 + srtt.abs_diff(sample)) / 4),
        });
    }

    /// Every measurement.
    pub(super) const fn samples(&self) -> &RoundTrips {
        &self.samples
    }

    /// The latest measurement.
    pub(super) const fn latest(&self) -> Option<Duration> {
        self.latest
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

impl RoundTrips {
    fn add(&mut self, sample: Duration) {
        self.shortest = if self.count == 0 { sample } else { self.shortest.min(sample) };
        self.longest = self.longest.max(sample);
        self.sum += sample;
        self.count += 1;
    }

    /// Their mean, if there is one.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }
}

/// RFC 6298 §2.1 has one second before the first measurement; a fifth less, as above.
const INITIAL: Duration = Duration::from_millis(800);
