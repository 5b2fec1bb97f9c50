//! The acknowledgments of a receiver: when one is due, and of which data.

use std::collections::VecDeque;

use units::{Instant, Seq};

use crate::ack::{AckPolicy, Data, Series, When};
use crate::timers::{Timer, Timers};

/// The acknowledgments due.
#[derive(Debug)]
pub(super) struct Acknowledgments {
    policy: Box<dyn AckPolicy>,
    due: AckDue,
    /// The acknowledgment numbers of the next ACKs, where the policy wants several at once.
    planned: VecDeque<Seq>,
    /// Last.ACK.sent (RFC 7323 §4.3).
    last_sent: Seq,
    /// Whether the policy observes the data that are sent.
    observes_replies: bool,
}

/// Whether an acknowledgment is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDue {
    /// No.
    No,
    /// Time at which the delayed-ACK timer expires; a segment sent before carries it.
    Delayed,
    /// Now.
    Now,
    /// Now, to report only that the window is open again.
    WindowUpdate,
}

impl Acknowledgments {
    pub(super) fn new(policy: Box<dyn AckPolicy>) -> Self {
        let observes_replies = policy.traits().observes_replies;
        let (due, planned) = (AckDue::No, VecDeque::new());
        Self { policy, due, planned, last_sent: Seq::default(), observes_replies }
    }

    /// The peer's stream begins at `next`.
    pub(super) const fn start(&mut self, next: Seq) {
        self.last_sent = next;
    }

    /// The peer does not poll: returns whether ACKs were waiting for that, and are now delayed as usual.
    pub(super) fn stop_awaiting_polls(&mut self) -> bool {
        let awaited = self.policy.traits().answers_polls;
        if awaited {
            self.policy = crate::ack::without_polls();
            self.observes_replies = self.policy.traits().observes_replies;
        }
        awaited
    }

    /// The peer requests an ACK for every `ratio` segments from now on.
    pub(super) fn on_request(&mut self, ratio: u8) {
        self.policy.on_request(ratio);
    }

    /// Whether one is due.
    #[inline]
    pub(super) const fn due(&self) -> AckDue {
        self.due
    }

    /// Sets whether one is due.
    #[inline]
    pub(super) const fn set_due(&mut self, due: AckDue) {
        self.due = due;
    }

    /// Last.ACK.sent.
    #[inline]
    pub(super) const fn last_sent(&self) -> Seq {
        self.last_sent
    }

    /// The window has opened for the data that are reported next.
    pub(super) fn on_window_opened(&mut self) {
        self.policy.on_window_opened();
    }

    /// The buffer is tight; whether the next ACK `narrows` the window.
    pub(super) fn on_tight_window(&mut self, narrows: bool) {
        self.policy.on_tight_window(narrows);
    }

    /// Data have arrived, with all data before `next` in order: asks the policy when to acknowledge them.
    #[inline]
    pub(super) fn on_data(&mut self, data: &Data, next: Seq, timers: &mut Timers) {
        match self.policy.on_data(data) {
            When::Now => self.due = AckDue::Now,
            When::Series(series) => {
                self.plan(series, next);
                self.due = AckDue::Now;
            }
            When::Within(wait) => {
                if self.due == AckDue::No {
                    self.due = AckDue::Delayed;
                    timers.set(Timer::DelayedAck, data.now + wait);
                }
            }
        }
    }

