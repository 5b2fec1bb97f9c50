//! Probing of a closed window (RFC 9293 §3.8.6.1).

use units::{Duration, Instant};

/// The probing of a closed window, or of a device that takes no packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    probing: Option<Probing>,
    /// Time at which the first of the probes without an answer was due.
    since: Option<Instant>,
    /// The device holds the data back, not the peer's window.
    device_refuses: bool,
}

/// Probing that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Probing {
    /// Number of probes sent.
    probes: u32,
    /// The next probe may leave.
    due: bool,
}

impl Persist {
    /// Whether the window is not probed.
    #[inline]
    pub(super) const fn is_idle(&self) -> bool {
        self.probing.is_none()
    }

    /// Whether a probe is due.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.probing.is_some_and(|probing| probing.due)
    }

    /// Number of probes sent.
    pub(super) fn probes(&self) -> u32 {
        self.probing.map_or(0, |probing| probing.probes)
    }

    /// Starts to probe.
    pub(super) fn begin(&mut self) {
        self.probing = Some(Probing::default());
    }

    /// The persist timer has expired: the next probe is due. Returns when the first unanswered probe was.
    pub(super) fn on_timeout(&mut self, now: Instant) -> Instant {
        *self.since.get_or_insert(now)
    }

    /// Makes the next probe due.
    pub(super) fn begin_probe(&mut self) {
        if let Some(probing) = &mut self.probing {
            probing.due = true;
        }
    }

    /// The probe that was due has been sent, or the device has refused it.
    pub(super) fn end_probe(&mut self) {
        if let Some(Probing { probes, due }) = &mut self.probing {
            *probes += 1;
            *due = false;
        }
    }

    /// The device has refused a packet.
    pub(super) const fn on_device_refusal(&mut self) {
        self.device_refuses = true;
    }

    /// Whether the device holds the data back.
    pub(super) const fn device_refuses(&self) -> bool {
        self.device_refuses
    }

    /// Stops probing.
    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }
}

/// The limit of the wait for an answer (RFC 9293 §3.9.1, RFC 5482; `TCP_USER_TIMEOUT` of Linux): data may stay
/// unacknowledged, and a closed window unanswered, for this long before the connection is given up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UserTimeout {
    limit: Option<Duration>,
}

impl UserTimeout {
    /// Sets the limit; `None` leaves the decision to the number of retransmissions.
    pub(super) const fn set(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// Whether the limit of a wait that began at `since` has passed.
    pub(super) fn is_over(self, now: Instant, since: Instant) -> bool {
        self.limit.is_some_and(|limit| now.saturating_since(since) >= limit)
    }

    /// `at`, or the end of a wait that began at `since` if that is earlier.
    pub(super) fn cut(self, at: Instant, since: Instant) -> Instant {
        self.limit.map_or(at, |limit| at.min(since + limit))
    }
}

/// Time between two attempts to send while the device takes no packets (Linux tcp.h, `TCP_RESOURCE_PROBE_INTERVAL`).
pub(super) const DEVICE_RETRY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_that_was_sent_is_counted_until_probing_stops() {
        let mut persist = Persist::default();
        persist.begin_probe();
        assert!(persist.is_idle() && !persist.is_due(), "nothing is probed yet");
        persist.begin();
        persist.begin_probe();
        assert!(persist.is_due());
        persist.end_probe();
        assert_eq!((persist.probes(), persist.is_due()), (1, false));
        persist.stop();
        assert_eq!((persist.probes(), persist.is_idle()), (0, true));
    }

    #[test]
    fn the_user_timeout_counts_from_the_first_unanswered_probe() {
        let at = |s| Instant::START + Duration::from_secs(s);
        let (mut persist, mut user_timeout) = (Persist::default(), UserTimeout::default());
        assert!(!user_timeout.is_over(at(1000), at(0)), "no limit is set");
        user_timeout.set(Some(Duration::from_secs(10)));
        persist.begin();
        assert_eq!((persist.on_timeout(at(5)), persist.on_timeout(at(9))), (at(5), at(5)));
        assert!(user_timeout.is_over(at(15), at(5)) && !user_timeout.is_over(at(14), at(5)));
        assert_eq!((user_timeout.cut(at(20), at(5)), user_timeout.cut(at(12), at(5))), (at(15), at(12)));
    }
}
