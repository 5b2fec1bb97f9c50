//! The course of a sender's window, from outside: what shows its congestion control.
//!
//! Read [`Rounds`] first, which records the largest flight of each round trip, then [`WindowShape`]: the numbers that
//! describe the growth between losses, the reduction after them, and what the sender does without losses. The idea is
//! that of Nebby (A. Mishra, L. Rastogi, R. Joshi, B. Leong, "Keeping an eye on congestion control in the wild with
//! Nebby", SIGCOMM 2024, §3), which estimates the bytes in flight from a capture and looks at their course between
//! back-offs. No number depends on the unit of time or on the size of the window alone.

mod epochs;
mod rounds;
mod settled;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use rounds::Rounds;

use epochs::Epochs;
use settled::Settled;

/// Numbers that describe the course of a window. Windows are largest flights of round trips.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowShape {
    /// Number of round trips.
    pub rounds: usize,
    /// Number of reductions after losses between which the window grew.
    pub reductions: usize,
    /// Part of the round trips in which the peer's window was full.
    pub receiver_limited: f64,
    /// Growth between reductions, if there were two.
    pub growth: Option<Growth>,
    /// Course after slow start, outside of repairs.
    pub steady: Steady,
}

/// Growth between two reductions, as medians over all such times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The window after a reduction, in parts of the window before it.
    pub decrease: f64,
    /// The spread of that part: the mean distance from its median.
    pub decrease_spread: f64,
    /// The part of the growth that is reached after a quarter of the time, after half of it and after three quarters: a
    /// line has 0.25, 0.5, 0.75.
    pub reached: [f64; 3],
    /// Growth per round trip, in segments.
    pub segments_per_round: f64,
    /// Growth per round trip, in parts of the window after the reduction.
    pub parts_per_round: f64,
    /// Round trips from one reduction to the next.
    pub rounds: f64,
}

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

impl Rounds {
    /// The shape; `None` as long as there are too few round trips.
    #[must_use]
    pub fn shape(&self) -> Option<WindowShape> {
        let rounds = self.rounds();
        if rounds.len() < LEAST_ROUNDS {
            return None;
        }
        let epochs = Epochs::of(rounds);
        let limited = rounds.iter().filter(|round| round.limited).count();
        Some(WindowShape {
            rounds: rounds.len(),
            reductions: epochs.reductions(),
            receiver_limited: limited as f64 / rounds.len() as f64,
            growth: epochs.growth(self.segment()),
            steady: Settled::of(rounds, epochs.after_start()).steady(self.segment()),
        })
    }
}

/// The middle of some numbers, which are not empty.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), number| (sum + number, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// A course of fewer has no shape.
const LEAST_ROUNDS: usize = 24;
