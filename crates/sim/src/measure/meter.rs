//! Activity of one direction of a link over time: for how long it sent, and how long its queue was for how long. The
//! link itself counts packets; this reckons with times.

use link::Event;
use units::{Duration, Instant};

use super::reading::LinkTimes;

/// Adds up times, from the events of one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkMeter {
    busy: Duration,
    /// Since when the transmitter has been sending.
    sending: Option<Instant>,
    length: u32,
    /// Since when the queue has had that length.
    since: Instant,
    /// For how long the queue had each length, in packets.
    at_length: Vec<Duration>,
}

impl LinkMeter {
    pub(crate) fn new() -> Self {
        Self {
            busy: Duration::ZERO,
            sending: None,
            length: 0,
            since: Instant::START,
            at_length: vec![Duration::ZERO],
        }
    }

    #[inline]
    pub(crate) fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::TransmissionStarted => self.sending = Some(now),
            Event::TransmissionEnded | Event::TransmissionAborted => {
                self.busy = self.busy(now);
                self.sending = None;
            }
            Event::Queued { behind, .. } => self.on_length(now, behind + 1),
            Event::LeftQueue { left, .. } => self.on_length(now, *left),
            // A packet that was refused left the queue as it was; one dropped from it did not.
            Event::QueueDropped { behind, .. } => self.on_length(now, *behind),
            _ => {}
        }
    }

    /// Use of time by the direction up to `now`.
    pub(crate) fn times(&self, now: Instant) -> LinkTimes {
        LinkTimes { busy: self.busy(now), at_length: self.at_length(now) }
    }

    /// Time for which the transmitter has sent up to `now`.
    fn busy(&self, now: Instant) -> Duration {
        let since = self.sending.unwrap_or(now);
        self.busy + now.saturating_since(since)
    }

    /// For how long the queue had each length by `now`, in packets from 0 on.
    fn at_length(&self, now: Instant) -> Vec<Duration> {
        let mut times = self.at_length.clone();
        times[self.length as usize] += now.saturating_since(self.since);
        times
    }

    #[inline]
    fn on_length(&mut self, now: Instant, length: u32) {
        if length == self.length {
            return;
        }
        self.at_length[self.length as usize] += now.saturating_since(self.since);
        (self.length, self.since) = (length, now);
        if self.at_length.len() <= length as usize {
            self.at_length.resize(length as usize + 1, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn queued(behind: u32) -> Event {
        Event::Queued { behind, behind_bytes: Bytes::ZERO, average: None }
    }

    fn left(left: u32) -> Event {
        Event::LeftQueue { waited: Duration::ZERO, left, left_bytes: Bytes::ZERO }
    }

    #[test]
    fn a_transmission_counts_as_far_as_it_has_gone() {
        let mut meter = LinkMeter::new();
        meter.on_event(at(10), &Event::TransmissionStarted);
        assert_eq!(meter.busy(at(14)), Duration::from_millis(4));
        meter.on_event(at(20), &Event::TransmissionEnded);
        assert_eq!(meter.busy(at(100)), Duration::from_millis(10));
    }

    #[test]
    fn an_aborted_transmission_counts_until_it_was_broken_off() {
        let mut meter = LinkMeter::new();
        meter.on_event(at(10), &Event::TransmissionStarted);
        meter.on_event(at(14), &Event::TransmissionAborted);
        assert_eq!(meter.busy(at(100)), Duration::from_millis(4));
    }

    #[test]
    fn each_length_of_the_queue_has_the_time_that_it_stood() {
        let mut meter = LinkMeter::new();
        meter.on_event(at(10), &queued(0));
        meter.on_event(at(30), &queued(1));
        meter.on_event(at(60), &left(1));
        meter.on_event(at(100), &left(0));
        let times: Vec<u64> = meter.at_length(at(150)).iter().map(|t| t.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [60, 60, 30]);
    }
}
