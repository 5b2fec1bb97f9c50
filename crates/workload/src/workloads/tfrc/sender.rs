//! The sender of RFC 5348 §4: a rate from feedback, and less of it when feedback fails to come.

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant};

use super::equation;
use super::parameters::Parameters;
use super::receiver::Feedback;

/// The sender.
#[derive(Debug)]
pub struct Sender {
    parameters: Parameters,
    /// The allowed rate X in bytes a second.
    rate: f64,
    rtt: Option<Duration>,
    /// The smoothed square root of round trips, in √s (§4.5).
    root_mean: f64,
    /// X over what §4.5 makes of it.
    damping: f64,
    loss_event_rate: f64,
    /// Receive rates of the last two round trips (§4.3).
    receive_rates: VecDeque<(Instant, f64)>,
    /// Time at which slow start doubled last.
    doubled: Instant,
    nofeedback: Instant,
    next: Instant,
}

impl Sender {
    /// A packet a second, until there is feedback (§4.2).
    #[must_use]
    pub fn new(parameters: Parameters, start: Instant) -> Self {
        let rate = parameters.packet.0 as f64;
        Self {
            parameters,
            rate,
            rtt: None,
            root_mean: 0.0,
            damping: 1.0,
            loss_event_rate: 0.0,
            receive_rates: VecDeque::new(),
            doubled: start,
            nofeedback: start + FIRST_NOFEEDBACK,
            next: start,
        }
    }

