//! Past throughput of a user: the averages that schedulers use.
//!
//! An elastic user's average counts from the start of its transfer and is updated all the time. A delay-bound user's is
//! filtered exponentially, with 90 % of the weight on the delay budget: after one budget without traffic a tenth of it
//! is left, so that a user that was idle is preferred at first (Landström 2008 §7.4).

use units::{Bytes, Duration, Instant};

use crate::scheduler::Service;

/// The averages of one user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    mean: Mean,
    /// Bits per second that fill the bucket of tokens.
    min_rate: f64,
    /// Bits of tokens, and up to when they are counted.
    tokens: (f64, Instant),
}

#[derive(Clone, Copy, Debug)]
enum Mean {
    SinceStart {
        /// The flow of the present transfer.
        flow: Option<u64>,
        began: Instant,
        delivered_bits: f64,
    },
    Filtered {
        budget: Duration,
        /// The average in bit/s at `at`.
        rate: f64,
        at: Instant,
    },
}

impl History {
    pub(crate) const fn new(service: Service, min_rate: f64) -> Self {
        let at = Instant::START;
        let mean = match service {
            Service::Elastic => Mean::SinceStart { flow: None, began: at, delivered_bits: 0.0 },
            Service::DelayBound { budget } => Mean::Filtered { budget, rate: 0.0, at },
        };
        Self { mean, min_rate, tokens: (0.0, at) }
    }

    /// A packet of `flow` arrives: the first packet of another flow begins a transfer.
    pub(crate) fn on_arrival(&mut self, now: Instant, packet_flow: u64) {
        if let Mean::SinceStart { flow, began, delivered_bits } = &mut self.mean
            && *flow != Some(packet_flow)
        {
            (*flow, *began, *delivered_bits) = (Some(packet_flow), now, 0.0);
        }
    }

    /// The bucket fills from here on: the user had nothing to send before, and nothing was owed to it.
    pub(crate) fn on_backlog(&mut self, now: Instant) {
        self.tokens = (0.0, now);
    }

    /// Counts bytes that reached the user.
    pub(crate) fn on_delivered(&mut self, now: Instant, bytes: Bytes) {
        let bits = bytes.0 as f64 * 8.0;
        match &mut self.mean {
            Mean::SinceStart { delivered_bits, .. } => *delivered_bits += bits,
            Mean::Filtered { budget, rate, at } => {
                // A delivery at one instant counts as a rate over an instant: the filter's derivative at zero.
                *rate = decayed(*rate, now - *at, *budget) + bits * DECADE / budget.as_secs_f64();
                *at = now;
            }
        }
        self.fill(now);
        self.tokens.0 = (self.tokens.0 - bits).max(0.0);
    }

    /// μ in bit/s. A transfer that has just begun has lasted one TTI.
    pub(crate) fn mean_rate(&self, now: Instant, tti: Duration) -> f64 {
        match self.mean {
            Mean::SinceStart { began, delivered_bits, .. } => {
                delivered_bits / (now.saturating_since(began) + tti).as_secs_f64()
            }
            Mean::Filtered { budget, rate, at } => decayed(rate, now - at, budget),
        }
    }

    /// Age of the oldest token.
    pub(crate) fn token_delay(&mut self, now: Instant) -> Duration {
        self.fill(now);
        if self.min_rate > 0.0 {
            Duration::from_secs_f64(self.tokens.0 / self.min_rate)
        } else {
            Duration::ZERO
        }
    }

    fn fill(&mut self, now: Instant) {
        let (tokens, until) = self.tokens;
        self.tokens = (tokens + self.min_rate * now.saturating_since(until).as_secs_f64(), now);
    }
}

/// A filtered rate after a time in which nothing was delivered: a tenth of it after a budget.
fn decayed(rate: f64, silence: Duration, budget: Duration) -> f64 {
    if rate == 0.0 { 0.0 } else { rate * libm::exp(-DECADE * silence.as_secs_f64() / budget.as_secs_f64()) }
}

/// ln 10: the time constant of a filter that forgets 90 % in a budget is the budget divided by it.
const DECADE: f64 = std::f64::consts::LN_10;

#[cfg(test)]
mod tests {
    use super::*;

    const TTI: Duration = Duration::from_millis(2);

    fn at(milliseconds: u64) -> Instant {
        Instant::START + Duration::from_millis(milliseconds)
    }

    fn voice() -> History {
        History::new(Service::DelayBound { budget: Duration::from_millis(80) }, 13_600.0)
    }

    #[test]
    fn a_budget_of_silence_leaves_a_tenth() {
        let mut history = voice();
        history.on_delivered(at(0), Bytes(34));
        let ratio = history.mean_rate(at(80), TTI) / history.mean_rate(at(0), TTI);
        assert!((ratio - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_steady_rate_is_its_own_average() {
        let mut history = voice();
        // 34 bytes every 20 ms are 13.6 kbit/s; the mean of the filter's output over a period.
        (0..100).for_each(|frame| history.on_delivered(at(frame * 20), Bytes(34)));
        let period =
            (0..200).map(|step| history.mean_rate(at(1_980) + Duration::from_micros(step * 100), TTI));
        let mean = period.sum::<f64>() / 200.0;
        assert!((mean / 13_600.0 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn a_transfer_counts_from_its_own_start() {
        let mut history = History::new(Service::Elastic, 64_000.0);
        history.on_arrival(at(1_000), 1);
        history.on_delivered(at(1_998), Bytes(12_500));
        assert!((history.mean_rate(at(1_998), TTI) - 100_000.0).abs() < 1e-6);
        history.on_arrival(at(5_000), 1);
        assert!(history.mean_rate(at(5_000), TTI) > 0.0, "the same transfer continues");
        history.on_arrival(at(5_000), 2);
        assert!(history.mean_rate(at(5_000), TTI) == 0.0, "another has had nothing yet");
    }

    #[test]
    fn tokens_wait_until_what_is_sent_takes_them() {
        let mut history = History::new(Service::Elastic, 8_000.0);
        history.on_backlog(at(100));
        assert_eq!(history.token_delay(at(600)), Duration::from_millis(500));
        history.on_delivered(at(600), Bytes(250));
        assert_eq!(history.token_delay(at(600)), Duration::from_millis(250));
        history.on_delivered(at(600), Bytes(9_000));
        assert_eq!(history.token_delay(at(600)), Duration::ZERO, "what is sent ahead earns no debt");
    }
}
