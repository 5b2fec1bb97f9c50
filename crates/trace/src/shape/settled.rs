//! The course of a window after slow start, outside of repairs.

use serde::Serialize;

use super::averages::{mean, median};
use super::rounds::Round;

/// Course of the window after slow start, outside of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Steady {
    /// Standard deviation of the window, in parts of its mean.
    pub variation: f64,
    /// Part of the round trips in which the window changed by less than half a segment.
    pub flat: f64,
    /// Part of the round trips with less than a third of the median window, as BBR's when it probes the round trip.
    pub dips: f64,
    /// Correlation of the window with itself eight round trips later: BBR's cycle of pacing gains.
    pub cycle: f64,
    /// The mean round trip, in parts of the shortest.
    pub delay: f64,
    /// The longest round trip, in parts of the shortest.
    pub longest_delay: f64,
    /// Mean place of the round trip between the shortest and the longest.
    pub fill: f64,
}

/// The round trips after slow start without repairs.
pub(super) struct Settled {
    flights: Vec<f64>,
    times: Vec<f64>,
    shortest: f64,
}

impl Settled {
    /// Those from place `from` on.
    pub(super) fn of(rounds: &[Round], from: usize) -> Self {
        let after: Vec<_> = rounds[from..].iter().filter(|round| !round.repairing).collect();
        let shortest = rounds.iter().map(|round| round.time.as_secs_f64()).fold(f64::INFINITY, f64::min);
        Self {
            flights: after.iter().map(|round| round.flight).collect(),
            times: after.iter().map(|round| round.time.as_secs_f64()).collect(),
            shortest,
        }
    }

    pub(super) fn steady(&self, segment: f64) -> Steady {
        if self.flights.len() < 2 || self.shortest <= 0.0 {
            return Steady::default();
        }
        let flights = || self.flights.iter().copied();
        let level = mean(flights());
        let middle = median(self.flights.clone());
        let longest = self.times.iter().copied().fold(0.0, f64::max);
        let delay = mean(self.times.iter().copied());
        let still = |pair: &[f64]| f64::from((pair[1] - pair[0]).abs() < segment / 2.0);
        Steady {
            variation: mean(flights().map(|flight| (flight - level) * (flight - level))).sqrt() / level,
            flat: mean(self.flights.windows(2).map(still)),
            dips: mean(flights().map(|flight| f64::from(flight < middle / 3.0))),
            cycle: self.cycle(),
            delay: delay / self.shortest,
            longest_delay: longest / self.shortest,
            fill: if longest > self.shortest {
                (delay - self.shortest) / (longest - self.shortest)
            } else {
                0.0
            },
        }
    }

    /// The autocorrelation at a cycle's length of the window's distance from its mean over such a cycle.
    fn cycle(&self) -> f64 {
        let distances: Vec<_> = self
            .flights
            .windows(CYCLE + 1)
            .map(|around| around[CYCLE / 2] - mean(around.iter().copied()))
            .collect();
        let power: f64 = distances.iter().map(|distance| distance * distance).sum();
        if distances.len() <= CYCLE || power == 0.0 {
            return 0.0;
        }
        let later = &distances[CYCLE..];
        distances.iter().zip(later).map(|(now, then)| now * then).sum::<f64>() / power
    }
}

/// Phases of BBR's cycle of gains, each as long as the shortest round trip (draft-cardwell-iccrg-bbr §4.3.4.2).
const CYCLE: usize = 8;
