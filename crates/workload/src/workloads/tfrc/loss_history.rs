//! The receiver's history of loss events (RFC 5348 §5): which packets are lost, which losses are one event, and the
//! loss event rate as the inverse of the weighted mean of the last eight intervals between events.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// Packets that have arrived, and losses.
#[derive(Debug, Default)]
pub struct LossHistory {
    /// The highest number that arrived, and when.
    newest: Option<(u64, Instant)>,
    /// Numbers below it that have not arrived.
    missing: VecDeque<Missing>,
    event: Option<LossEvent>,
    /// Lengths of the intervals between loss events, in packets, the youngest first; the present one is not among them.
    intervals: VecDeque<f64>,
    /// Whether short intervals count each of their losses (RFC 4828 §3).
    small_packets: bool,
}

/// A packet that has not arrived though later ones have.
#[derive(Debug)]
struct Missing {
    number: u64,
    /// Packets with higher numbers that have arrived.
    later: u32,
    /// The packets that arrived on either side of the gap.
    before: (u64, Instant),
    after: (u64, Instant),
}

/// The present loss event.
#[derive(Debug)]
struct LossEvent {
    first: u64,
    began: Instant,
    losses: u32,
}

/// A loss that begins a new loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewEvent {
    /// The first one of all: there is no interval before it yet (§6.3.1).
    First,
    /// One more.
    Next,
}

impl LossHistory {
    /// A history without packets; whether short intervals count each of their losses (RFC 4828 §3).
    #[must_use]
    pub fn new(small_packets: bool) -> Self {
        Self { small_packets, ..Self::default() }
    }

    /// A packet has arrived, for the first time; `rtt` is the round trip as the sender knows it. Whether losses that it
    /// confirms begin a loss event.
    pub fn on_packet(&mut self, now: Instant, number: u64, rtt: Duration) -> Option<NewEvent> {
        let Some(newest) = self.newest else {
            self.newest = Some((number, now));
            return None;
        };
        if number < newest.0 {
            self.missing.retain(|missing| missing.number != number);
            return None;
        }
        let after = (number, now);
        let gap = newest.0 + 1..number;
        self.missing.extend(gap.map(|number| Missing { number, later: 0, before: newest, after }));
        self.newest = Some(after);
        self.missing.iter_mut().for_each(|missing| missing.later += 1);
        let mut new_event = None;
        while self.missing.front().is_some_and(|missing| missing.later >= NDUPACK) {
            let lost = self.missing.pop_front().expect("it was looked at");
            new_event = self.on_loss(&lost, rtt).or(new_event);
        }
        new_event
    }

    /// §5.2: a loss within a round trip of the beginning of the last event belongs to it.
    fn on_loss(&mut self, lost: &Missing, rtt: Duration) -> Option<NewEvent> {
        let began = lost.time();
        match &mut self.event {
            Some(event) if began <= event.began + rtt => {
                event.losses += 1;
                return None;
            }
            Some(event) => {
                let mut length = (lost.number - event.first) as f64;
                if self.small_packets && began <= event.began + rtt * 2 {
                    // RFC 4828 §3: a short interval is as many as it has losses.
                    length /= f64::from(event.losses);
                }
                self.push(length);
            }
            None => {}
        }
        let is_first = self.event.replace(LossEvent { first: lost.number, began, losses: 1 }).is_none();
        Some(if is_first { NewEvent::First } else { NewEvent::Next })
    }

    /// A closed interval, by its number of packets: also the interval that §6.3.1 puts before the first loss event.
    pub fn push(&mut self, length: f64) {
        self.intervals.push_front(length.max(1.0));
        self.intervals.truncate(WEIGHTS.len());
    }

    /// The loss event rate, 0 before the first loss (§5.4). The present interval, which is not over, counts where it
    /// makes the mean larger.
    #[must_use]
    pub fn loss_event_rate(&self) -> f64 {
        let (Some(event), Some((newest, _))) = (&self.event, self.newest) else { return 0.0 };
        let present = (newest - event.first + 1) as f64;
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let pairs = intervals.zip(WEIGHTS);
            let (sum, weights) =
                pairs.fold((0.0, 0.0), |(sum, of), (length, weight)| (sum + length * weight, of + weight));
            if weights > 0.0 { sum / weights } else { 0.0 }
        };
        let closed = self.intervals.len().max(1);
        let with_present =
            mean(&mut std::iter::once(present).chain(self.intervals.iter().copied()).take(closed));
        let without = mean(&mut self.intervals.iter().copied());
        1.0 / with_present.max(without).max(1.0)
    }
}

impl Missing {
    /// Time at which it would have arrived, between its neighbours (§5.2).
    fn time(&self) -> Instant {
        let part = (self.number - self.before.0) as f64 / (self.after.0 - self.before.0) as f64;
        self.before.1 + (self.after.1 - self.before.1).mul_f64(part)
    }
}

/// §5.1: a packet is lost when three with higher numbers have arrived.
const NDUPACK: u32 = 3;
/// §5.4: the weights of the last eight intervals.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Packets each 10 ms, without these; the new loss events with the numbers at which they were found.
    fn history(count: u64, lost: &[u64], small: bool) -> (LossHistory, Vec<(u64, NewEvent)>) {
        let mut history = LossHistory::new(small);
        let mut events = vec![];
        for number in (0..count).filter(|number| !lost.contains(number)) {
            let now = Instant::START + Duration::from_millis(10) * number;
            events.extend(history.on_packet(now, number, RTT).map(|event| (number, event)));
        }
        (history, events)
    }

    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        assert_eq!(history(24, &[20], false).1, [(23, NewEvent::First)]);
        assert_eq!(history(23, &[20], false).1, []);
        let (mut late, _) = history(23, &[20], false);
        let now = Instant::START + Duration::from_secs(1);
        assert_eq!((late.on_packet(now, 20, RTT), late.on_packet(now, 23, RTT)), (None, None));
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let (_, events) = history(60, &[20, 25, 30, 31, 45], false);
        // 30 is a round trip after 20, and still of its event; 31 is not.
        assert_eq!(events, [(23, NewEvent::First), (34, NewEvent::Next), (48, NewEvent::Next)]);
    }

    #[test]
    fn the_rate_is_the_inverse_of_the_weighted_mean_of_eight_intervals() {
        let lost: Vec<u64> = (1..=9).map(|event| event * 100).collect();
        let (mut history, _) = history(950, &lost, false);
        // Eight closed intervals of 100; the present one has 50 and would only make the mean smaller.
        assert!((history.loss_event_rate() - 0.01).abs() < 1e-12);
        history.push(400.0);
        // (400 + 3·100 + 0.8·100 + 0.6·100 + 0.4·100 + 0.2·100) / 6.
        assert!((history.loss_event_rate() - 1.0 / 150.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_time_without_a_loss_lowers_the_rate() {
        let (history, _) = history(1000, &[100, 200], false);
        // One closed interval of 100, the present of 800.
        assert!((history.loss_event_rate() - 1.0 / 800.0).abs() < 1e-12);
    }

    #[test]
    fn of_small_packets_a_short_interval_counts_each_loss() {
        let lost = [20, 22, 24, 35];
        for (small, length) in [(false, 15.0), (true, 5.0)] {
            assert_eq!(history(40, &lost, small).0.intervals[0], length);
        }
    }
}
