//! The timers of one end, each set or not.

use units::Instant;

/// The timers that an end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Something sent is not acknowledged (RFC 6298).
    Retransmission,
    /// The recovery algorithm wants to act.
    Recovery,
    /// The next segment may leave (pacing).
    Pacing,
    /// The peer's window is closed (RFC 9293 §3.8.6.1).
    Persist,
    /// An acknowledgment waits (RFC 5681 §4.2).
    DelayedAck,
    /// The connection is silent (RFC 9293 §3.8.4).
    KeepAlive,
    /// Twice the maximum segment lifetime (RFC 9293 §3.10.8).
    TimeWait,
}

/// When each timer runs out.
#[derive(Clone, Copy, Debug)]
pub struct Timers {
    at: [Instant; Timer::ALL.len()],
}

impl Timer {
    /// All of them; those that expire together are handled in this order.
    pub const ALL: [Self; 7] = [
        Self::Retransmission,
        Self::Recovery,
        Self::Pacing,
        Self::Persist,
        Self::DelayedAck,
        Self::KeepAlive,
        Self::TimeWait,
    ];
}

impl Timers {
    /// None is set.
    pub const UNSET: Self = Self { at: [Instant::NEVER; Timer::ALL.len()] };

    /// Sets a timer, whether or not it was set.
    pub const fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
    }

    /// Unsets a timer.
    pub const fn clear(&mut self, timer: Timer) {
        self.at[timer as usize] = Instant::NEVER;
    }

    /// Whether a timer is set.
    #[must_use]
    pub fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize] != Instant::NEVER
    }

    /// When the next one runs out.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.at.iter().copied().min().filter(|at| *at != Instant::NEVER)
    }

    /// Takes out one timer that has run out by `now`.
    pub fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        let timer = Timer::ALL.into_iter().find(|timer| self.at[*timer as usize] <= now)?;
        self.clear(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn timers_run_out_in_time_and_once() {
        let at = |s| Instant::START + Duration::from_secs(s);
        let mut timers = Timers::UNSET;
        timers.set(Timer::DelayedAck, at(2));
        timers.set(Timer::Retransmission, at(3));
        assert_eq!(timers.next(), Some(at(2)));
        assert_eq!(timers.take_expired(at(1)), None);
        assert_eq!(timers.take_expired(at(3)), Some(Timer::Retransmission));
        assert_eq!(timers.take_expired(at(3)), Some(Timer::DelayedAck));
        assert_eq!((timers.take_expired(at(3)), timers.next()), (None, None));
    }
}
