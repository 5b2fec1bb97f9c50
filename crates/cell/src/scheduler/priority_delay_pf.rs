//! Proportional fair weighted by a priority and by delay: max β r_i / μ_i · (1 + γ d_i / T) (after Kim et al. 2006,
//! "VoIP service on HSDPA in mixed traffic scenarios").
//!
//! Landström 2008 §7.3 quotes the rule as "weighted both by a priority and a delay component", and not its formula:
//! that the delay counts linearly, as the share of the budget that the oldest packet has used, is our reading.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, Service, ServiceWeights, each, positive,
};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "priority-delay-pf",
    "proportional fair, weighted by a priority of the service and by delay",
    "after Kim et al. 2006; Landström 2008 §7.3",
)
.written("{ priority-delay-pf = { voice = 2.0, elastic = 1.0, gamma = 1.0 } }");

/// The two weights. Landström 2008 gives no values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Priority β of users with a delay budget, above 0.
    pub voice: f64,
    /// Priority β of all others, above 0. Their delay does not count.
    pub elastic: f64,
    /// γ: what a whole delay budget adds, in relation to a packet that has not waited; above 0.
    pub gamma: f64,
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.priorities().check()?;
        positive("gamma", self.gamma)
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(PriorityDelayPf { priorities: self.priorities(), gamma: self.gamma })
    }
}

impl Parameters {
    const fn priorities(&self) -> ServiceWeights {
        ServiceWeights { voice: self.voice, elastic: self.elastic }
    }
}

#[derive(Debug)]
struct PriorityDelayPf {
    priorities: ServiceWeights,
    gamma: f64,
}

impl Scheduler for PriorityDelayPf {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            let used = match user.service {
                Service::DelayBound { budget } if !budget.is_zero() => {
                    user.delay.as_secs_f64() / budget.as_secs_f64()
                }
                Service::DelayBound { .. } | Service::Elastic => 0.0,
            };
            Rank::by(self.priorities.of(user.service) * user.relative_rate() * (1.0 + self.gamma * used))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    fn user(relative: f64, delay: u64, service: Candidate) -> Candidate {
        Candidate { rate: relative * 1e4, mean_rate: 1e4, delay: ms(delay), ..service }
    }

    #[test]
    fn priority_and_delay_multiply_the_relative_rate() {
        let scheduler = &mut *Parameters { voice: 2.0, elastic: 1.0, gamma: 1.0 }.scheduler();
        assert_eq!(order(scheduler, &[user(2.5, 0, web()), user(1.0, 0, voice())]), [0, 1]);
        // 2 · 1 · (1 + 40 / 80) = 3.
        assert_eq!(order(scheduler, &[user(2.5, 0, web()), user(1.0, 40, voice())]), [1, 0]);
    }

    #[test]
    fn the_delay_of_the_elastic_does_not_count() {
        let scheduler = &mut *Parameters { voice: 2.0, elastic: 1.0, gamma: 1.0 }.scheduler();
        assert_eq!(order(scheduler, &[user(1.9, 5_000, web()), user(1.0, 0, voice())]), [1, 0]);
    }
}
