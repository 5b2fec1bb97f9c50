//! The round-trip time as a sender estimates it (RFC 9002 §5).

use serde::Serialize;
use units::Duration;

/// The estimate, and the samples in short.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    pub(crate) latest: Duration,
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Duration,
    longest: Duration,
    sum: Duration,
    count: u64,
}

/// Round-trip times in short. Times are in seconds, without the delays that the peer states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RoundTripReport {
    /// Number of samples.
    pub samples: u64,
    /// The shortest, with the peer's delay.
    pub min_s: Option<f64>,
    /// The mean.
    pub mean_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// The smoothed round-trip time at the end (RFC 9002 §5.3).
    pub smoothed_s: Option<f64>,
}

impl RoundTrips {
    /// A sample, and the delay that the peer states for it. Returns the sample without that delay.
    pub(crate) fn add(&mut self, sample: Duration, delay: Duration) -> Duration {
        self.latest = sample;
        self.shortest = if self.count == 0 { sample } else { self.shortest.min(sample) };
        // §5.3: the delay is left out, but not below the shortest.
        let without = sample.saturating_sub(delay);
        let adjusted = if without >= self.shortest { without } else { sample };
        self.update(adjusted);
        self.longest = self.longest.max(adjusted);
        self.sum += adjusted;
        self.count += 1;
        adjusted
    }

    /// The time after which a packet below an acknowledged one counts as lost (§6.1.2).
    pub(crate) fn loss_delay(&self) -> Duration {
        let longest = self.smoothed.unwrap_or(INITIAL).max(self.latest);
        longest.mul_f64(TIME_THRESHOLD).max(GRANULARITY)
    }

    /// The probe timeout without backoff (§6.2.1); `None` before the first sample.
    pub(crate) fn probe_timeout(&self, max_ack_delay: Duration) -> Option<Duration> {
        Some(self.smoothed? + self.variation.mul_f64(4.0).max(GRANULARITY) + max_ack_delay)
    }

    pub(crate) fn report(&self) -> RoundTripReport {
        let any = self.count > 0;
        RoundTripReport {
            samples: self.count,
            min_s: any.then(|| self.shortest.as_secs_f64()),
            mean_s: any.then(|| self.sum.as_secs_f64() / self.count as f64),
            max_s: any.then(|| self.longest.as_secs_f64()),
            smoothed_s: self.smoothed.map(Duration::as_secs_f64),
        }
    }

    /// RFC 9002 §5.3.
    fn update(&mut self, sample: Duration) {
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        self.variation = self.variation.mul_f64(0.75) + smoothed.abs_diff(sample).mul_f64(0.25);
        self.smoothed = Some(smoothed.mul_f64(0.875) + sample.mul_f64(0.125));
    }
}

/// RFC 9002 §6.1.2 and §6.2.2.
const TIME_THRESHOLD: f64 = 9.0 / 8.0;
const GRANULARITY: Duration = Duration::from_millis(1);
const INITIAL: Duration = Duration::from_millis(333);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_of_rfc_9002() {
        let ms = Duration::from_millis;
        let mut trips = RoundTrips::default();
        assert_eq!(trips.probe_timeout(ms(25)), None);
        assert_eq!(trips.add(ms(100), ms(0)), ms(100));
        assert_eq!(trips.probe_timeout(ms(25)), Some(ms(100 + 200 + 25)));
        assert_eq!((trips.add(ms(120), ms(20)), trips.add(ms(104), ms(20))), (ms(100), ms(104)));
        // The first and the second are 100 ms without the stated delay; the third would be below the shortest.
        assert_eq!(trips.loss_delay(), ms(104).mul_f64(1.125));
    }
}
