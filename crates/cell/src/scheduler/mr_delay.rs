//! Maximum rate with a delay limit (MRdelay): by rate, but a user whose oldest packet has little of its budget left
//! precedes all others, by its delay (Landström 2008 §7.2 and §7.4: when 40 ms of the budget are left).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Candidate, ConfigError, Rank, Scheduler, Service, Setting, each};
use link::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "mr-delay",
    summary: "the greatest rate, but first of all who is about to be late (MRdelay)",
    example: "{ mr-delay = { margin = \"40 ms\" } }",
    source: "Landström 2008 §7.2, §7.4",
};

/// The limit from which delay decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Remaining budget at which delay decides. 40 ms in the document.
    pub margin: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { margin: Duration::from_millis(40) }
    }
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MrDelay { margin: self.margin })
    }
}

#[derive(Debug)]
struct MrDelay {
    margin: Duration,
}

impl Scheduler for MrDelay {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            let bound = matches!(user.service, Service::DelayBound { .. });
            if bound && user.slack() <= self.margin {
                Rank { class: 1, value: user.delay.as_secs_f64() }
            } else {
                Rank::by(user.rate)
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn late_voice_goes_first_by_delay_and_the_rest_by_rate() {
        let mut scheduler = MrDelay { margin: ms(40) };
        let early = Candidate { rate: 1e5, delay: ms(39), ..voice() };
        let late = Candidate { rate: 1e4, delay: ms(40), ..voice() };
        let later = Candidate { rate: 1e3, delay: ms(70), ..voice() };
        let waiting_web = Candidate { rate: 5e5, delay: ms(900), ..web() };
        assert_eq!(order(&mut scheduler, &[early, late, later, waiting_web]), [2, 1, 3, 0]);
    }

    #[test]
    fn with_a_budget_of_the_margin_all_voice_goes_by_delay() {
        let tight = Candidate { service: Service::DelayBound { budget: ms(40) }, delay: ms(0), ..voice() };
        assert_eq!(order(&mut MrDelay { margin: ms(40) }, &[web(), tight]), [1, 0]);
    }
}
