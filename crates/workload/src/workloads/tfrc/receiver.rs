//! The receiver of RFC 5348 §6: a loss event rate, a receive rate, and feedback once a round trip.

use units::{Bytes, Duration, Instant};

use super::equation;
use super::loss_history::{LossHistory, NewEvent};

/// Feedback of the receiver (§3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// Time at which the last packet that had arrived was sent.
    pub echo: Instant,
    /// Time since its arrival at the receiver.
    pub delay: Duration,
    /// Bytes a second that arrived since the last feedback.
    pub receive_rate: f64,
    /// The loss event rate.
    pub loss_event_rate: f64,
}

/// Header fields of a packet for the receiver (§3.2.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Time of transmission.
    pub sent: Instant,
    /// The round trip as the sender knows it; zero before it knows one.
    pub rtt: Duration,
}

#[derive(Debug)]
pub(super) struct Receiver {
    history: LossHistory,
    /// The segment size of the equation.
    segment: Bytes,
    newest: Option<(Header, Instant)>,
    /// Since the last feedback.
    since: Instant,
    received: Bytes,
    receive_rate: f64,
    /// Time at which the feedback timer runs out (§6.2).
    timer: Instant,
}

impl Receiver {
    pub fn new(segment: Bytes, small_packets: bool) -> Self {
        Self {
            history: LossHistory::new(small_packets),
            segment,
            newest: None,
            since: Instant::START,
            received: Bytes::ZERO,
            receive_rate: 0.0,
            timer: Instant::NEVER,
        }
    }

    pub const fn timer(&self) -> Instant {
        self.timer
    }

    /// A packet arrived: the feedback that it brings about, with the first packet (§6.3) or a new loss event (§6.1).
    pub fn on_packet(&mut self, now: Instant, number: u64, size: Bytes, header: Header) -> Option<Feedback> {
        let is_first = self.newest.is_none();
        if self.newest.is_none_or(|(newest, _)| header.sent >= newest.sent) {
            self.newest = Some((header, now));
        }
        self.received += size;
        if self.timer == Instant::NEVER && !self.rtt().is_zero() {
            // The first packets came before the sender knew a round trip to time the feedback by.
            self.timer = now + self.rtt();
        }
        let event = self.history.on_packet(now, number, header.rtt);
        if event == Some(NewEvent::First) {
            // §6.3.1: as if the equation had given the present rate.
            let rate = self.present_rate(now).max(self.receive_rate);
            self.history.push(1.0 / equation::loss_event_rate(self.segment.0 as f64, header.rtt, rate));
        }
        (is_first || event.is_some()).then(|| self.feedback(now))?
    }

    /// The timer ran out: feedback, unless nothing has arrived (§6.2).
    pub fn on_timer(&mut self, now: Instant) -> Option<Feedback> {
        if self.received.is_zero() {
            self.timer = now + self.rtt();
            return None;
        }
        self.feedback(now)
    }

    fn feedback(&mut self, now: Instant) -> Option<Feedback> {
        let (header, arrived) = self.newest?;
        // §6.2: over a round trip; feedback that comes earlier for a loss repeats the rate of the last.
        if (now.saturating_since(self.since) * 2 >= self.rtt() && !self.rtt().is_zero())
            || self.receive_rate <= 0.0
        {
            self.receive_rate = self.present_rate(now);
            (self.since, self.received) = (now, Bytes::ZERO);
        }
        self.timer = if header.rtt.is_zero() { Instant::NEVER } else { now + self.rtt() };
        Some(Feedback {
            echo: header.sent,
            delay: now - arrived,
            receive_rate: self.receive_rate,
            loss_event_rate: self.history.loss_event_rate(),
        })
    }

    /// Bytes a second since the last feedback, over a round trip at least.
    fn present_rate(&self, now: Instant) -> f64 {
        let span = now.saturating_since(self.since).max(self.rtt());
        if span.is_zero() { 0.0 } else { self.received.0 as f64 / span.as_secs_f64() }
    }

    fn rtt(&self) -> Duration {
        self.newest.map_or(Duration::ZERO, |(header, _)| header.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// Packets of 1000 bytes each 10 ms after 50 ms under way, without these; the feedback that they bring about.
    fn received(count: u64, lost: &[u64]) -> (Receiver, Vec<(u64, Feedback)>) {
        let mut receiver = Receiver::new(Bytes(1000), false);
        let mut feedback = vec![];
        for number in (0..count).filter(|number| !lost.contains(number)) {
            let sent = at(number * 10);
            while receiver.timer() <= sent + RTT / 2 {
                let due = receiver.timer();
                feedback.extend(receiver.on_timer(due).map(|report| (number, report)));
            }
            let header = Header { sent, rtt: RTT };
            let report = receiver.on_packet(sent + RTT / 2, number, Bytes(1000), header);
            feedback.extend(report.map(|report| (number, report)));
        }
        (receiver, feedback)
    }

    #[test]
    fn feedback_comes_with_the_first_packet_and_then_once_a_round_trip() {
        let (_, feedback) = received(100, &[]);
        assert!((10..=11).contains(&feedback.len()), "{}", feedback.len());
        let (_, last) = feedback[feedback.len() - 1];
        assert!((last.receive_rate / 100_000.0 - 1.0).abs() < 0.15, "{}", last.receive_rate);
        assert_eq!(last.loss_event_rate, 0.0);
    }

    #[test]
    fn feedback_goes_on_though_the_first_packet_knew_no_round_trip() {
        let mut receiver = Receiver::new(Bytes(1000), false);
        let header = |millis, rtt| Header { sent: at(millis), rtt };
        assert!(receiver.on_packet(at(50), 0, Bytes(1000), header(0, Duration::ZERO)).is_some());
        assert_eq!(receiver.timer(), Instant::NEVER);
        assert!(receiver.on_packet(at(150), 1, Bytes(1000), header(100, RTT)).is_none());
        assert_eq!(receiver.timer(), at(250));
        assert!(receiver.on_timer(at(250)).is_some());
    }

    #[test]
    fn the_first_loss_is_reported_at_once_as_if_the_equation_had_given_the_present_rate() {
        let (_, feedback) = received(100, &[83]);
        let (_, report) =
            feedback.iter().find(|(number, _)| *number == 86).expect("at the third packet after it");
        let rate = equation::rate(1000.0, RTT, report.loss_event_rate);
        assert!((rate / 100_000.0 - 1.0).abs() < 0.25, "{rate}");
    }
}
