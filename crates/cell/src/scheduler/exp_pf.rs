//! The exponential rule over proportional fair (EXP/PF: Rhee, Holtzman and Kim 2003, "Scheduling of real/non-real time
//! services: adaptive EXP/PF algorithm").
//!
//! A user with a delay budget T ranks by a r / μ · exp((a d − w) / (1 + √w)), where a = −log(δ) / T, δ is the share of
//! packets that may be late, and w is the mean of a d over all users of that kind. Users without a budget rank by r /
//! μ, so that voice goes first where its delays differ much or are near its budget, and otherwise the channel decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;

use super::{Candidate, ConfigError, Rank, Scheduler, Service, Setting, each};
use link::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "exp-pf",
    summary: "proportional fair, weighted exponentially by how a user's delay exceeds the mean",
    example: "{ exp-pf = { late = 0.01 } }",
    source: "Rhee, Holtzman and Kim 2003",
};

/// The weight of delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// δ: the share of packets that may be later than the budget, above 0 and below 1.
    pub late: Probability,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.late == Probability::ZERO || self.late == Probability::ONE {
            let message = format!("{} has no logarithm to weigh with", self.late.get());
            return Err(ConfigError::new("late", message, "write a number above 0 and below 1"));
        }
        Ok(())
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(ExpPf { weight: -libm::log(self.late.get()) })
    }
}

#[derive(Debug)]
struct ExpPf {
    /// −log δ.
    weight: f64,
}

impl ExpPf {
    /// a, and a d: the weighted share of the budget that the oldest packet has used.
    fn weighted_delay(&self, user: &Candidate) -> Option<(f64, f64)> {
        let Service::DelayBound { budget } = user.service else { return None };
        let a = self.weight / budget.as_secs_f64();
        Some((a, a * user.delay.as_secs_f64()))
    }
}

impl Scheduler for ExpPf {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        let delays = candidates.iter().filter_map(|user| self.weighted_delay(user));
        let (count, sum) = delays.fold((0_u32, 0.0), |(count, sum), (_, delay)| (count + 1, sum + delay));
        let mean = sum / f64::from(count.max(1));
        each(candidates, ranks, |user| match self.weighted_delay(user) {
            Some((a, delay)) => {
                Rank::by(a * user.relative_rate() * libm::exp((delay - mean) / (1.0 + libm::sqrt(mean))))
            }
            None => Rank::by(user.relative_rate()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice};
    use super::*;

    #[test]
    fn equal_delays_leave_the_choice_to_the_channel_and_a_late_user_overrules_it() {
        let scheduler = &mut ExpPf { weight: -(0.01_f64).ln() };
        let user = |rate, delay| Candidate { rate, delay: ms(delay), mean_rate: 1e4, ..voice() };
        assert_eq!(order(scheduler, &[user(1e5, 20), user(2e5, 20)]), [1, 0]);
        assert_eq!(order(scheduler, &[user(1e5, 78), user(2e5, 2)]), [0, 1]);
    }
}
