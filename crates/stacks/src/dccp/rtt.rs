//! The round trip and the timer of CCID 2, which are TCP's (RFC 4341 §5, RFC 6298).

use units::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    /// The smoothed round trip and its variation.
    estimate: Option<[Duration; 2]>,
    /// Times that the timer has run out without an acknowledgment since.
    backoff: u32,
}

impl Estimator {
    /// RFC 6298 §2.2 and §2.3.
    pub(super) fn on_sample(&mut self, sample: Duration) {
        self.estimate = Some(match self.estimate {
            None => [sample, sample / 2],
            Some([srtt, rttvar]) => {
                let rttvar = rttvar.mul_f64(0.75) + srtt.abs_diff(sample).mul_f64(0.25);
                [srtt.mul_f64(0.875) + sample.mul_f64(0.125), rttvar]
            }
        });
        self.backoff = 0;
    }

    /// RFC 6298 §5.5.
    pub(super) const fn back_off(&mut self) {
        self.backoff += 1;
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|[srtt, _]| srtt)
    }

    pub(super) fn rttvar(&self) -> Option<Duration> {
        self.estimate.map(|[_, rttvar]| rttvar)
    }

    /// The timer's length.
    pub(super) fn timer(&self) -> Duration {
        let base = self.estimate.map_or(LEAST, |[srtt, rttvar]| (srtt + rttvar * 4).max(LEAST));
        base.doubled(self.backoff.min(MOST_DOUBLINGS)).min(LONGEST)
    }
}

/// RFC 6298 §2.1 and §2.4.
const LEAST: Duration = Duration::from_secs(1);
/// RFC 6298 §2.5.
const LONGEST: Duration = Duration::from_secs(60);
const MOST_DOUBLINGS: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_that_of_rfc_6298() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.timer(), LEAST);
        estimator.on_sample(Duration::from_millis(800));
        // 800 + 4 · 400.
        assert_eq!(estimator.timer(), Duration::from_millis(2400));
        estimator.back_off();
        assert_eq!(estimator.timer(), Duration::from_millis(4800));
        estimator.on_sample(Duration::from_millis(800));
        // 800 + 4 · 300.
        assert_eq!(estimator.timer(), Duration::from_millis(2000));
    }
}