    /// Data of ours leave.
    #[inline]
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        if self.observes_replies {
            self.policy.on_data_sent(now);
        }
    }

    /// The handshake is done, and data of ours follow at once.
    pub(super) fn on_reply_expected(&mut self, now: Instant) {
        self.policy.on_reply_expected(now);
    }

    /// The data that have arrived came with the peer's SYN.
    pub(super) fn on_syn_data(&mut self) {
        self.policy.on_syn_data();
    }

    /// The delayed-ACK timer has expired.
    pub(super) fn on_wait_over(&mut self) {
        self.policy.on_wait_over();
        self.due = AckDue::Now;
    }

    /// The peer's FIN has arrived, alone and first, and may wait for a segment that carries its ACK.
    pub(super) fn on_fin(&mut self, now: Instant, timers: &mut Timers) {
        match self.policy.on_fin() {
            When::Within(wait) if self.due != AckDue::Now => {
                if self.due == AckDue::No {
                    timers.set(Timer::DelayedAck, now + wait);
                }
                self.due = AckDue::Delayed;
            }
            _ => self.due = AckDue::Now,
        }
    }

    /// Plans several ACKs for the data up to `next` that have arrived since the last one.
    fn plan(&mut self, series: Series, next: Seq) {
        self.planned.clear();
        match series {
            Series::Divided { parts } => {
                let whole = u64::from(next.since(self.last_sent));
                let parts = u64::from(parts).min(whole);
                let share = |part: u64| self.last_sent + (whole * part / parts.max(1)) as u32;
                self.planned.extend((1..parts).map(share));
            }
            Series::Repeated { copies } => self.planned.extend((0..copies).map(|_| next)),
            Series::Ahead { by } => {
                return self.planned.push_back(next + u32::try_from(by.0).unwrap_or(u32::MAX >> 1));
            }
        }
        self.planned.push_back(next);
    }

    /// The acknowledgment number of a segment that is sent now, where RCV.NXT is `next`. A segment with data
    /// acknowledges everything; a segment that is `alone` sends an ACK as the policy has planned.
    #[inline]
    pub(super) fn number(&mut self, next: Seq, alone: bool) -> Seq {
        if self.planned.is_empty() { next } else { self.planned_number(next, alone) }
    }

    #[cold]
    fn planned_number(&mut self, next: Seq, alone: bool) -> Seq {
        let ack = if alone { self.planned.pop_front() } else { self.planned.back().copied() };
        if !alone {
            self.planned.clear();
        }
        // The last one acknowledges everything: a FIN may have arrived after the ACKs were planned.
        let ack = ack.unwrap_or(next);
        if self.planned.is_empty() { ack.max(next) } else { ack }
    }

    /// A segment that acknowledges `ack` leaves: no other ACK is due, unless more are planned.
    #[inline]
    pub(super) fn on_sent(&mut self, ack: Seq, timers: &mut Timers) {
        let more = !self.planned.is_empty();
        self.due = if more { AckDue::Now } else { AckDue::No };
        self.last_sent = ack;
        self.policy.on_ack_sent();
        timers.clear(Timer::DelayedAck);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::{Bytes, Duration};

    use super::*;
    use crate::reassembly::Arrival;

    fn data(now: Instant) -> Data {
        let len = Bytes(1000);
        let (arrival, rtt) = (Arrival::InOrder, None);
        Data { now, len, arrival, gap: false, scattered: false, full: len, polled: false, rtt }
    }

    fn acks(policy: &str) -> Acknowledgments {
        let profile = json!({ "ack": policy });
        Acknowledgments::new(crate::Config::from_profile(&profile).expect("a profile").ack.build())
    }

    #[test]
    fn a_delayed_ack_is_sent_with_the_second_segment_and_ends_the_wait() {
        let (mut acks, mut timers) = (acks("delayed"), Timers::UNSET);
        let now = Instant::START + Duration::from_secs(1);
        acks.on_data(&data(now), Seq(1000), &mut timers);
        assert_eq!((acks.due(), timers.is_set(Timer::DelayedAck)), (AckDue::Delayed, true));
        acks.on_data(&data(now), Seq(2000), &mut timers);
        assert_eq!(acks.due(), AckDue::Now);
        let number = acks.number(Seq(2000), true);
        acks.on_sent(number, &mut timers);
        assert_eq!(
            (acks.due(), acks.last_sent(), timers.is_set(Timer::DelayedAck)),
            (AckDue::No, Seq(2000), false)
        );
    }

    #[test]
    fn a_divided_acknowledgment_is_due_until_its_last_part_is_sent() {
        let (mut acks, mut timers) = (acks("ack-division"), Timers::UNSET);
        acks.on_data(&data(Instant::START), Seq(1000), &mut timers);
        let mut numbers = vec![];
        while acks.due() == AckDue::Now {
            let number = acks.number(Seq(1000), true);
            acks.on_sent(number, &mut timers);
            numbers.push(number.0);
        }
        assert!(numbers.len() > 1 && numbers.is_sorted() && numbers.last() == Some(&1000), "{numbers:?}");
    }
}
