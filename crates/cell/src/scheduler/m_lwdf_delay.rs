//! Modified largest weighted delay first, for delay (M-LWDF): max β_i d_i r_i, d_i the wait of the oldest packet
//! (Andrews, Kumaran, Ramanan, Stolyar, Whiting and Vijayakumar 2001; quoted in Landström 2008 §7.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, ServiceWeights, each};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "m-lwdf-delay",
    "the greatest product of weight, waiting time and rate (M-LWDF)",
    "Andrews et al. 2001; Landström 2008 §7.2",
)
.written("{ m-lwdf-delay = { voice = 1.0, elastic = 1.0 } }");

/// The weights β of the services. Andrews et al. 2001 propose −log(δ) / (T μ) for a service of which a share δ of the
/// packets may be later than T.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(pub ServiceWeights);

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MLwdfDelay(self.0))
    }
}

#[derive(Debug)]
struct MLwdfDelay(ServiceWeights);

impl Scheduler for MLwdfDelay {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            Rank::by(self.0.of(user.service) * user.delay.as_secs_f64() * user.rate)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn waiting_time_and_rate_multiply_with_the_weight() {
        let scheduler = &mut MLwdfDelay(ServiceWeights { voice: 3.0, elastic: 1.0 });
        // β d r: 3·0.02·1e5 = 6e3, 1·0.05·1e5 = 5e3, 1·0.01·1e6 = 1e4.
        let users = [
            Candidate { rate: 1e5, delay: ms(20), ..voice() },
            Candidate { rate: 1e5, delay: ms(50), ..web() },
            Candidate { rate: 1e6, delay: ms(10), ..web() },
        ];
        assert_eq!(order(scheduler, &users), [2, 0, 1]);
    }
}
