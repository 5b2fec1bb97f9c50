//! Earliest deadline first: the user whose oldest packet has the smallest remaining budget; users without a budget
//! after all others, by their waiting time (Liu and Layland 1973).

use super::{Candidate, Rank, Scheduler, Service, Setting, each};
use link::registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "earliest-deadline",
    summary: "the user whose oldest packet is due first",
    example: "\"earliest-deadline\"",
    source: "Liu and Layland 1973",
};

link::no_parameters!();

impl Setting for Parameters {
    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(EarliestDeadline)
    }
}

#[derive(Debug)]
struct EarliestDeadline;

impl Scheduler for EarliestDeadline {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| match user.service {
            Service::DelayBound { .. } => Rank { class: 1, value: -user.slack().as_secs_f64() },
            Service::Elastic => Rank::by(user.delay.as_secs_f64()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, voice, web};
    use super::*;

    #[test]
    fn least_slack_first_and_those_without_a_deadline_last() {
        let long = Candidate { service: Service::DelayBound { budget: ms(160) }, delay: ms(70), ..voice() };
        let short = Candidate { delay: ms(20), ..voice() };
        let patient = Candidate { delay: ms(500), ..web() };
        assert_eq!(order(&mut EarliestDeadline, &[patient, web(), long, short]), [3, 2, 0, 1]);
    }
}
