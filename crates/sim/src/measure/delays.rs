//! Quantiles of delays, from a histogram with classes about 1 % wide.

use units::Duration;

/// Number of delays in each class.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayHistogram {
    /// Class 0 has the delays under [`FINEST_NS`]; each further class is wider by [`GROWTH`].
    counts: Vec<u32>,
    sum: Duration,
}

/// All delays under a microsecond are in one class.
const FINEST_NS: f64 = 1_000.0;
/// Two quantiles that differ by less than a hundredth are one.
const GROWTH: f64 = 1.01;

/// The delays of a span, summed up, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    pub(crate) mean_s: f64,
    pub(crate) p50_s: f64,
    pub(crate) p95_s: f64,
    pub(crate) p99_s: f64,
}

impl DelayHistogram {
    pub(crate) fn add(&mut self, delay: Duration) {
        let class = class_of(delay);
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.sum += delay;
    }

    /// The delays added since `before`; `None` without any.
    pub(crate) fn since(&self, before: &Self) -> Option<Delays> {
        let earlier = |class: usize| before.counts.get(class).copied().unwrap_or(0);
        let counts: Vec<u64> =
            (0..).zip(&self.counts).map(|(class, count)| u64::from(count - earlier(class))).collect();
        let count: u64 = counts.iter().sum();
        let quantile = |p: f64| value_of(class_at(&counts, libm::ceil(p * count as f64) as u64));
        (count > 0).then(|| Delays {
            count,
            mean_s: self.sum.saturating_sub(before.sum).as_secs_f64() / count as f64,
            p50_s: quantile(0.50),
            p95_s: quantile(0.95),
            p99_s: quantile(0.99),
        })
    }
}

/// The class in which the `rank`th delay lies, from 1 on.
fn class_at(counts: &[u64], rank: u64) -> usize {
    let mut so_far = 0;
    let reached = |count: &u64| {
        so_far += count;
        so_far >= rank.max(1)
    };
    counts.iter().position(reached).unwrap_or(0)
}

fn class_of(delay: Duration) -> usize {
    let nanos = delay.as_nanos() as f64;
    if nanos < FINEST_NS { 0 } else { 1 + (libm::log(nanos / FINEST_NS) / libm::log(GROWTH)) as usize }
}

/// The middle of a class, in seconds.
fn value_of(class: usize) -> f64 {
    if class == 0 {
        return FINEST_NS / 2.0 / 1e9;
    }
    FINEST_NS * libm::pow(GROWTH, class as f64 - 0.5) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth_and_the_mean_is_exact() {
        let mut histogram = DelayHistogram::default();
        (1..=1000).for_each(|ms| histogram.add(Duration::from_millis(ms)));
        let delays = histogram.since(&DelayHistogram::default()).unwrap();
        assert!((delays.mean_s - 0.5005).abs() < 1e-9);
        for (found, exact) in [(delays.p50_s, 0.5), (delays.p95_s, 0.95), (delays.p99_s, 0.99)] {
            assert!((found / exact - 1.0).abs() < 0.01, "{found} for {exact}");
        }
    }

    #[test]
    fn a_span_without_delays_has_none() {
        let mut histogram = DelayHistogram::default();
        histogram.add(Duration::from_millis(3));
        assert_eq!(histogram.since(&histogram.clone()), None);
    }
}
