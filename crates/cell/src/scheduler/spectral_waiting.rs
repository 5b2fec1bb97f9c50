//! Priority by class, spectral efficiency and waiting time: P_i = β_i − Θ (s_i − s_min) / s_max − κ d_i / T_s, the
//! lowest first (quoted in Landström 2008 §7.2). Waiting counts in steps of T_s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Candidate, ConfigError, Rank, Scheduler, Service, Setting, each, positive};
use link::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "spectral-waiting",
    summary: "by class, spectral efficiency and waiting steps",
    example: "{ spectral-waiting = { voice = 0.0, elastic = 1.0, theta = 1.0, kappa = 0.1, step = \"10 ms\" } }",
    source: "Landström 2008 §7.2",
};

/// The weights. The document gives no values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// β of users with a delay budget.
    pub voice: f64,
    /// β of all others.
    pub elastic: f64,
    /// Θ: weight of the whole range of spectral efficiency, above 0.
    pub theta: f64,
    /// κ: weight of a step of waiting, above 0.
    pub kappa: f64,
    /// T_s, above 0.
    pub step: Duration,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        positive("theta", self.theta)?;
        positive("kappa", self.kappa)?;
        if self.step.is_zero() {
            return Err(ConfigError::new(
                "step",
                "a step of no time cannot be counted",
                "write one like \"10 ms\"",
            ));
        }
        Ok(())
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(SpectralWaiting(*self))
    }
}

#[derive(Debug)]
struct SpectralWaiting(Parameters);

impl Scheduler for SpectralWaiting {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        let Parameters { voice, elastic, theta, kappa, step } = self.0;
        let radio_rates = || candidates.iter().map(|user| user.radio_rate);
        let (least, most) = (radio_rates().fold(f64::INFINITY, f64::min), radio_rates().fold(0.0, f64::max));
        each(candidates, ranks, |user| {
            let class = if matches!(user.service, Service::DelayBound { .. }) { voice } else { elastic };
            let efficiency = if most > 0.0 { (user.radio_rate - least) / most } else { 0.0 };
            let steps = (user.delay.as_nanos() / step.as_nanos()) as f64;
            Rank::by(-(class - theta * efficiency - kappa * steps))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn class_efficiency_and_steps_add_up() {
        let parameters = Parameters { voice: 0.0, elastic: 1.0, theta: 1.0, kappa: 0.1, step: ms(10) };
        let scheduler = &mut SpectralWaiting(parameters);
        // P: 0 − 0 − 0.3 = −0.3; 1 − 0.9 − 0 = 0.1; 1 − 0 − 1.5 = −0.5.
        let users = [
            Candidate { radio_rate: 1e5, delay: ms(39), ..voice() },
            Candidate { radio_rate: 1e6, delay: ms(9), ..web() },
            Candidate { radio_rate: 1e5, delay: ms(150), ..web() },
        ];
        assert_eq!(order(scheduler, &users), [2, 0, 1]);
    }
}
