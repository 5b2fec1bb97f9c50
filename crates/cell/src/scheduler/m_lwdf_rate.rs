//! Modified largest weighted delay first, for a minimum rate: as M-LWDF, but the wait is that of the oldest token of a
//! bucket that is filled at the user's minimum rate and emptied by the data sent to the user (Andrews et al. 2001;
//! quoted in Landström 2008 §7.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, ServiceWeights, each};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "m-lwdf-rate",
    "M-LWDF by the wait of tokens of a minimum rate",
    "Andrews et al. 2001; Landström 2008 §7.2",
)
.written("{ m-lwdf-rate = { voice = 1.0, elastic = 1.0 } }");

/// The weights β of the services.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(pub ServiceWeights);

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MLwdfRate(self.0))
    }
}

#[derive(Debug)]
struct MLwdfRate(ServiceWeights);

impl Scheduler for MLwdfRate {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            Rank::by(self.0.of(user.service) * user.token_delay.as_secs_f64() * user.rate)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, web};
    use super::*;

    #[test]
    fn tokens_wait_and_not_packets() {
        let scheduler = &mut MLwdfRate(ServiceWeights { voice: 1.0, elastic: 1.0 });
        let behind = Candidate { token_delay: ms(500), delay: ms(1), ..web() };
        let ahead = Candidate { token_delay: ms(0), delay: ms(900), ..web() };
        assert_eq!(order(scheduler, &[ahead, behind]), [1, 0]);
    }
}
