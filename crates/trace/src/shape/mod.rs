//! The course of a sender's window, from outside: what shows its congestion control.
//!
//! Read [`Rounds`] first, which records the largest flight of each round trip, then [`WindowShape`]: the numbers that
//! describe the growth between losses, the reduction after them, and what the sender does without losses. The idea is
//! that of Nebby (A. Mishra, L. Rastogi, R. Joshi, B. Leong, "Keeping an eye on congestion control in the wild with
//! Nebby", SIGCOMM 2024, §3), which estimates the bytes in flight from a capture and looks at their course between
//! back-offs. No number depends on the unit of time or on the size of the window alone.

mod averages;
mod epochs;
mod rounds;
mod settled;
mod steps;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use epochs::Growth;
pub use rounds::Rounds;
pub use settled::Steady;
pub use steps::Steps;

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
    /// Changes from one round trip to the next.
    pub steps: Steps,
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
            steps: Steps::of(rounds, epochs.after_start(), self.segment()),
        })
    }
}

/// A course of fewer has no shape.
const LEAST_ROUNDS: usize = 24;
