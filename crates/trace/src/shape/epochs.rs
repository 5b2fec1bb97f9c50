//! The times between losses, in which a window grows.

use serde::Serialize;

use super::averages::{mean, median};
use super::rounds::Round;

/// Growth between two reductions, as medians over all such times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The window after a reduction, in parts of the window before it.
    pub decrease: f64,
    /// The spread of that part: the mean distance from its median.
    pub decrease_spread: f64,
    /// The lower and the upper quartile of that part.
    pub decrease_quartiles: [f64; 2],
    /// How far reductions at a long delay leave more than those at a short one: the difference of the mean parts.
    pub decrease_by_delay: f64,
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

/// Runs of round trips without repairs, in order. The first holds slow start.
pub(super) struct Epochs<'a> {
    runs: Vec<&'a [Round]>,
    rounds: &'a [Round],
}

/// The growth from one reduction to the next.
struct Climb {
    decrease: f64,
    /// The round trip before the reduction, in seconds.
    time: f64,
    reached: [f64; 3],
    bytes_per_round: f64,
    parts_per_round: f64,
    rounds: f64,
}

impl<'a> Epochs<'a> {
    pub(super) fn of(rounds: &'a [Round]) -> Self {
        let runs = rounds.split(|round| round.repairing).filter(|run| run.len() >= SHORTEST_RUN);
        Self { runs: runs.collect(), rounds }
    }

    pub(super) const fn reductions(&self) -> usize {
        self.runs.len().saturating_sub(1)
    }

    /// The round trips after slow start: after the first loss or, without losses, from where the window ceases to grow
    /// by a third in three round trips.
    pub(super) fn after_start(&self) -> usize {
        let rounds = self.rounds;
        let grows = |place: &usize| rounds[place + 3].flight >= rounds[*place].flight * 4.0 / 3.0;
        let loss = rounds.iter().position(|round| round.repairing);
        loss.unwrap_or_else(|| (0..rounds.len() - 3).find(|place| !grows(place)).unwrap_or(0))
    }

    /// The growth after each reduction that a next loss ended.
    pub(super) fn growth(&self, segment: f64) -> Option<Growth> {
        let ended_by_loss = self.rounds.last().is_some_and(|round| round.repairing);
        let complete = self.runs.len() - usize::from(!ended_by_loss && self.runs.len() > 1);
        let pairs = self.runs[..complete].windows(2);
        let climbs: Vec<_> = pairs.filter_map(|pair| Climb::of(pair[0], pair[1])).collect();
        if climbs.is_empty() {
            return None;
        }
        let middle = |number: fn(&Climb) -> f64| median(climbs.iter().map(number).collect());
        let decrease = middle(|climb| climb.decrease);
        Some(Growth {
            decrease,
            decrease_spread: mean(climbs.iter().map(|climb| (climb.decrease - decrease).abs())),
            decrease_quartiles: quartiles(climbs.iter().map(|climb| climb.decrease).collect()),
            decrease_by_delay: by_delay(&climbs),
            reached: [0, 1, 2].map(|place| median(climbs.iter().map(|climb| climb.reached[place]).collect())),
            segments_per_round: middle(|climb| climb.bytes_per_round) / segment,
            parts_per_round: middle(|climb| climb.parts_per_round),
            rounds: middle(|climb| climb.rounds),
        })
    }
}

impl Climb {
    /// The growth in a run after that in the run `before`; `None` if the window did not grow.
    fn of(before: &[Round], run: &[Round]) -> Option<Self> {
        // The last round trip of a repair may reach into the first one after it.
        let (first, last) = (run.get(1)?, run.last()?);
        let top = highest(&run[run.len() - LAST_ROUNDS..]);
        let height = top - first.flight;
        if height <= 0.0 {
            return None;
        }
        let length = last.at.saturating_since(first.at).as_secs_f64();
        let at_part = |part: f64| {
            let passed = |round: &&Round| round.at.saturating_since(first.at).as_secs_f64() <= part * length;
            let reached =
                run[1..].iter().take_while(passed).last().map_or(first.flight, |round| round.flight);
            (reached - first.flight) / height
        };
        let rounds = (run.len() - 2) as f64;
        Some(Self {
            time: before.last()?.time.as_secs_f64(),
            decrease: first.flight / highest(&before[before.len() - LAST_ROUNDS..]),
            reached: [0.25, 0.5, 0.75].map(at_part),
            bytes_per_round: height / rounds,
            parts_per_round: height / rounds / first.flight,
            rounds,
        })
    }
}

/// The lower and the upper quartile of some numbers, which are not empty.
fn quartiles(mut numbers: Vec<f64>) -> [f64; 2] {
    numbers.sort_by(f64::total_cmp);
    [1, 3].map(|quarter| numbers[(numbers.len() - 1) * quarter / 4])
}

/// The mean decrease of climbs after a longer round trip than the middle one, less that of the others; 0 if all are
/// alike.
fn by_delay(climbs: &[Climb]) -> f64 {
    let times = || climbs.iter().map(|climb| climb.time);
    let (shortest, longest) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    if longest < SOME_QUEUE * shortest {
        return 0.0;
    }
    let middle = f64::midpoint(shortest, longest);
    let (short, long): (Vec<_>, Vec<_>) = climbs.iter().partition(|climb| climb.time <= middle);
    let level = |climbs: Vec<&Climb>| mean(climbs.into_iter().map(|climb| climb.decrease));
    level(long) - level(short)
}

fn highest(rounds: &[Round]) -> f64 {
    rounds.iter().map(|round| round.flight).fold(0.0, f64::max)
}

/// Multiple of the shortest round trip from which a round trip counts as queued; chosen, not published.
const SOME_QUEUE: f64 = 1.1;
/// In a shorter run the growth cannot be seen.
const SHORTEST_RUN: usize = 4;
/// The loss that ends a run is noticed a round trip after the window was largest.
const LAST_ROUNDS: usize = 3;
