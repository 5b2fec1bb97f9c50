//! The gradient rule for any sum of a base function and barriers: max r_i · (B'(μ_i) + Σ b'(i)) (Hosein 2002;
//! Landström 2008 §7.2.1, where the sum of both is a user's utility).
//!
//! The user is served whose utility grows fastest: the rate r times the slope of its utility. Without barriers the
//! bases are `max-rate` (U = μ, slope 1) and `proportional-fair` (U = ln μ, slope 1/μ). A barrier adds a slope where a
//! user's service is about to miss its aim, for all users or for those of one service. With the base `max-rate` and
//! one `minimum-rate` for all it is `mr-min`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Candidate, ConfigError, LEAST_MEAN_RATE, LEAST_SLACK, Rank, Scheduler, SchedulerParameters, Service,
    ServiceKind, each, positive,
};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "barriers",
    "a base, maximum rate or proportional fair, and barriers for minimum rates and delays",
    "Landström 2008 §7.2.1; Hosein 2002",
)
.written(
    "{ barriers = { base = \"max-rate\", barriers = [{ minimum-rate = { beta = 0.5, of = \"voice\" } }] } }",
);

/// The terms of the utility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The base function.
    pub base: Base,
    /// The barriers, one or more.
    pub barriers: Vec<Barrier>,
}

/// The utility of a user's average rate μ where no barrier matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// U = μ: the greatest rate first.
    MaxRate,
    /// U = ln μ: the greatest rate in relation to the average first.
    ProportionalFair,
}

/// One barrier. Its slope is in 1/(kbit/s), as that of `proportional-fair`; that of `max-rate` is 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Barrier {
    /// U = 1 − exp(−β (μ − μ_min)), slope β exp(−β (μ − μ_min)): grows below the minimum rate of the user's service
    /// (Landström 2008, equation 7.1).
    MinimumRate(MinimumRate),
    /// Slope weight · (T / (T − d))^α, where d is the wait of the oldest packet and T the delay budget. Users without a
    /// budget have no such barrier. After the barrier of equation 7.3, which multiplies instead.
    Delay(DelayLimit),
}

/// A barrier at the minimum rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MinimumRate {
    /// β in 1/(kbit/s), above 0.
    pub beta: f64,
    /// The users that have it. All by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<ServiceKind>,
}

/// A barrier at the delay budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayLimit {
    /// Slope for a packet that has not waited, above 0.
    pub weight: f64,
    /// α, above 0.
    pub alpha: f64,
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.barriers.is_empty() {
            let message = "a sum without a barrier is its base";
            return Err(ConfigError::new(
                "barriers",
                message,
                "write a barrier, or the base as the scheduler",
            ));
        }
        self.barriers.iter().enumerate().try_for_each(|(place, barrier)| {
            barrier.check().map_err(|error| error.below(&format!("barriers.{place}")))
        })
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(Barriers(self.clone()))
    }
}

#[derive(Debug)]
struct Barriers(Parameters);

impl Scheduler for Barriers {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            let barriers: f64 = self.0.barriers.iter().map(|barrier| barrier.slope(user)).sum();
            Rank::by(user.rate * (self.0.base.slope(user) + barriers))
        });
    }
}

impl Base {
    fn slope(self, user: &Candidate) -> f64 {
        match self {
            Self::MaxRate => 1.0,
            Self::ProportionalFair => 1e3 / user.mean_rate.max(LEAST_MEAN_RATE),
        }
    }
}

impl Barrier {
    fn check(self) -> Result<(), ConfigError> {
        let (kind, checked) = match self {
            Self::MinimumRate(minimum) => ("minimum-rate", positive("beta", minimum.beta)),
            Self::Delay(limit) => {
                ("delay", positive("weight", limit.weight).and_then(|()| positive("alpha", limit.alpha)))
            }
        };
        checked.map_err(|error| error.below(kind))
    }

    fn slope(self, user: &Candidate) -> f64 {
        match self {
            Self::MinimumRate(minimum) => minimum.slope(user),
            Self::Delay(limit) => limit.slope(user),
        }
    }
}

