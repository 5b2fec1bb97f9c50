//! The lead: the time by which a wait ends before a packet is due, so that the kernel has the packet when it is due.
//!
//! Between the end of a wait and the delivery there is work: the driver takes the packet out of its link, and the
//! kernel passes it to the receiver's protocol. After a pause both find cold caches, and take tens of microseconds.

use units::{Duration, Instant};

use super::recent::Recent;

/// The lead, from the times that the latest deliveries after a wait have taken.
#[derive(Debug, Default)]
pub(super) struct Lead {
    taken: Recent,
    lead: Duration,
    /// The end of the last wait, if nothing was delivered since.
    wait_ended: Option<Instant>,
}

impl Lead {
    /// Returns the time by which a wait ends before its event.
    pub(super) fn length(&self) -> Duration {
        self.lead
    }

    /// A wait has ended at its time; `None` if a descriptor ended it.
    pub(super) fn wait_ended(&mut self, by_its_time: Option<Instant>) {
        self.wait_ended = by_its_time;
    }

    /// A call that gave packets to a kernel took from `began` to `ended`. The kernel counts as having them halfway.
    pub(super) fn delivered(&mut self, began: Instant, ended: Instant) {
        let Some(wait_ended) = self.wait_ended.take() else { return };
        let middle = began + ended.saturating_since(began) / 2;
        if self.taken.add(middle.saturating_since(wait_ended)) {
            let [usual] = self.taken.at([MEDIAN]);
            self.lead = usual.min(LONGEST);
        }
    }
}

const MEDIAN: usize = 50;
/// The largest lead. A machine that takes longer is too busy to be precise, and early deliveries would add to the
/// error.
const LONGEST: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_median_time_of_deliveries_after_a_wait() {
        let mut lead = Lead::default();
        let at = |micros| Instant::START + Duration::from_micros(micros);
        let deliver = |lead: &mut Lead, from: u64, until: u64| {
            for _ in 0..64 {
                lead.wait_ended(Some(at(0)));
                lead.delivered(at(from), at(until));
                // A second one had to wait for the first.
                lead.delivered(at(until), at(until + 500));
            }
        };
        assert_eq!(lead.length(), Duration::ZERO);
        deliver(&mut lead, 10, 30);
        assert_eq!(lead.length(), Duration::from_micros(20));
        deliver(&mut lead, 400, 500);
        assert_eq!(lead.length(), LONGEST);
    }

    #[test]
    fn a_delivery_after_a_packet_that_came_does_not_count() {
        let mut lead = Lead::default();
        for _ in 0..64 {
            lead.wait_ended(Some(Instant::START));
            lead.wait_ended(None);
            lead.delivered(Instant::START, Instant::START + Duration::from_micros(30));
        }
        assert_eq!(lead.length(), Duration::ZERO);
    }
}
