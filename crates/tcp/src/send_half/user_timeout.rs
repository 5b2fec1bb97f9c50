//! The user timeout: how long what was sent may stay unacknowledged, and a closed window unanswered, before the connection
//! is given up (RFC 9293 §3.9.1, RFC 5482; `TCP_USER_TIMEOUT` of Linux). And a device that takes no packet, where only
//! the user timeout ends the wait.

use units::{Duration, Instant};

use crate::endpoint::Endpoint;
use crate::send_half::{Fin, Persist};
use crate::timers::Timer;

/// The user timeout of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UserTimeout {
    limit: Option<Duration>,
    /// When the first of the probes that have no answer was due.
    pub probing_since: Option<Instant>,
    /// The device holds back what is probed for, not the peer's window.
    pub device_refuses: bool,
}

/// Time between two attempts to send while the device takes nothing (Linux tcp.h, `TCP_RESOURCE_PROBE_INTERVAL`).
const DEVICE_RETRY: Duration = Duration::from_millis(500);

impl Endpoint {
    /// Sets the user timeout; none at first, so that the number of retransmissions decides.
    pub const fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.sending.user_timeout.limit = limit;
    }

    /// Whether what happened at `since` is longer ago than the user waits.
    pub(crate) fn user_gives_up(&self, now: Instant, since: Instant) -> bool {
        self.sending.user_timeout.limit.is_some_and(|limit| now.saturating_since(since) >= limit)
    }

    /// `at`, or the end of the user timeout of what was sent at `since`, if that is earlier.
    pub(crate) fn before_user_gives_up(&self, at: Instant, since: Instant) -> Instant {
        self.sending.user_timeout.limit.map_or(at, |limit| at.min(since + limit))
    }

    /// Handles a device that takes no packet: call it instead of [`Endpoint::poll_transmit`]. Data wait, and where nothing
    /// is outstanding that an ACK could come for, the persist timer tries again.
    pub fn handle_device_refusal(&mut self, now: Instant) {
        let sending = &mut self.sending;
        let waits = !sending.queue.is_empty() || sending.fin == Fin::Wanted;
        if !waits || !sending.board.is_empty() || !self.state.sends_data() {
            return;
        }
        sending.user_timeout.device_refuses = true;
        match sending.persist {
            Persist::Idle => {
                sending.persist = Persist::Probing { probes: 0, due: false };
                self.timers.set(Timer::Persist, self.sending.rto_from(now));
            }
            Persist::Probing { probes, due: true } => {
                sending.persist = Persist::Probing { probes: probes + 1, due: false };
                // The network has lost nothing, so the timer does not back off.
                sending.rto.on_answer();
                self.timers.set(Timer::Persist, now + DEVICE_RETRY);
            }
            Persist::Probing { due: false, .. } => {}
        }
    }
}
