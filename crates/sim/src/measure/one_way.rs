//! One-way delay of a flow's packets, and their jitter.

use units::Duration;

use super::{DelayHistogram, FlowMeasures, FlowReading};

/// The one-way delays of a flow: of its datagrams, or of its segments with data, copies among them.
#[derive(Clone, Debug, Default)]
pub struct OneWayDelays {
    delays: DelayHistogram,
    jitter: Jitter,
}

/// The difference in spacing at the receiver and the sender, D(i−1, i) of RFC 3550 §6.4.1, summed up:
/// its mean is what the smoothed jitter of receivers' reports comes to over a long time.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<Duration>,
    sum: Duration,
    differences: u64,
}

impl OneWayDelays {
    /// A packet has arrived after this delay.
    pub fn add(&mut self, delay: Duration) {
        self.delays.add(delay);
        self.jitter.add(delay);
    }

    /// Enters them into the measures of a flow that a driver has observed.
    pub fn write_to(&self, measures: &mut FlowMeasures) {
        let mut reading = FlowReading::default();
        self.fill(&mut reading);
        let delays = self.delays.since(&DelayHistogram::default());
        let found = FlowMeasures::of(&reading, delays, &[]);
        measures.delay_mean_s = found.delay_mean_s;
        measures.delay_p50_s = found.delay_p50_s;
        measures.delay_p95_s = found.delay_p95_s;
        measures.delay_p99_s = found.delay_p99_s;
        measures.jitter_s = found.jitter_s;
    }

    pub(crate) const fn delays(&self) -> &DelayHistogram {
        &self.delays
    }

    pub(crate) const fn fill(&self, reading: &mut FlowReading) {
        reading.jitter_sum = self.jitter.sum;
        reading.jitter_count = self.jitter.differences;
    }
}

impl Jitter {
    fn add(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            self.sum += delay.abs_diff(last);
            self.differences += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_spacing_has_no_jitter_and_alternating_delays_have_their_difference() {
        let mut jitter = Jitter::default();
        (0..100).for_each(|_| jitter.add(Duration::from_millis(40)));
        assert_eq!(jitter.sum, Duration::ZERO);
        let mut jitter = Jitter::default();
        (0..1000).for_each(|n| jitter.add(Duration::from_millis(40 + n % 2 * 10)));
        assert_eq!(jitter.sum, Duration::from_millis(9_990));
    }
}
