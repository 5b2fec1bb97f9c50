//! The current rate: fixed, drawn for each packet, or changing over time.

use units::{Bytes, Duration, Instant, Rate, Streams};

use crate::capacity::{RateSource, TransmissionEnd};
use crate::config::Config;
use crate::distribution::{Quantity, Source};
use crate::transmission_time::TransmissionTime;

/// Answers how fast a transmission that starts now is.
#[derive(Debug)]
pub(super) struct RateProcess {
    mode: RateMode,
    transmission_time: TransmissionTime,
}

#[derive(Debug)]
enum RateMode {
    Instantaneous,
    Fixed(Rate),
    PerPacket(Source<Rate>),
    Changing(ChangingRate),
    Source(Box<dyn RateSource>),
}

/// A rate that changes on its own, whether or not there is anything to transmit.
#[derive(Debug)]
struct ChangingRate {
    rate: Rate,
    next_change: Instant,
    rates: Source<Rate>,
    intervals: Source<Duration>,
}

/// Duration of a transmission, or the time at which there will be a rate again.
pub(super) enum TransmissionStart {
    Takes(Duration),
    OutageUntil(Instant),
}

impl RateProcess {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let mode = match (config.rate, &config.available_rate) {
            (rate, _) if config.capacity.is_some() => {
                let source = config.capacity.as_ref().map(|capacity| capacity.source(rate, streams));
                source.map_or(RateMode::Instantaneous, RateMode::Source)
            }
            (None, _) => RateMode::Instantaneous,
            (Some(rate), None) => RateMode::Fixed(rate),
            (Some(rate), Some(available)) => {
                let rates = Source::new(available, streams.stream("available_rate"));
                match &config.rate_change_interval {
                    None => RateMode::PerPacket(rates),
                    Some(interval) => {
                        let intervals = Source::new(interval, streams.stream("rate_change_interval"));
                        RateMode::Changing(ChangingRate::new(rate, rates, intervals))
                    }
                }
            }
        };
        Self { mode, transmission_time: TransmissionTime::new() }
    }

    /// From now on the fixed rate is another.
    pub(super) fn set(&mut self, rate: Rate) {
        if let RateMode::Fixed(fixed) = &mut self.mode {
            *fixed = rate;
        }
    }

    /// Duration of a transmission of `size` that starts now.
    #[inline]
    pub(super) fn transmission(&mut self, now: Instant, size: Bytes) -> TransmissionStart {
        let rate = match &mut self.mode {
            RateMode::Source(source) => {
                return match source.transmit(now, size) {
                    TransmissionEnd::At(end) => TransmissionStart::Takes(end - now),
                    TransmissionEnd::NotBefore(then) => TransmissionStart::OutageUntil(then),
                };
            }
            RateMode::Instantaneous => return TransmissionStart::Takes(Duration::ZERO),
            RateMode::Fixed(rate) => *rate,
            RateMode::PerPacket(rates) => rates.draw().max(SLOWEST),
            RateMode::Changing(changing) => match changing.rate_at(now) {
                Rate::ZERO => return TransmissionStart::OutageUntil(changing.next_change),
                rate => rate,
            },
        };
        TransmissionStart::Takes(self.transmission_time.of(rate, size))
    }
}

impl ChangingRate {
    fn new(base: Rate, rates: Source<Rate>, mut intervals: Source<Duration>) -> Self {
        let next_change = Instant::START + intervals.draw().max(SHORTEST_INTERVAL);
        Self { rate: base, next_change, rates, intervals }
    }

    fn rate_at(&mut self, now: Instant) -> Rate {
        while self.next_change <= now {
            self.rate = self.rates.draw();
            self.next_change += self.intervals.draw().max(SHORTEST_INTERVAL);
        }
        self.rate
    }
}

/// The rate of a draw of zero if each packet draws its own rate: a transmission must end.
const SLOWEST: Rate = Rate::from_bits_per_sec(1);

/// Minimum of a draw: time must advance. No radio changes its rate faster.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);
