//! What a window does from one round trip to the next, and how that depends on the delay.
//!
//! Controls that look at the delay differ here from those that wait for a loss: TCP YeAH takes its queue out of the
//! window without one (A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007,
//! §II), TCP Illinois grows fast while the delay is short, and Veno slowly while it is long.

use serde::Serialize;

use super::averages::{mean, median};
use super::rounds::Round;

/// Changes of the window from one round trip to the next, after slow start, outside of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Steps {
    /// Part of the round trips in which the window fell by more than half a segment, without a loss.
    pub falls: f64,
    /// Mean depth of these falls, in parts of the window; 0 without any.
    pub fall_depth: f64,
    /// Part of the round trips in which the window fell by more than a tenth, without a loss.
    pub deep_falls: f64,
    /// Mean change in segments while the round trip is in the shorter half of its range; `None` if it seldom is.
    pub at_short_delay: Option<f64>,
    /// The same in the longer half.
    pub at_long_delay: Option<f64>,
    /// Median change in segments while the round trip is in the shorter half of its range; `None` if it seldom is.
    pub usual_at_short_delay: Option<f64>,
    /// The same in the longer half.
    pub usual_at_long_delay: Option<f64>,
}

/// A change from one round trip to the next.
struct Step {
    /// In segments.
    change: f64,
    /// In parts of the window before it.
    part: f64,
    /// The round trip before it, in seconds.
    time: f64,
}

impl Steps {
    /// Those from place `from` on.
    pub(super) fn of(rounds: &[Round], from: usize, segment: f64) -> Self {
        // The last round trip of a repair may reach into the first one after it, and the first one of a repair into the
        // last one before it.
        let runs = rounds[from..].split(|round| round.repairing).filter(|run| run.len() > 3);
        let steps: Vec<Step> = runs
            .flat_map(|run| run[1..run.len() - 1].windows(2).map(|pair| Step::of(pair, segment)))
            .collect();
        let times = || steps.iter().map(|step| step.time);
        let (shortest, longest) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let middle = f64::midpoint(shortest, longest);
        let (short, long): (Vec<_>, Vec<_>) = steps.iter().partition(|step| step.time <= middle);
        let falls = || steps.iter().filter(|step| step.change < -FALL_SEGMENTS);
        let changes = |steps: &[&Step]| steps.iter().map(|step| step.change).collect::<Vec<_>>();
        let enough = |steps: &[&Step]| (steps.len() >= LEAST_STEPS).then(|| changes(steps));
        Self {
            falls: falls().count() as f64 / steps.len().max(1) as f64,
            fall_depth: mean(falls().map(|step| -step.part)),
            deep_falls: mean(steps.iter().map(|step| f64::from(step.part < -DEEP_FALL))),
            at_short_delay: enough(&short).map(|changes| mean(changes.into_iter())),
            at_long_delay: enough(&long).map(|changes| mean(changes.into_iter())),
            usual_at_short_delay: enough(&short).map(median),
            usual_at_long_delay: enough(&long).map(median),
        }
    }
}

impl Step {
    fn of(pair: &[Round], segment: f64) -> Self {
        let change = pair[1].flight - pair[0].flight;
        Self { change: change / segment, part: change / pair[0].flight, time: pair[0].time.as_secs_f64() }
    }
}

/// A smaller fall, in segments, is within the accuracy of a captured flight.
const FALL_SEGMENTS: f64 = 0.5;
/// A deep fall, in parts of the window; chosen, not published.
const DEEP_FALL: f64 = 0.1;
/// Fewer show no usual change.
const LEAST_STEPS: usize = 5;