    /// Time of the next packet, or at which the nofeedback timer runs out.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        self.next.min(self.nofeedback)
    }

    /// Time from which the next packet may be sent.
    #[must_use]
    pub const fn next_at(&self) -> Instant {
        self.next
    }

    /// Time at which the nofeedback timer runs out.
    #[must_use]
    pub const fn nofeedback_at(&self) -> Instant {
        self.nofeedback
    }

    /// The allowed rate X in bytes a second.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// The highest receive rate of the last two round trips, in bytes a second.
    #[must_use]
    pub fn receive_rate(&self) -> f64 {
        self.highest_receive_rate()
    }

    /// The loss event rate that the receiver reported last.
    #[must_use]
    pub const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// Whether a packet may be sent now.
    #[must_use]
    pub const fn is_due(&self, now: Instant) -> bool {
        self.next.as_nanos() <= now.as_nanos()
    }

    /// The round trip, zero before it is known.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.rtt.unwrap_or(Duration::ZERO)
    }

    /// A round trip is known before there is feedback, from the exchange that opened a connection: the sender begins
    /// with a window a round trip (§4.2).
    pub fn begin_with(&mut self, now: Instant, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1));
        self.rtt = Some(rtt);
        (self.rate, self.doubled, self.next) = (self.initial_rate(rtt), now, now);
        self.restart_nofeedback(now);
    }

    /// The sender sends again after it had nothing to send and all of its packets had feedback. Each nofeedback timer
    /// that has run out meanwhile halves the rate, down to the initial rate and no further (§4.4).
    pub fn end_idling(&mut self, now: Instant) {
        while self.nofeedback <= now {
            let least = self.rate.min(self.initial_rate(self.rtt().max(Duration::from_nanos(1))));
            if self.rate <= least {
                break;
            }
            self.rate = (self.rate / 2.0).max(least);
            self.restart_nofeedback(self.nofeedback);
        }
        self.restart_nofeedback(now);
    }

    /// A packet is sent; the next follows at the allowed rate (§4.6).
    pub fn on_sent(&mut self, now: Instant) {
        let mut gap = Duration::from_secs_f64(self.packet() / (self.rate * self.damping));
        if self.parameters.small_packets {
            gap = gap.max(LEAST_GAP);
        }
        self.next = now + gap.max(Duration::from_nanos(1));
    }

    /// §4.3.
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        let sample = now.saturating_since(feedback.echo).saturating_sub(feedback.delay);
        let is_first = self.rtt.is_none();
        let rtt = self.rtt.map_or(sample, |rtt| rtt.mul_f64(Q) + sample.mul_f64(1.0 - Q));
        let rtt = rtt.max(Duration::from_nanos(1));
        self.rtt = Some(rtt);
        self.loss_event_rate = feedback.loss_event_rate;
        if is_first {
            (self.rate, self.doubled) = (self.initial_rate(rtt), now);
        } else {
            self.keep_receive_rate(now, feedback.receive_rate, rtt);
            let limit = 2.0 * self.highest_receive_rate();
            if self.loss_event_rate > 0.0 {
                self.rate = self.equation().min(limit).max(self.least_rate());
            } else if now.saturating_since(self.doubled) >= rtt {
                self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(rtt));
                self.doubled = now;
            }
        }
        self.damp(sample);
        self.next = self.next.min(now + Duration::from_secs_f64(self.packet() / (self.rate * self.damping)));
        self.restart_nofeedback(now);
    }

    /// §4.4: half of what the receiver got last, or half of the rate while nothing is known.
    pub fn on_nofeedback(&mut self, now: Instant) {
        if self.rtt.is_none() || self.loss_event_rate <= 0.0 {
            self.rate = (self.rate / 2.0).max(self.least_rate());
        } else {
            let (received, equation) = (self.highest_receive_rate(), self.equation());
            let limit = if equation > 2.0 * received { received } else { equation / 2.0 };
            let limit = limit.max(self.least_rate());
            self.receive_rates = VecDeque::from([(now, limit / 2.0)]);
            self.rate = equation.min(limit).max(self.least_rate());
        }
        self.restart_nofeedback(now);
    }

    /// Whether the nofeedback timer has run out.
    #[must_use]
    pub const fn lacks_feedback(&self, now: Instant) -> bool {
        self.nofeedback.as_nanos() <= now.as_nanos()
    }

    /// §4.3 step 5: max(4R, 2s/X); two seconds before a round trip is known (§4.2).
    fn restart_nofeedback(&mut self, now: Instant) {
        let packets = Duration::from_secs_f64(2.0 * self.packet() / self.rate);
        let least = self.rtt.map_or(FIRST_NOFEEDBACK, |rtt| rtt * 4);
        self.nofeedback = now + least.max(packets);
    }

    fn keep_receive_rate(&mut self, now: Instant, rate: f64, rtt: Duration) {
        self.receive_rates.push_back((now, rate));
        while self.receive_rates.front().is_some_and(|(then, _)| now.saturating_since(*then) > rtt * 2) {
            self.receive_rates.pop_front();
        }
    }

    fn highest_receive_rate(&self) -> f64 {
        self.receive_rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Rate that the equation allows. For small packets it is that of a TCP with full segments, less the headers' share
    /// (RFC 4828 §4).
    fn equation(&self) -> f64 {
        let Parameters { packet, small_packets, .. } = self.parameters;
        let rate = equation::rate(self.parameters.segment().0 as f64, self.rtt(), self.loss_event_rate);
        let headers = if small_packets { packet.0 as f64 / (packet.0 as f64 + HEADERS) } else { 1.0 };
        rate * headers
    }

    /// §4.5: X·R_sqmean/√R, so that the rate falls as soon as a queue grows.
    fn damp(&mut self, sample: Duration) {
        let root = sample.as_secs_f64().sqrt();
        self.root_mean = if self.root_mean > 0.0 { Q2 * self.root_mean + (1.0 - Q2) * root } else { root };
        if self.parameters.damped && root > 0.0 {
            self.damping = self.root_mean / root;
        }
    }

    /// §4.2: W_init/R, W_init = min(4 s, max(2 s, 4380 bytes)).
    fn initial_rate(&self, rtt: Duration) -> f64 {
        let s = self.packet();
        (4.0 * s).min((2.0 * s).max(INITIAL_WINDOW)) / rtt.as_secs_f64()
    }

    /// A packet in 64 s (§4.3, `t_mbi`).
    fn least_rate(&self) -> f64 {
        self.packet() / LONGEST_GAP
    }

    fn packet(&self) -> f64 {
        let Bytes(bytes) = self.parameters.packet;
        bytes as f64
    }
}

