//! Queueing delay by the filters of RFC 6817 §2.4.2 and §3.1.1: the least of the last few delays, less the least of the
//! last ten minutes. Any constant in a delay, like the difference of two clocks, falls out.

use units::{Duration, Instant};

use super::AckSample;

/// The filters; delays are in nanoseconds and may be negative, as one-way delays between two clocks are.
#[derive(Clone, Debug)]
pub(super) struct QueueingDelay {
    current: CurrentDelay,
    /// The least delay of each of the last minutes, the present first.
    base: [i64; MINUTES],
    /// Time at which the present minute began; none before the first delay.
    minute: Option<Instant>,
}

/// The least of the last few delays, so that the wait of a delayed ACK is no queue.
#[derive(Clone, Debug)]
pub(super) struct CurrentDelay {
    /// A ring.
    last: [i64; CURRENT],
    place: usize,
}

impl CurrentDelay {
    pub const NONE: Self = Self { last: [i64::MAX; CURRENT], place: 0 };

    pub fn on_delay(&mut self, delay: i64) {
        self.last[self.place] = delay;
        self.place = (self.place + 1) % CURRENT;
    }

    /// The least, `i64::MAX` before the first delay.
    pub fn least(&self) -> i64 {
        self.last.into_iter().fold(i64::MAX, i64::min)
    }
}

impl QueueingDelay {
    pub const NONE: Self = Self { current: CurrentDelay::NONE, base: [i64::MAX; MINUTES], minute: None };

    /// An ACK: its one-way delay or, where there are no timestamps, its round trip.
    pub fn on_ack(&mut self, ack: &AckSample) {
        let rtt = || ack.rtt.and_then(|rtt| i64::try_from(rtt.as_nanos()).ok());
        if let Some(delay) = ack.one_way.map(|delay| delay.as_nanos()).or_else(rtt) {
            self.on_delay(ack.now, delay);
        }
    }

    pub fn on_delay(&mut self, now: Instant, delay: i64) {
        let began = *self.minute.get_or_insert(now);
        if now.saturating_since(began) >= MINUTE {
            self.base.rotate_right(1);
            (self.base[0], self.minute) = (i64::MAX, Some(now));
        }
        self.base[0] = self.base[0].min(delay);
        self.current.on_delay(delay);
    }

    /// The least delay of the last ten minutes.
    pub fn base(&self) -> Option<i64> {
        self.base.iter().copied().min().filter(|base| *base < i64::MAX)
    }

    /// The queueing delay, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        Some((self.current.least() - self.base()?) as f64 / NANOS)
    }
}

/// RFC 6817 §3.1.1 (`CURRENT_FILTER`): 4 at least, and no more than a few round trips.
const CURRENT: usize = 4;
/// RFC 6817 §2.4.2 (`BASE_HISTORY`): 10 minutes.
const MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
const NANOS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_that_of_the_last_four_above_that_of_the_last_ten_minutes() {
        let mut delay = QueueingDelay::NONE;
        let at = |seconds: u64| Instant::START + Duration::from_secs(seconds);
        assert_eq!(delay.seconds(), None);
        for (second, millis) in [(0, -50), (1, 10), (2, 20), (3, 0), (4, 10)] {
            delay.on_delay(at(second), millis * 1_000_000);
        }
        assert_eq!(delay.seconds(), Some(0.05), "the first is the base, and no more among the last four");
        for second in 5..700 {
            delay.on_delay(at(second), 30_000_000);
        }
        assert_eq!(delay.seconds(), Some(0.0), "ten minutes later the base is forgotten");
    }
}
