//! When a packet came that is read only now.

use units::Instant;

/// What is known of the time at which packets came that were not read yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    /// The one that ended the last wait was there before the thread was awake.
    woke: Option<Instant>,
    /// A kernel that answers what it was given does so at once: the answer is there when the call returns.
    answered: Option<(usize, Instant)>,
}

impl Came {
    /// A packet ended a wait; it was there at a time.
    pub(crate) fn woke(&mut self, since: Instant) {
        self.woke = Some(since);
    }

    /// The kernel behind a device was given a packet.
    pub(crate) fn gave(&mut self, device: usize, time: Instant) {
        self.answered = Some((device, time));
    }

    /// Something has happened after the wait, and what is read from now on is no earlier.
    pub(crate) fn forget_wait(&mut self) {
        self.woke = None;
    }

    /// Every device was looked at: what comes now comes later.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns when the packet came that is the first to be read from a device, if that is known.
    pub(crate) fn take(&mut self, device: usize) -> Option<Instant> {
        let answered = self.answered.take_if(|(given, _)| *given == device).map(|(_, time)| time);
        self.woke.take().or(answered)
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn the_first_packet_after_a_wait_and_the_answer_of_a_kernel_have_their_own_times() {
        let [early, late] = [1, 2].map(|micros| Instant::START + Duration::from_micros(micros));
        let mut came = Came::default();
        came.woke(early);
        came.gave(1, late);
        assert_eq!(came.take(0), Some(early));
        assert_eq!(came.take(0), None);
        assert_eq!(came.take(1), Some(late));
        came.gave(1, late);
        came.forget();
        assert_eq!(came.take(1), None);
    }
}
