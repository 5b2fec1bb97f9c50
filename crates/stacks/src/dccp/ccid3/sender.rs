//! The sender of CCID 3 (RFC 4342 §5): data packets at TFRC's rate.

use std::collections::VecDeque;

use tcp::{Decision, ModelRecord};
use units::{Bytes, Duration, Instant, Rate};
use wire::dccp::DccpOption;
use workload::workloads::tfrc;

use super::super::ccid::{Acknowledgment, Event, SenderState, Sending};
use super::super::seqno::Seqno;
use super::window_counter::WindowCounter;

#[derive(Debug)]
pub(in super::super) struct Sender {
    size: u64,
    rate: tfrc::Sender,
    counter: WindowCounter,
    /// Packets since the last acknowledged one, and the times at which they were sent.
    sent: VecDeque<(Seqno, Instant)>,
    /// Whether something was sent since the last feedback.
    awaits_feedback: bool,
}

impl Sender {
    /// A sender of packets with `size` bytes of data, which begins now.
    pub(in super::super) fn new(size: u32, now: Instant) -> Self {
        let size = u64::from(size.max(1));
        let parameters =
            tfrc::Parameters { packet: Bytes(size), small_packets: false, damped: false, budget: None };
        Self {
            size,
            rate: tfrc::Sender::new(parameters, now),
            counter: WindowCounter::default(),
            sent: VecDeque::new(),
            awaits_feedback: false,
        }
    }

    /// The round trip of the handshake.
    pub(in super::super) fn begin_with(&mut self, now: Instant, rtt: Duration) {
        self.rate.begin_with(now, rtt);
    }

    /// The time at which the newest packet up to `acked` was sent, and how many packets are acknowledged anew.
    fn echo(&mut self, acked: Seqno) -> Option<(Instant, u64)> {
        let later = self.sent.partition_point(|(seq, _)| !seq.is_after(acked));
        let (_, at) = *self.sent.get(later.checked_sub(1)?)?;
        // The newest stays: an acknowledgment may come again for it.
        self.sent.drain(..later - 1);
        Some((at, later as u64 - 1))
    }

    fn in_bytes(&self, bytes_per_second: f64) -> Bytes {
        Bytes((bytes_per_second * self.rate.rtt().as_secs_f64()) as u64)
    }
}

impl Sending for Sender {
    fn may_send(&self, now: Instant) -> bool {
        self.rate.is_due(now)
    }

    fn poll_timeout(&self, has_data: bool) -> Option<Instant> {
        let next = has_data.then(|| self.rate.next_at());
        let nofeedback = self.awaits_feedback.then(|| self.rate.nofeedback_at());
        next.into_iter().chain(nofeedback).min()
    }

    fn on_sent(&mut self, now: Instant, seq: Seqno) {
        if !self.awaits_feedback {
            self.rate.end_idling(now);
        }
        self.awaits_feedback = true;
        self.sent.push_back((seq, now));
        self.rate.on_sent(now);
    }

    fn ccval(&mut self, now: Instant) -> u8 {
        self.counter.at(now, self.rate.rtt())
    }

    fn on_ack(&mut self, now: Instant, ack: &Acknowledgment<'_>) -> Option<Event> {
        let report = Report::read(ack.options)?;
        let (echo, delivered) = self.echo(ack.acked)?;
        let before = self.rate.loss_event_rate();
        let feedback = tfrc::Feedback {
            echo,
            delay: report.elapsed,
            receive_rate: report.receive_rate,
            loss_event_rate: report.loss_event_rate,
        };
        self.rate.on_feedback(now, &feedback);
        self.awaits_feedback = self.sent.len() > 1;
        let (decision, reason) = if report.loss_event_rate > before {
            (Decision::Congestion, "the receiver reports more loss events")
        } else {
            (Decision::Ack, "")
        };
        Some(Event { decision, reason, packets: delivered, delivered })
    }

    fn on_timeout(&mut self, now: Instant) -> Option<Event> {
        if !self.awaits_feedback || !self.rate.lacks_feedback(now) {
            return None;
        }
        self.rate.on_nofeedback(now);
        let reason = "no feedback came in time";
        Some(Event { decision: Decision::Timeout, reason, packets: 0, delivered: 0 })
    }

    fn packets_a_round_trip(&self) -> u64 {
        self.in_bytes(self.rate.rate()).0 / self.size
    }

