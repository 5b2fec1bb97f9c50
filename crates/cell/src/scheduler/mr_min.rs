//! Maximum rate with a minimum rate (MRmin): max r_i (1 + β exp(−β (μ_i − μ_min))) (Landström 2008 §7.2).
//!
//! It is the gradient rule for the utility U(μ) = μ + 1 − exp(−β (μ − μ_min)) (Hosein 2002, "QoS control for WCDMA
//! high speed packet data"): a barrier, which grows exponentially where the average is below the minimum. `barriers`
//! has the general rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::barriers::MinimumRate;
use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, each, positive};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "mr-min",
    "the greatest rate, with a barrier where a user's average is below its minimum (MRmin)",
    "Landström 2008 §7.2; Hosein 2002",
)
.written("{ mr-min = { beta = 0.5 } }");

/// Steepness of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// β in 1/(kbit/s), above 0. Landström 2008 gives no value.
    pub beta: f64,
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        positive("beta", self.beta)
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MrMin { beta: self.beta })
    }
}

#[derive(Debug)]
struct MrMin {
    beta: f64,
}

impl Scheduler for MrMin {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        let barrier = MinimumRate { beta: self.beta, of: None };
        each(candidates, ranks, |user| Rank::by(user.rate * (1.0 + barrier.slope(user))));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, voice, web};
    use super::*;

    #[test]
    fn the_barrier_is_the_formula_of_the_document() {
        let mut ranks = Vec::new();
        let at_minimum = Candidate { rate: 2e6, mean_rate: 64e3, ..web() };
        let below = Candidate { rate: 2e6, mean_rate: 62e3, ..web() };
        MrMin { beta: 0.5 }.rank(&[at_minimum, below], &mut ranks);
        assert!((ranks[0].value - 2e6 * 1.5).abs() < 1e-6);
        assert!((ranks[1].value - 2e6 * (1.0 + 0.5 * 1_f64.exp())).abs() < 1e-3);
    }

    #[test]
    fn above_the_minimum_it_is_maximum_rate_and_below_it_the_starved_go_first() {
        let rich = Candidate { rate: 5e6, mean_rate: 500e3, ..web() };
        let fed = Candidate { rate: 1e6, mean_rate: 400e3, ..web() };
        let starved = Candidate { rate: 1e5, mean_rate: 10e3, ..web() };
        assert_eq!(order(&mut MrMin { beta: 0.5 }, &[fed, rich, starved]), [2, 1, 0]);
    }

    #[test]
    fn minima_are_those_of_the_service() {
        let talking = Candidate { rate: 1e5, mean_rate: 14e3, ..voice() };
        let browsing = Candidate { rate: 1e5, mean_rate: 14e3, ..web() };
        assert_eq!(order(&mut MrMin { beta: 0.5 }, &[talking, browsing]), [1, 0]);
    }
}
