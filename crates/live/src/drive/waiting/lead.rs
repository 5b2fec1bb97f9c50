//! How much earlier than it is due a packet is taken in hand, so that the kernel has it when it is due.
//!
//! From the end of a wait until a kernel has the packet there is work: taking it out of its link, and the kernel's own until
//! the receiver's protocol sees it. After a pause both find cold caches, and take tens of microseconds.

use units::{Duration, Instant};

use super::recent::Recent;

/// What the latest deliveries after a wait have taken.
#[derive(Debug, Default)]
pub(super) struct Lead {
    taken: Recent,
    lead: Duration,
    /// When the last wait ended, if nothing was delivered since.
    wait_ended: Option<Instant>,
}

impl Lead {
    /// How long before an event a wait for it ends.
    pub(super) fn length(&self) -> Duration {
        self.lead
    }

    /// A wait has ended by its time, or by something else.
    pub(super) fn wait_ended(&mut self, by_its_time: Option<Instant>) {
        self.wait_ended = by_its_time;
    }

    /// A kernel was given packets between two times. It has them in the middle of the two, as nearly as can be said.
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
/// A machine that takes longer is too busy to be precise, and what came early would add to the error.
const LONGEST: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_deliveries_after_a_wait_usually_take() {
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
    fn what_a_packet_that_came_has_caused_tells_nothing() {
        let mut lead = Lead::default();
        for _ in 0..64 {
            lead.wait_ended(Some(Instant::START));
            lead.wait_ended(None);
            lead.delivered(Instant::START, Instant::START + Duration::from_micros(30));
        }
        assert_eq!(lead.length(), Duration::ZERO);
    }
}
