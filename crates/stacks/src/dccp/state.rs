//! The states of a connection and its timers (RFC 4340 §8).

use units::{Duration, Instant};

use crate::stack::Phase;

/// The state of an end. A server that is closing has asked the client to close; a client has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A server waits for a Request.
    Listen,
    /// A client has sent a Request (§8.1.1).
    Request(Repeated),
    /// A server has answered (§8.1.3).
    Respond,
    /// A client has the Response; the server may not know yet that it has (§8.1.5).
    PartOpen(Repeated),
    /// Data may go both ways.
    Open,
    /// A Close or CloseReq is sent, and sent again until the peer answers (§8.3).
    Closing(Repeated),
    /// It is over.
    Closed,
    /// It was given up.
    Broken(&'static str),
}

/// A packet that is sent again, with backoff, until something answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    began: Instant,
    due: Instant,
    interval: Duration,
}

impl Repeated {
    /// The packet is sent now, and again after `interval`.
    pub(super) fn new(now: Instant, interval: Duration) -> Self {
        Self { began: now, due: now + interval, interval }
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// The packet is sent again now; none if it has been sent for too long.
    pub(super) fn again(self, now: Instant, patience: Duration) -> Option<Self> {
        let interval = self.interval.doubled(1).min(LONGEST_INTERVAL);
        let is_patient = now.saturating_since(self.began) < patience;
        is_patient.then(|| Self { due: now + interval, interval, ..self })
    }

    /// Something else was sent in its place: its time begins anew (§8.1.5).
    pub(super) fn postpone(&mut self, now: Instant) {
        self.due = now + self.interval;
    }
}

impl State {
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Listen | Self::Request(_) | Self::Respond => Phase::Opening,
            Self::PartOpen(_) | Self::Open | Self::Closing(_) => Phase::Open,
            Self::Closed => Phase::Closed,
            Self::Broken(reason) => Phase::Broken(reason),
        }
    }

    /// Whether data may be sent.
    pub(super) const fn sends_data(self) -> bool {
        matches!(self, Self::PartOpen(_) | Self::Open)
    }

    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Closed | Self::Broken(_))
    }

    /// The packet that is being repeated.
    pub(super) const fn repeated(&self) -> Option<&Repeated> {
        match self {
            Self::Request(repeated) | Self::PartOpen(repeated) | Self::Closing(repeated) => Some(repeated),
            _ => None,
        }
    }
}

/// §8.1.1: the first Request is repeated after about a second, later ones with backoff, up to 64 s.
pub(super) const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(64);
/// §8.1.1: a client gives up after about three minutes.
pub(super) const REQUEST_PATIENCE: Duration = Duration::from_secs(180);
/// §8.1.5: about 200 ms, and 4 MSL of two minutes each.
pub(super) const PART_OPEN_INTERVAL: Duration = Duration::from_millis(200);
pub(super) const PART_OPEN_PATIENCE: Duration = Duration::from_secs(480);
/// §8.3: a Close is repeated after two round trips; we give up as for a Request.
pub(super) const CLOSING_PATIENCE: Duration = Duration::from_secs(180);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_repeated_with_backoff_up_to_64_seconds_until_patience_ends() {
        let mut repeated = Some(Repeated::new(Instant::START, REQUEST_INTERVAL));
        let mut times = Vec::new();
        while let Some(packet) = repeated {
            times.push(packet.due().saturating_since(Instant::START).as_secs_f64());
            repeated = packet.again(packet.due(), REQUEST_PATIENCE);
        }
        assert_eq!(times, [1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0, 191.0]);
    }
}