impl MinimumRate {
    pub(super) fn slope(self, user: &Candidate) -> f64 {
        if self.of.is_some_and(|kind| kind != user.service.kind()) {
            return 0.0;
        }
        let above_kbit = (user.mean_rate - user.min_rate) / 1e3;
        // Far below the minimum the barrier would overflow: its exponent is bounded.
        self.beta * libm::exp((-self.beta * above_kbit).min(LARGEST_EXPONENT))
    }
}

impl DelayLimit {
    fn slope(self, user: &Candidate) -> f64 {
        let Service::DelayBound { budget } = user.service else { return 0.0 };
        let left = user.slack().max(LEAST_SLACK).as_secs_f64() / budget.max(LEAST_SLACK).as_secs_f64();
        self.weight * libm::pow(left, -self.alpha)
    }
}

/// exp(600) ≈ 10²⁶⁰: with any rate still a finite number.
const LARGEST_EXPONENT: f64 = 600.0;

#[cfg(test)]
mod tests {
    use super::super::mr_min;
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    fn barriers(base: Base, barriers: &[Barrier]) -> Box<dyn Scheduler> {
        Parameters { base, barriers: barriers.to_vec() }.scheduler()
    }

    const fn minimum(of: Option<ServiceKind>) -> Barrier {
        Barrier::MinimumRate(MinimumRate { beta: 0.5, of })
    }

    #[test]
    fn maximum_rate_with_a_minimum_for_all_is_mr_min() {
        let users =
            [web(), voice(), Candidate { mean_rate: 63e3, ..web() }, Candidate { mean_rate: 0.0, ..voice() }];
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        barriers(Base::MaxRate, &[minimum(None)]).rank(&users, &mut ours);
        mr_min::Parameters { beta: 0.5 }.scheduler().rank(&users, &mut theirs);
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_barrier_of_one_service_leaves_the_other_to_the_base() {
        let starved_web = Candidate { rate: 1e5, mean_rate: 1e3, ..web() };
        let starved_voice = Candidate { rate: 1e5, mean_rate: 1e3, ..voice() };
        let users = [Candidate { rate: 1e6, mean_rate: 1e6, ..web() }, starved_web, starved_voice];
        assert_eq!(order(&mut *barriers(Base::MaxRate, &[minimum(None)]), &users), [1, 2, 0]);
        assert_eq!(
            order(&mut *barriers(Base::MaxRate, &[minimum(Some(ServiceKind::Voice))]), &users),
            [2, 0, 1]
        );
    }

    #[test]
    fn two_barriers_add_up() {
        let delay = Barrier::Delay(DelayLimit { weight: 2.0, alpha: 1.0 });
        let half_late = Candidate { rate: 1e5, mean_rate: 13.6e3, delay: ms(40), ..voice() };
        let mut ranks = Vec::new();
        barriers(Base::ProportionalFair, &[minimum(None), delay]).rank(&[half_late], &mut ranks);
        // 1 / 13.6, β at the minimum, and twice the weight in the middle of the budget.
        assert!((ranks[0].value - 1e5 * (1.0 / 13.6 + 0.5 + 4.0)).abs() < 1e-6);
    }

    #[test]
    fn a_sum_needs_a_barrier_and_its_numbers_are_above_zero() {
        let check =
            |barriers: &[Barrier]| Parameters { base: Base::MaxRate, barriers: barriers.to_vec() }.check();
        assert!(check(&[]).is_err());
        assert!(check(&[Barrier::MinimumRate(MinimumRate { beta: 0.0, of: None })]).is_err());
        let second = check(&[minimum(None), Barrier::Delay(DelayLimit { weight: 1.0, alpha: f64::NAN })]);
        assert_eq!(second.expect_err("no number").path, "barriers.1.delay.alpha");
        assert_eq!(check(&[minimum(Some(ServiceKind::Elastic))]), Ok(()));
    }
}
