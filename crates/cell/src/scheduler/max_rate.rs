//! Maximum rate (MR): the user to which most can be sent now (Landström 2008 §7.2: max r_i).
//!
//! It gives the cell the greatest throughput, and users far from the site nothing while nearer ones have data.

use super::{Candidate, Rank, Scheduler, SchedulerParameters, each};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "max-rate",
    "the user with the greatest rate in this TTI (MR)",
    "Landström 2008 §7.2; Knopp and Humblet 1995",
);

registry::no_parameters!();

impl SchedulerParameters for Parameters {
    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(MaxRate)
    }
}

#[derive(Debug)]
struct MaxRate;

impl Scheduler for MaxRate {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| Rank::by(user.rate));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, voice, web};
    use super::*;

    #[test]
    fn the_greatest_rate_goes_first_and_the_rate_is_bounded_by_what_is_queued() {
        let near = Candidate { rate: 272e3, radio_rate: 7e6, ..voice() };
        let far = Candidate { rate: 400e3, radio_rate: 400e3, ..web() };
        assert_eq!(order(&mut MaxRate, &[near, far]), [1, 0]);
    }
}