/// §4.2: two seconds before a round trip is known.
const FIRST_NOFEEDBACK: Duration = Duration::from_secs(2);
/// §4.3: the weight of the old round trip.
const Q: f64 = 0.9;
/// §4.5: the weight of the old square root.
const Q2: f64 = 0.9;
/// §4.2, after RFC 3390, in bytes.
const INITIAL_WINDOW: f64 = 4380.0;
/// §4.3, `t_mbi`, in seconds.
const LONGEST_GAP: f64 = 64.0;
/// RFC 4828 §4: packets are 10 ms apart at least, and headers are 40 bytes.
const LEAST_GAP: Duration = Duration::from_millis(10);
const HEADERS: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn sender(small_packets: bool) -> Sender {
        let packet = Bytes(if small_packets { 200 } else { 1000 });
        let parameters = Parameters { packet, small_packets, damped: false, budget: None };
        Sender::new(parameters, Instant::START)
    }

    /// Feedback at this time over a round trip of 100 ms.
    fn feed_back(sender: &mut Sender, millis: u64, receive_rate: f64, loss_event_rate: f64) {
        let echo = at(millis - 100);
        let feedback = Feedback { echo, delay: Duration::ZERO, receive_rate, loss_event_rate };
        sender.on_feedback(at(millis), &feedback);
    }

    #[test]
    fn the_first_feedback_brings_a_window_a_round_trip_and_slow_start_doubles_it() {
        let mut sender = sender(false);
        assert_eq!(sender.rate, 1000.0);
        let mut rates = vec![];
        for (millis, received) in [(100, 0.0), (200, 40_000.0), (300, 80_000.0), (400, 60_000.0)] {
            feed_back(&mut sender, millis, received, 0.0);
            rates.push(sender.rate.round());
        }
        // 4000 bytes a round trip, doubled; then twice what arrived at most, the larger of two round trips.
        assert_eq!(rates, [40_000.0, 80_000.0, 160_000.0, 160_000.0]);
    }

    #[test]
    fn with_losses_the_rate_is_the_equations_but_twice_what_arrives_at_most() {
        for (received, limited) in [(1e9, false), (20_000.0, true)] {
            let mut sender = sender(false);
            feed_back(&mut sender, 100, 0.0, 0.0);
            feed_back(&mut sender, 200, received, 0.01);
            let expected = if limited { 40_000.0 } else { equation::rate(1000.0, sender.rtt(), 0.01) };
            assert!((sender.rate / expected - 1.0).abs() < 1e-9, "{} for {expected}", sender.rate);
        }
    }

    #[test]
    fn without_feedback_the_rate_halves_each_time_the_timer_runs_out() {
        let mut sender = sender(false);
        feed_back(&mut sender, 100, 0.0, 0.0);
        feed_back(&mut sender, 200, 1e9, 0.01);
        let before = sender.rate;
        let mut rates = vec![];
        for _ in 0..3 {
            let now = sender.nofeedback;
            assert!(sender.lacks_feedback(now));
            sender.on_nofeedback(now);
            rates.push((before / sender.rate).round());
        }
        assert_eq!(rates, [2.0, 4.0, 8.0]);
    }

    #[test]
    fn a_round_trip_known_beforehand_gives_a_window_a_round_trip_at_once() {
        let mut sender = sender(false);
        sender.begin_with(at(100), Duration::from_millis(100));
        assert_eq!((sender.rate, sender.next_at()), (40_000.0, at(100)));
        feed_back(&mut sender, 200, 40_000.0, 0.0);
        assert_eq!(sender.rate, 80_000.0);
    }

    #[test]
    fn silence_of_the_program_lowers_the_rate_to_the_initial_rate_and_no_further() {
        for (silent_ms, rate) in [(200, 320_000.0), (500, 160_000.0), (60_000, 40_000.0)] {
            let mut sender = sender(false);
            feed_back(&mut sender, 100, 0.0, 0.0);
            (sender.rate, sender.nofeedback) = (320_000.0, at(500));
            sender.end_idling(at(100 + silent_ms));
            assert_eq!(sender.rate, rate, "{silent_ms}");
            assert!(sender.nofeedback > at(100 + silent_ms));
        }
    }

    #[test]
    fn small_packets_have_the_rate_of_full_segments_less_their_headers_and_ten_milliseconds_between_them() {
        let mut sender = sender(true);
        feed_back(&mut sender, 100, 0.0, 0.0);
        feed_back(&mut sender, 200, 1e9, 0.01);
        let full = equation::rate(1460.0, sender.rtt(), 0.01);
        assert!((sender.rate / (full * 200.0 / 240.0) - 1.0).abs() < 1e-9, "{}", sender.rate);
        sender.next = at(200);
        sender.on_sent(at(200));
        assert_eq!(sender.next, at(210));
    }

    #[test]
    fn a_round_trip_above_the_average_slows_the_damped_sender_at_once() {
        let mut sender = sender(false);
        sender.parameters.damped = true;
        feed_back(&mut sender, 100, 0.0, 0.0);
        sender.damp(Duration::from_millis(400));
        // √0.1 is 0.316, of √0.4 = 0.632 a tenth comes in: 0.348 / 0.632.
        assert!((sender.damping - 0.55).abs() < 1e-9, "{}", sender.damping);
    }
}
