//! Amounts of data of which a flow's results say when they were acknowledged.

use tcp::Endpoint;
use units::{Bytes, Duration, Instant};

use crate::summary::MilestoneSummary;

/// The milestones of a connection, by growing amount.
#[derive(Default)]
pub(super) struct Milestones {
    milestones: Vec<Milestone>,
    /// Number of milestones reached, and the amount of the next milestone.
    passed: usize,
    next: Option<Bytes>,
}

#[derive(Clone, Copy)]
struct Milestone {
    amount: Bytes,
    /// Place in the specification.
    place: usize,
    /// Time, and retransmissions until then.
    reached: Option<(Instant, u64)>,
}

impl Milestones {
    pub(super) fn new(amounts: &[Bytes]) -> Self {
        let numbered = amounts.iter().enumerate();
        let mut milestones: Vec<Milestone> =
            numbered.map(|(place, amount)| Milestone { amount: *amount, place, reached: None }).collect();
        milestones.sort_by_key(|milestone| milestone.amount);
        let next = milestones.first().map(|first| first.amount);
        Self { milestones, passed: 0, next }
    }

    /// The sender has processed an ACK.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, endpoint: &Endpoint, retransmissions: u64) {
        while let Some(amount) = self.next
            && endpoint.acked() >= amount
        {
            self.milestones[self.passed].reached = Some((now, retransmissions));
            self.passed += 1;
            self.next = self.milestones.get(self.passed).map(|next| next.amount);
        }
    }

    /// In the order of the specification: times since the first SYN, and retransmissions, of which there are
    /// `so_far` for a milestone that was not reached.
    pub(super) fn summaries(&self, first_syn: Option<Instant>, so_far: u64) -> Vec<MilestoneSummary> {
        let mut milestones = self.milestones.clone();
        milestones.sort_by_key(|milestone| milestone.place);
        let elapsed = |reached: Option<(Instant, u64)>| Some(reached?.0 - first_syn?);
        let summary = |milestone: Milestone| MilestoneSummary {
            bytes: milestone.amount.0,
            elapsed_s: elapsed(milestone.reached).map(Duration::as_secs_f64),
            retransmissions: milestone.reached.map_or(so_far, |(_, until)| until),
        };
        milestones.into_iter().map(summary).collect()
    }
}
