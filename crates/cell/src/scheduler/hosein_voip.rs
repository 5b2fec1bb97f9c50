//! Hosein's rule for voice: max r_i / μ_i · (d_max − d_i)^(−α), proportional fair with a barrier at the delay budget
//! (Hosein 2005, "Scheduling of VoIP traffic over a time-shared wireless packet data channel"; quoted in Landström 2008
//! §7.2). A user without a budget has no barrier.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Candidate, ConfigError, LEAST_SLACK, Rank, Scheduler, SchedulerParameters, Service, each, positive,
};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "hosein-voip",
    "proportional fair with a barrier at the delay budget",
    "Hosein 2005; Landström 2008 §7.2",
)
.written("{ hosein-voip = { alpha = 1.0 } }");

/// Steepness of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// α, above 0; d in seconds.
    pub alpha: f64,
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        positive("alpha", self.alpha)
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(HoseinVoip { alpha: self.alpha })
    }
}

#[derive(Debug)]
struct HoseinVoip {
    alpha: f64,
}

impl Scheduler for HoseinVoip {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            let barrier = match user.service {
                Service::DelayBound { .. } => {
                    libm::pow(user.slack().max(LEAST_SLACK).as_secs_f64(), -self.alpha)
                }
                Service::Elastic => 1.0,
            };
            Rank::by(user.relative_rate() * barrier)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn the_barrier_grows_as_the_budget_runs_out() {
        let scheduler = &mut HoseinVoip { alpha: 1.0 };
        let user = |delay| Candidate { mean_rate: 1e5, rate: 1e5, delay: ms(delay), ..voice() };
        let mut ranks = Vec::new();
        scheduler.rank(&[user(0), user(40), user(79)], &mut ranks);
        let values: Vec<f64> = ranks.iter().map(|rank| rank.value).collect();
        assert!((values[1] / values[0] - 2.0).abs() < 1e-9 && (values[2] / values[0] - 80.0).abs() < 1e-6);
        assert_eq!(order(scheduler, &[Candidate { rate: 1e6, ..web() }, user(79)]), [1, 0]);
    }
}
