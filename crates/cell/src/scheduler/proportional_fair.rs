//! Proportional fair (PF): the largest rate in relation to the user's average so far (Landström 2008 §7.2: max r_i /
//! μ_i; Jalali, Padovani and Pankaj 2000). Users with equal statistics get equal shares of the slots, each while its
//! own channel is good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, ConfigError, Rank, Scheduler, Setting, each};
use link::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "proportional-fair",
    summary: "the greatest rate in relation to the user's average (PF)",
    example: "\"proportional-fair\"",
    source: "Landström 2008 §7.2; Jalali, Padovani and Pankaj 2000",
};

/// It has no parameters: the service determines how averages are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(ProportionalFair)
    }
}

#[derive(Debug)]
struct ProportionalFair;

impl Scheduler for ProportionalFair {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| Rank::by(user.relative_rate()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, web};
    use super::*;

    #[test]
    fn rates_count_by_what_the_user_has_had() {
        // r / μ: 10, 20, 2.5.
        let users = [(1e6, 1e5), (2e5, 1e4), (5e6, 2e6)];
        let users = users.map(|(rate, mean_rate)| Candidate { rate, mean_rate, ..web() });
        assert_eq!(order(&mut ProportionalFair, &users), [1, 0, 2]);
    }

    #[test]
    fn users_that_have_had_nothing_go_first_by_their_rates() {
        let fresh = |rate| Candidate { rate, mean_rate: 0.0, ..web() };
        assert_eq!(order(&mut ProportionalFair, &[web(), fresh(1e5), fresh(2e5)]), [2, 1, 0]);
    }
}
