//! The receiver of CCID 3 (RFC 4342 §6, §10): loss events by the window counter, and feedback once a round trip.
//!
//! The loss history is that of RFC 5348, whose clock here is the window counter: a loss event lasts for four quarters.

use units::{Duration, Instant};
use wire::dccp::DccpOption;
use workload::workloads::tfrc::{LossHistory, NewEvent, equation};

use super::super::ccid::{Arrival, Receiving};
use super::super::seqno::Seqno;
use super::window_counter::{MOST, Quarters};

#[derive(Debug)]
pub(in super::super) struct Receiver {
    history: LossHistory,
    newest: Option<Newest>,
    /// The quarter in which feedback was last sent.
    fed_back: Option<u64>,
    is_due: bool,
    /// The packet of the last measurement of the round trip, by its quarter, and the estimate.
    measured_from: (u64, Instant),
    rtt: Option<Duration>,
    /// Bytes of data since the last feedback with a rate of its own.
    since: Instant,
    received: u64,
    receive_rate: f64,
    size: u32,
    loss_events: u64,
}

/// The newest packet.
#[derive(Clone, Copy, Debug)]
struct Newest {
    seq: Seqno,
    /// Its number among data packets, and the time at which the newest of those arrived.
    number: u64,
    arrived: Instant,
    quarters: Quarters,
}

impl Receiver {
    pub(in super::super) fn new() -> Self {
        Self {
            history: LossHistory::new(false),
            newest: None,
            fed_back: None,
            is_due: false,
            measured_from: (0, Instant::START),
            rtt: None,
            since: Instant::START,
            received: 0,
            receive_rate: 0.0,
            size: 1,
            loss_events: 0,
        }
    }

    /// The number of a packet among those with data, and its quarter. NDP Counts show which of the packets before it
    /// had none (RFC 4340 §7.7).
    fn place(&mut self, now: Instant, packet: &Arrival) -> (u64, u64) {
        let Some(newest) = &mut self.newest else {
            let quarters = Quarters::new(packet.ccval);
            let number = u64::from(packet.data.is_some());
            self.newest = Some(Newest { seq: packet.seq, number, arrived: now, quarters });
            self.measured_from = (quarters.get(), now);
            return (number, quarters.get());
        };
        let ahead = packet.seq.since(newest.seq);
        if ahead <= 0 {
            return (newest.number.saturating_sub(ahead.unsigned_abs()), newest.quarters.get());
        }
        let between = ahead.unsigned_abs() - 1;
        newest.number += between.saturating_sub(packet.ndp_count) + u64::from(packet.data.is_some());
        newest.seq = packet.seq;
        if packet.data.is_some() {
            newest.arrived = now;
            let step = newest.quarters.advance(packet.ccval);
            let (number, quarter) = (newest.number, newest.quarters.get());
            self.measure(now, quarter, step);
            return (number, quarter);
        }
        (newest.number, newest.quarters.get())
    }

    /// §8.1: four quarters or more after a packet, a round trip has passed at the sender. A step of five may stand for
    /// a pause of any length.
    fn measure(&mut self, now: Instant, quarter: u64, step: u64) {
        let (from, at) = self.measured_from;
        let passed = quarter - from;
        if passed < ROUND_TRIP {
            return;
        }
        let sample = (now.saturating_since(at) * ROUND_TRIP / passed).max(Duration::from_nanos(1));
        if step < MOST || self.rtt.is_none() {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.mul_f64(0.9) + sample.mul_f64(0.1)));
        }
        self.measured_from = (quarter, now);
    }

    fn on_data(&mut self, now: Instant, number: u64, quarter: u64, data: u32) {
        if self.fed_back.is_none() && self.received == 0 {
            self.since = now;
        }
        (self.received, self.size) = (self.received + u64::from(data), self.size.max(data));
        let clock = Instant::from_nanos(quarter * QUARTER.as_nanos());
        let event = self.history.on_packet(clock, number, QUARTER * ROUND_TRIP);
        self.loss_events += u64::from(event.is_some());
        if event == Some(NewEvent::First) {
            let rate = self.present_rate(now).max(self.receive_rate);
            let interval = match self.rtt {
                // RFC 5348 §6.3.1: as if the equation had given the present rate.
                Some(rtt) => 1.0 / equation::loss_event_rate(f64::from(self.size), rtt, rate),
                None => number as f64,
            };
            self.history.push(interval);
        }
        let round_trip_passed = self.fed_back.is_none_or(|last| quarter >= last + ROUND_TRIP);
        self.is_due |= event.is_some() || round_trip_passed;
    }

    /// Bytes a second since the last feedback, over a round trip at least.
    fn present_rate(&self, now: Instant) -> f64 {
        let span = now.saturating_since(self.since).max(self.rtt.unwrap_or(Duration::ZERO));
        if span.is_zero() { 0.0 } else { self.received as f64 / span.as_secs_f64() }
    }
}

