//! Round robin: the user that was served longest ago goes first, whatever its channel.

use super::{Candidate, Rank, Scheduler, SchedulerParameters, each};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("round-robin", "the user that was served longest ago", "Nagle 1987, RFC 970, by users");

registry::no_parameters!();

impl SchedulerParameters for Parameters {
    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(RoundRobin)
    }
}

#[derive(Debug)]
struct RoundRobin;

impl Scheduler for RoundRobin {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        each(candidates, ranks, |user| Rank::by(user.unserved.as_secs_f64()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, order, web};
    use super::*;

    #[test]
    fn whoever_waits_longest_is_next_and_the_channel_counts_for_nothing() {
        let fast = Candidate { rate: 9e6, unserved: ms(2), ..web() };
        let waiting = Candidate { rate: 1e4, unserved: ms(6), ..web() };
        assert_eq!(
            order(&mut RoundRobin, &[fast, waiting, Candidate { unserved: ms(4), ..web() }]),
            [1, 2, 0]
        );
    }
}
