//! The timers of one end, each set or not.

use units::Instant;

/// The timers that an end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The retransmission timer (RFC 6298).
    Retransmission,
    /// The recovery algorithm's own timer.
    Recovery,
    /// Pacing: when the next segment may leave.
    Pacing,
    /// The congestion control's own timer.
    Congestion,
    /// The persist timer: when to probe a closed window (RFC 9293 §3.8.6.1).
    Persist,
    /// Delayed ACK (RFC 5681 §4.2).
    DelayedAck,
    /// Keep-alive (RFC 9293 §3.8.4).
    KeepAlive,
    /// TIME-WAIT: twice the maximum segment lifetime (RFC 9293 §3.10.8).
    TimeWait,
}

/// Time at which each timer runs out.
#[derive(Clone, Copy, Debug)]
pub struct Timers {
    /// A bit for each timer that is set, that of [`Timer::ALL`]`[i]` being bit `i`. Few are set at a time.
    set: u8,
    /// Time at which they run out; of a timer that is not set, when it did last.
    at: [Instant; Timer::ALL.len()],
}

impl Timer {
    /// All timers; timers that expire at the same time are handled in this order.
    pub const ALL: [Self; 8] = [
        Self::Retransmission,
        Self::Recovery,
        Self::Pacing,
        Self::Congestion,
        Self::Persist,
        Self::DelayedAck,
        Self::KeepAlive,
        Self::TimeWait,
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Timers {
    /// None is set.
    pub const UNSET: Self = Self { set: 0, at: [Instant::NEVER; Timer::ALL.len()] };

    /// Sets a timer, whether or not it was set. A timer for [`Instant::NEVER`] is not set.
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
        self.set |= timer.bit();
        if at == Instant::NEVER {
            self.clear(timer);
        }
    }

    /// Unsets a timer.
    #[inline]
    pub const fn clear(&mut self, timer: Timer) {
        self.set &= !timer.bit();
    }

    /// Whether a timer is set.
    #[must_use]
    #[inline]
    pub const fn is_set(&self, timer: Timer) -> bool {
        self.set & timer.bit() != 0
    }

    /// Time at which a timer runs out, if it is set.
    #[must_use]
    pub fn at(&self, timer: Timer) -> Option<Instant> {
        self.is_set(timer).then(|| self.at[timer as usize])
    }

    /// Time at which the next one runs out.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.running().map(|timer| self.at[timer as usize]).min()
    }

    /// Takes out one timer that has run out by `now`.
    pub fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        let timer = self.running().find(|timer| self.at[*timer as usize] <= now)?;
        self.clear(timer);
        Some(timer)
    }

    /// The timers that are set, in the order of [`Timer::ALL`].
    #[inline]
    fn running(&self) -> impl Iterator<Item = Timer> {
        let mut left = self.set;
        std::iter::from_fn(move || {
            let timer = *Timer::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(timer)
        })
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn a_timer_that_never_runs_out_is_not_set() {
        let mut timers = Timers::UNSET;
        timers.set(Timer::KeepAlive, Instant::START);
        timers.set(Timer::KeepAlive, Instant::NEVER);
        assert_eq!((timers.is_set(Timer::KeepAlive), timers.next()), (false, None));
    }

    #[test]
    fn the_bits_stand_in_the_order_of_the_timers() {
        assert!(Timer::ALL.into_iter().enumerate().all(|(i, timer)| timer.bit() == 1 << i));
    }

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
