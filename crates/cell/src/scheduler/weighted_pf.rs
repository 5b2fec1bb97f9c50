//! Proportional fair with a weight for each service (WPF): max w r_i / μ_i, where the weight of voice is the higher one
//! (Braga, Rodrigues and Cavalcanti 2006, "Packet scheduling for VoIP over HSDPA in mixed traffic scenarios"; quoted in
//! Landström 2008 §7.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, ServiceWeights, each};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "weighted-pf",
    "proportional fair with a weight for each service (WPF)",
    "Braga, Rodrigues and Cavalcanti 2006; Landström 2008 §7.3",
)
.written("{ weighted-pf = { voice = 4.0, elastic = 1.0 } }");

/// The weights of the services. Landström 2008 gives no values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(pub ServiceWeights);

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(WeightedPf(self.0))
    }
}

#[derive(Debug)]
struct WeightedPf(ServiceWeights);

impl Scheduler for WeightedPf {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| Rank::by(self.0.of(user.service) * user.relative_rate()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, voice, web};
    use super::*;

    #[test]
    fn voice_goes_first_up_to_its_weight() {
        let scheduler = &mut WeightedPf(ServiceWeights { voice: 4.0, elastic: 1.0 });
        let user =
            |relative, service: Candidate| Candidate { rate: relative * 1e4, mean_rate: 1e4, ..service };
        assert_eq!(order(scheduler, &[user(3.9, web()), user(1.0, voice())]), [1, 0]);
        assert_eq!(order(scheduler, &[user(4.1, web()), user(1.0, voice())]), [0, 1]);
    }
}
