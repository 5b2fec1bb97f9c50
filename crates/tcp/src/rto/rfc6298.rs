//! The timer of RFC 6298: SRTT + max(G, 4·RTTVAR), between a minimum and a maximum.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::{Estimate, Rto, Sample, check_lengths, measured};
use crate::registry::Entry;

/// Parameters of the standard timer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Length before the first sample. RFC 6298 §2.1: 1 s.
    pub initial: Duration,
    /// Least length. RFC 6298 §2.4: 1 s; current kernels use 200 ms.
    pub min: Duration,
    /// Greatest length, backed off or not. RFC 6298 §2.5: at least 60 s.
    pub max: Duration,
    /// Tick of the clock that measures and runs out; 1 ms as in most kernels; "0 s" is a clock without ticks.
    pub granularity: Duration,
    /// What is added to SRTT + 4·RTTVAR, before the least and greatest length bound it: nothing in the RFC, 200 ms
    /// in FreeBSD from 2002 on (`tcp_rexmit_slop`), for ACKs that are delayed.
    pub slop: Duration,
    /// How long a doubled length is kept.
    pub backoff: Backoff,
    /// Which round trips are samples.
    pub samples: Samples,
}

/// Which round trips are samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Samples {
    /// All that are measured: with timestamps one for each ACK of new data (RFC 7323 §4.1).
    #[default]
    All,
    /// One for each round trip: of a segment that was sent since the sample before it was taken. The gains of 1/8
    /// and 1/4 are meant for that (RFC 6298 §3; RFC 7323 appendix G): with many samples in a round trip the
    /// variation of one is forgotten before it is over.
    PerRoundTrip,
}

/// How long a doubled length is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Until a segment that was sent once is acknowledged (Karn's rule; RFC 6298 §3 and §5, its last note).
    #[default]
    UntilSample,
    /// Until anything new is acknowledged, be it by a copy's ACK: an aggressive timer (Gurtov 2001).
    UntilNewAck,
    /// Until something is acknowledged that was sent after the timeout for the first time: with timestamps copies are
    /// timed as well, and do not end it (ns-2).
    UntilNewData,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            slop: Duration::ZERO,
            backoff: Backoff::default(),
            samples: Samples::default(),
        }
    }
}

#[derive(Debug)]
struct Rfc6298 {
    params: Params,
    estimate: Option<Estimate>,
    /// When the last sample was taken.
    sampled: Instant,
}

impl Rto for Rfc6298 {
    fn on_sample(&mut self, sample: &Sample) {
        if self.params.samples == Samples::PerRoundTrip && sample.sent < self.sampled {
            return;
        }
        self.sampled = sample.now;
        let rtt = measured(sample, self.params.granularity);
        self.estimate = Some(Estimate::updated(self.estimate, rtt));
    }

    fn inherit(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    fn granularity(&self) -> Duration {
        self.params.granularity
    }

    fn restarts_after_lost_syn(&mut self) -> bool {
        // RFC 6298 §5.7.
        self.params.initial = self.params.initial.max(AFTER_LOST_SYN);
        true
    }

    fn length(&self) -> Duration {
        let Params { initial, min, max, granularity, slop, .. } = self.params;
        match self.estimate {
            None => initial,
            Some(Estimate { srtt, rttvar }) => {
                (srtt + granularity.max(rttvar * 4) + slop).rounded_up_to(granularity).clamp(min, max)
            }
        }
    }

    fn longest(&self) -> Duration {
        self.params.max
    }

    fn backoff(&self) -> Backoff {
        self.params.backoff
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

impl Rfc6298 {
    const fn new(params: Params) -> Self {
        Self { params, estimate: None, sampled: Instant::START }
    }
}

/// RFC 6298 §5.7: the first length for data where the SYN was lost.
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Rto> = Entry {
    id: "rfc6298",
    summary: "SRTT + 4·RTTVAR, restarted by each ACK of new data",
    source: "RFC 6298",
    parse: |value| {
        let params: Params = Entry::<dyn Rto>::read(value)?;
        check_lengths(params.initial, params.min, params.max)?;
        Ok(Arc::new(move || Box::new(Rfc6298::new(params.clone()))))
    },
    schema: Entry::<dyn Rto>::describe::<Params>,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rtt: Duration) -> Sample {
        Sample { sent: Instant::START, now: Instant::START + rtt, cwnd: 1, flight: 1 }
    }

    fn timer() -> Rfc6298 {
        let params = Params { min: Duration::from_millis(200), ..Params::default() };
        Rfc6298::new(params)
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        let mut rto = timer();
        assert_eq!(rto.length(), Duration::from_secs(1));
        rto.on_sample(&sample(Duration::from_millis(700)));
        assert_eq!(rto.length(), Duration::from_millis(2100));
    }

    #[test]
    fn without_variation_a_tick_is_left_above_the_round_trip() {
        let tick = Duration::from_millis(100);
        let params = Params { min: Duration::ZERO, granularity: tick, ..Params::default() };
        let mut rto = Rfc6298::new(params);
        for _ in 0..200 {
            rto.on_sample(&sample(tick * 3));
        }
        assert_eq!(rto.length(), tick * 4);
    }

    #[test]
    fn steady_samples_shrink_the_timer_to_the_minimum() {
        let mut rto = timer();
        for _ in 0..200 {
            rto.on_sample(&sample(Duration::from_millis(50)));
        }
        assert_eq!(rto.length(), Duration::from_millis(200));
    }
}