    fn state(&self) -> SenderState {
        let loss = self.rate.loss_event_rate();
        let bit_rate = |bytes: f64| Rate::from_bits_per_sec((8.0 * bytes) as u64);
        let state = if loss > 0.0 { "congestion_avoidance" } else { "slow_start" };
        let rtt = self.rate.rtt();
        SenderState {
            cwnd: self.in_bytes(self.rate.rate()),
            ssthresh: Bytes::MAX,
            flight: Bytes(self.sent.len().saturating_sub(1) as u64 * self.size),
            srtt: (!rtt.is_zero()).then_some(rtt),
            rttvar: None,
            timer: (rtt * 4).max(Duration::from_secs_f64(2.0 * self.size as f64 / self.rate.rate())),
            phase: state,
            model: Some(ModelRecord {
                state: if loss > 0.0 { "equation" } else { "slow_start" },
                bandwidth: bit_rate(self.rate.receive_rate()),
                pacing_rate: bit_rate(self.rate.rate()),
            }),
        }
    }
}

/// The options of feedback (§8).
struct Report {
    elapsed: Duration,
    receive_rate: f64,
    loss_event_rate: f64,
}

impl Report {
    /// None if a part is missing: then it is another acknowledgment.
    fn read(options: &[DccpOption]) -> Option<Self> {
        let find = |wanted: fn(&DccpOption) -> Option<u32>| options.iter().find_map(wanted);
        let elapsed = find(|option| match option {
            DccpOption::ElapsedTime(time) => Some(*time),
            _ => None,
        })?;
        let receive_rate = find(|option| match option {
            DccpOption::ReceiveRate(rate) => Some(*rate),
            _ => None,
        })?;
        let inverse = find(|option| match option {
            DccpOption::LossEventRate(inverse) => Some(*inverse),
            _ => None,
        })?;
        Some(Self {
            elapsed: Duration::from_micros(10) * u64::from(elapsed),
            receive_rate: f64::from(receive_rate),
            // §8.5: all ones for a rate of zero.
            loss_event_rate: if inverse == u32::MAX { 0.0 } else { 1.0 / f64::from(inverse.max(1)) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn feedback(sender: &mut Sender, millis: u64, acked: u64, inverse: u32) -> Option<Event> {
        let options = [
            DccpOption::ElapsedTime(100),
            DccpOption::LossEventRate(inverse),
            DccpOption::ReceiveRate(1_000_000),
        ];
        let ack = Acknowledgment { seq: Seqno::new(1), acked: Seqno::new(acked), options: &options };
        sender.on_ack(at(millis), &ack)
    }

    #[test]
    fn feedback_sets_the_rate_of_the_equation_and_more_losses_are_congestion() {
        let mut sender = Sender::new(1000, at(0));
        sender.begin_with(at(0), Duration::from_millis(100));
        for place in 0..4 {
            assert!(sender.may_send(at(place * 25)), "{place}");
            sender.on_sent(at(place * 25), Seqno::new(place));
            assert!(!sender.may_send(at(place * 25)));
        }
        let event = feedback(&mut sender, 126, 1, u32::MAX).unwrap();
        assert_eq!((event.decision, event.delivered), (Decision::Ack, 1));
        let event = feedback(&mut sender, 176, 3, 100).unwrap();
        assert_eq!(event.decision, Decision::Congestion);
        // Samples of the round trip: 126 − 25 − 1 ms, then 176 − 75 − 1 ms.
        assert_eq!(sender.state().srtt, Some(Duration::from_millis(100)));
        let expected = tfrc::equation::rate(1000.0, Duration::from_millis(100), 0.01);
        assert!((sender.rate.rate() / expected - 1.0).abs() < 1e-6, "{}", sender.rate.rate());
        assert!(sender.poll_timeout(false).is_none(), "all of it has had feedback");
    }

    #[test]
    fn without_feedback_the_rate_falls_and_without_data_no_timer_runs() {
        let mut sender = Sender::new(1000, at(0));
        sender.begin_with(at(0), Duration::from_millis(100));
        assert_eq!(sender.poll_timeout(false), None);
        assert_eq!(sender.poll_timeout(true), Some(at(0)));
        sender.on_sent(at(0), Seqno::new(1));
        assert_eq!(sender.poll_timeout(false), Some(at(400)));
        let before = sender.rate.rate();
        assert_eq!(sender.on_timeout(at(400)).unwrap().decision, Decision::Timeout);
        assert!((sender.rate.rate() * 2.0 - before).abs() < 1e-9);
    }

    #[test]
    fn an_acknowledgment_without_the_options_is_no_feedback() {
        let mut sender = Sender::new(1000, at(0));
        sender.on_sent(at(0), Seqno::new(1));
        let ack = Acknowledgment { seq: Seqno::new(1), acked: Seqno::new(1), options: &[] };
        assert!(sender.on_ack(at(50), &ack).is_none());
    }
}
