//! Modified largest weighted delay first, for delay (M-LWDF): max β_i d_i r_i, d_i the wait of the oldest packet
//! (Andrews, Kumaran, Ramanan, Stolyar, Whiting and Vijayakumar 2001; quoted in Landström 2008 §7.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerParameters, Service, each, positive};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "m-lwdf-delay",
    "the greatest product of weight, waiting time and rate (M-LWDF)",
    "Andrews et al. 2001; Landström 2008 §7.2",
)
.written("{ m-lwdf-delay = { voice = 1.0, elastic = 1.0 } }");

/// The weights β of the services.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// β of users with a delay budget, above 0. Andrews et al. 2001 propose −log(δ) / (T μ) for a share δ of packets
    /// later than T.
    pub voice: f64,
    /// β of all others, above 0.
    pub elastic: f64,
}

impl Parameters {
    /// The weight of a service.
    #[must_use]
    pub const fn weight(&self, service: Service) -> f64 {
        match service {
            Service::DelayBound { .. } => self.voice,
            Service::Elastic => self.elastic,
        }
    }
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        positive("voice", self.voice)?;
        positive("elastic", self.elastic)
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MLwdfDelay(*self))
    }
}

#[derive(Debug)]
struct MLwdfDelay(Parameters);

impl Scheduler for MLwdfDelay {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| {
            Rank::by(self.0.weight(user.service) * user.delay.as_secs_f64() * user.rate)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn waiting_time_and_rate_multiply_with_the_weight() {
        let scheduler = &mut MLwdfDelay(Parameters { voice: 3.0, elastic: 1.0 });
        // β d r: 3·0.02·1e5 = 6e3, 1·0.05·1e5 = 5e3, 1·0.01·1e6 = 1e4.
        let users = [
            Candidate { rate: 1e5, delay: ms(20), ..voice() },
            Candidate { rate: 1e5, delay: ms(50), ..web() },
            Candidate { rate: 1e6, delay: ms(10), ..web() },
        ];
        assert_eq!(order(scheduler, &users), [2, 0, 1]);
    }
}
