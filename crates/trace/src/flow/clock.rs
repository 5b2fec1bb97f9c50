//! Transit times of a distant sender's segments, by the clock of its timestamps.
//!
//! The value of the timestamp option grows by one with each tick of its sender (RFC 7323 §5.4). A segment that arrives
//! later than its stamp lets expect, compared with the fastest segment of late, has waited that much longer in queues.
//! So the time between an acknowledgment that a sender heard and the segment that it then sent is known, whatever the
//! path's queues hold: a sender answers an acknowledgment at once, and a timer expires whenever it expires.

use units::{Duration, Instant};

/// The clock of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct SenderClock {
    first: Option<Stamp>,
    tick: Option<Duration>,
    /// The fastest segment of the present window of time, and of the one before.
    fastest: [Option<i128>; 2],
    window_from: Instant,
    /// The shortest time from an acknowledgment to a segment that answers it, without waits in queues.
    shortest_answer: Option<Duration>,
}

/// A time of arrival, and the value of the timestamp.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    at: Instant,
    value: u32,
}

/// The time between an acknowledgment that a sender heard and its next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waited {
    /// Time that the sender waited.
    pub(super) time: Duration,
    /// Error of that time, because its clock has ticks.
    pub(super) exact_to: Duration,
}

impl SenderClock {
    /// A segment with this timestamp passed the point of observation.
    pub(super) fn observe(&mut self, at: Instant, value: u32) {
        let first = *self.first.get_or_insert(Stamp { at, value });
        let tick = tick(at.saturating_since(first.at), value.wrapping_sub(first.value));
        if tick != self.tick {
            *self = Self { first: self.first, tick, window_from: at, ..Self::default() };
        }
        if at.saturating_since(self.window_from) > WINDOW {
            (self.fastest, self.window_from) = ([None, self.fastest[0]], at);
        }
        if let Some(lag) = self.lag(at, value) {
            self.fastest[0] = Some(self.fastest[0].map_or(lag, |fastest| fastest.min(lag)));
        }
    }

    /// Time that the sender waited after receiving an acknowledgment that passed the point at `heard`, before it sent
    /// the segment that passed `at` this time; `None` as long as its clock is not known.
    pub(super) fn waited(&mut self, at: Instant, value: u32, heard: Instant) -> Option<Waited> {
        let answer = at.saturating_since(heard).saturating_sub(self.queued(at, value)?);
        let shortest = self.shortest_answer.map_or(answer, |shortest| shortest.min(answer));
        self.shortest_answer = Some(shortest);
        Some(Waited { time: answer.saturating_sub(shortest), exact_to: self.tick? * 2 })
    }

    /// The time that a segment took more than the fastest.
    fn queued(&self, at: Instant, value: u32) -> Option<Duration> {
        let fastest = self.fastest.iter().flatten().min()?;
        let longer = self.lag(at, value)? - fastest;
        Some(Duration::from_nanos(u64::try_from(longer).unwrap_or(0)))
    }

    /// Nanoseconds by which a segment came later than its stamp says, from any origin.
    fn lag(&self, at: Instant, value: u32) -> Option<i128> {
        let first = self.first?;
        let ticks = i128::from(value.wrapping_sub(first.value) as i32);
        Some(i128::from(at.as_nanos()) - ticks * i128::from(self.tick?.as_nanos()))
    }
}

/// The tick of a clock that counted this number in `elapsed`: one of the ticks of known operating systems.
fn tick(elapsed: Duration, count: u32) -> Option<Duration> {
    if elapsed < LEAST_ELAPSED || count == 0 || count > i32::MAX as u32 {
        return None;
    }
    let measured = elapsed / u64::from(count);
    let near = |tick: &Duration| measured.abs_diff(*tick) * SNAP <= *tick;
    TICKS.into_iter().find(near)
}

/// RFC 7323 §5.4 has ticks from 1 ms to 1 s. Linux has had 1, 4 and 10 ms, BSDs 1, 10 and 500, Windows 1, 10 and 100.
const TICKS: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
/// A measured tick counts as one of them within an eighth: queues move the first and the last segment.
const SNAP: u64 = 8;
/// Before, queues may hide the tick.
const LEAST_ELAPSED: Duration = Duration::from_secs(1);
/// Crystals are off by 100 ppm at most: 6 ms in a window.
const WINDOW: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// A clock of 10 ms, seen every 100 ms for five seconds over a path without queues.
    fn observed() -> SenderClock {
        let mut clock = SenderClock::default();
        for step in 0..50_u32 {
            clock.observe(at(u64::from(step) * 100), u32::MAX.wrapping_add(step * 10));
        }
        clock
    }

    #[test]
    fn the_wait_of_a_sender_does_not_depend_on_the_queues_after_it() {
        let mut clock = observed();
        let stamp = |sent_ms: u64| u32::MAX.wrapping_add((sent_ms / 10) as u32);
        // Heard 50 ms after it passed, and answered at once; then the same with 300 ms in a queue.
        assert_eq!(clock.waited(at(5050), stamp(5050), at(5000)).map(|one| one.time), Some(Duration::ZERO));
        assert_eq!(clock.waited(at(5350), stamp(5050), at(5000)).map(|one| one.time), Some(Duration::ZERO));
        // A timer that ran for 300 ms.
        let waited = clock.waited(at(5350), stamp(5350), at(5000)).map(|one| one.time);
        assert_eq!(waited, Some(Duration::from_millis(300)));
    }

    #[test]
    fn an_unknown_clock_says_nothing() {
        let mut clock = SenderClock::default();
        for step in 0..50_u32 {
            clock.observe(at(u64::from(step) * 100), step * 100_000);
        }
        assert_eq!(clock.waited(at(5050), 5_000_000, at(5000)), None);
    }
}