impl Receiving for Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Arrival) {
        let (number, quarter) = self.place(now, packet);
        // §6.1: a marked packet counts as lost; so it is not entered, and is missed when three later ones are.
        if let Some(data) = packet.data.filter(|_| !packet.is_marked) {
            self.on_data(now, number, quarter, data);
        }
    }

    fn owes_ack(&self) -> bool {
        self.is_due
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _: Instant) {}

    /// §8: Elapsed Time, Loss Event Rate and Receive Rate.
    fn options(&mut self, now: Instant, _: Seqno) -> Vec<DccpOption> {
        let Some(newest) = self.newest else { return Vec::new() };
        self.is_due = false;
        self.fed_back = Some(newest.quarters.get());
        // RFC 5348 §6.2: feedback that comes early, for a loss, repeats the last rate.
        let is_early = self.rtt.is_some_and(|rtt| now.saturating_since(self.since) * 2 < rtt);
        if !is_early || self.receive_rate <= 0.0 {
            self.receive_rate = self.present_rate(now);
            (self.since, self.received) = (now, 0);
        }
        let loss_event_rate = self.history.loss_event_rate();
        let inverse = if loss_event_rate > 0.0 { (1.0 / loss_event_rate).ceil() as u32 } else { u32::MAX };
        let elapsed = now.saturating_since(newest.arrived).as_nanos() / TEN_MICROSECONDS;
        vec![
            DccpOption::ElapsedTime(u32::try_from(elapsed).unwrap_or(u32::MAX)),
            DccpOption::LossEventRate(inverse),
            DccpOption::ReceiveRate(self.receive_rate as u32),
        ]
    }

    fn loss_events(&self) -> Option<u64> {
        Some(self.loss_events)
    }
}

/// Quarters of a round trip.
const ROUND_TRIP: u64 = 4;
/// A quarter by the clock of the loss history.
const QUARTER: Duration = Duration::from_secs(1);
const TEN_MICROSECONDS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// Packets each 10 ms of a sender with a round trip of 100 ms, without these; the packets after which there was
    /// feedback.
    fn received(count: u64, lost: &[u64]) -> (Receiver, Vec<u64>) {
        let (mut receiver, mut due) = (Receiver::new(), Vec::new());
        for number in (0..count).filter(|number| !lost.contains(number)) {
            let ccval = ((number * 10 / 25) % 16) as u8;
            let seq = Seqno::new(500 + number);
            let arrival = Arrival { seq, data: Some(1000), is_marked: false, ccval, ndp_count: 0 };
            receiver.on_packet(at(number * 10), &arrival);
            if receiver.owes_ack() {
                receiver.options(at(number * 10), Seqno::new(0));
                due.push(number);
            }
        }
        (receiver, due)
    }

    #[test]
    fn feedback_comes_once_a_round_trip_and_the_round_trip_is_the_senders() {
        let (receiver, due) = received(100, &[]);
        assert!((10..=11).contains(&due.len()) && due[0] == 0, "{due:?}");
        let rtt = receiver.rtt.unwrap().as_secs_f64();
        assert!((0.09..0.11).contains(&rtt), "{rtt}");
        assert!((receiver.receive_rate / 100_000.0 - 1.0).abs() < 0.15, "{}", receiver.receive_rate);
    }

    #[test]
    fn losses_within_four_quarters_are_one_event_and_are_reported_at_once() {
        let (receiver, due) = received(100, &[50, 55, 59, 70]);
        assert_eq!(receiver.loss_events, 2);
        assert!(due.contains(&53) && due.contains(&73), "{due:?}");
    }

    #[test]
    fn a_marked_packet_is_a_loss_and_a_missing_packet_without_data_is_none() {
        for (is_marked, ndp_count, events) in [(true, 0, 1), (false, 1, 0), (false, 0, 0)] {
            let mut receiver = Receiver::new();
            for number in 0..40 {
                // Number 20 is missing where the next packet says that it had no data.
                if number == 20 && ndp_count == 1 {
                    continue;
                }
                let arrival = Arrival {
                    seq: Seqno::new(number),
                    data: Some(1000),
                    is_marked: is_marked && number == 20,
                    ccval: ((number / 3) % 16) as u8,
                    ndp_count: if number == 21 { ndp_count } else { 0 },
                };
                receiver.on_packet(at(number * 10), &arrival);
            }
            assert_eq!(receiver.loss_events, events, "{is_marked} {ndp_count}");
        }
    }

    #[test]
    fn a_rate_without_losses_is_all_ones() {
        let (mut receiver, _) = received(10, &[]);
        let options = receiver.options(at(95), Seqno::new(0));
        assert_eq!(options[..2], [DccpOption::ElapsedTime(500), DccpOption::LossEventRate(u32::MAX)]);
    }
}
