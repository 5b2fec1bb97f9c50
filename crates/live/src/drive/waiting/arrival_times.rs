//! Arrival times of packets that are read later than they arrived.

use units::Instant;

/// Bounds of the arrival times of packets that are not yet read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrivalTimes {
    /// The arrival of the packet that ended the last wait: before the thread was awake.
    ended_wait: Option<Instant>,
    /// The device that was given a packet last, and when. A kernel that answers the packet does so at once: the answer
    /// has arrived when the call that gives the packet returns.
    given: Option<(usize, Instant)>,
}

impl ArrivalTimes {
    /// A packet that arrived at `since` ended a wait.
    pub(crate) fn wait_ended(&mut self, since: Instant) {
        self.ended_wait = Some(since);
    }

    /// The kernel of a device was given a packet.
    pub(crate) fn given_to(&mut self, device: usize, time: Instant) {
        self.given = Some((device, time));
    }

    /// Work was done since the wait: packets that are read from now on count as no earlier.
    pub(crate) fn forget_wait(&mut self) {
        self.ended_wait = None;
    }

    /// Every device was read from: packets that are read from now on arrived later.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the arrival time of the next packet that is read from a device, if it is known.
    pub(crate) fn take(&mut self, device: usize) -> Option<Instant> {
        let answer = self.given.take_if(|(given, _)| *given == device).map(|(_, time)| time);
        self.ended_wait.take().or(answer)
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn the_first_packet_after_a_wait_and_the_answer_of_a_kernel_have_their_own_times() {
        let [early, late] = [1, 2].map(|micros| Instant::START + Duration::from_micros(micros));
        let mut arrivals = ArrivalTimes::default();
        arrivals.wait_ended(early);
        arrivals.given_to(1, late);
        assert_eq!(arrivals.take(0), Some(early));
        assert_eq!(arrivals.take(0), None);
        assert_eq!(arrivals.take(1), Some(late));
        arrivals.given_to(1, late);
        arrivals.forget();
        assert_eq!(arrivals.take(1), None);
    }
}
