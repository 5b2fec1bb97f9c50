//! The sender of CCID 2 (RFC 4341 §5): a window in packets, which it halves once a window for losses and marks.

use std::collections::VecDeque;

use tcp::Decision;
use units::{Bytes, Duration, Instant};
use wire::dccp::DccpOption;

use super::super::ack_vector::{PacketState, Run, runs};
use super::super::ccid::{Acknowledgment, Event, SenderState, Sending};
use super::super::rtt::Estimator;
use super::super::seqno::Seqno;
use super::ack_ratio::AckRatio;

#[derive(Debug)]
pub(in super::super) struct Sender {
    /// Bytes of data in a packet, for the records alone: the window counts packets.
    size: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    /// Packets that are neither acknowledged nor lost.
    pipe: u64,
    /// Data packets from the first that is neither, by their numbers.
    sent: VecDeque<Sent>,
    rtt: Estimator,
    timer: Option<Instant>,
    /// Acknowledged packets that have not made the window grow yet.
    credit: u64,
    /// The newest packet when the window was last reduced: losses up to it are of the same congestion.
    reduced_at: Option<Seqno>,
    /// Packets acknowledged in the present window of data, for the Ack Ratio.
    acked_in_window: u64,
    ack_ratio: AckRatio,
    /// Data packets since the last acknowledgment of acknowledgments.
    since_ack_of_ack: u64,
    last_sent: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: Seqno,
    at: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Acknowledged,
    Lost,
}

/// What an acknowledgment reported.
#[derive(Debug, Default)]
struct News {
    acknowledged: u64,
    lost: u64,
    /// The newest packet that was lost, and the newest that was marked.
    lost_seq: Option<Seqno>,
    marked_seq: Option<Seqno>,
    rtt: Option<Duration>,
}

impl Sender {
    /// A sender of packets with `size` bytes of data, with the Ack Ratio that a user gave, if one did.
    pub(in super::super) fn new(size: u32, ack_ratio: Option<u16>) -> Self {
        let size = u64::from(size.max(1));
        Self {
            size,
            cwnd: initial_window(size),
            ssthresh: None,
            pipe: 0,
            sent: VecDeque::new(),
            rtt: Estimator::default(),
            timer: None,
            credit: 0,
            reduced_at: None,
            acked_in_window: 0,
            ack_ratio: AckRatio::new(ack_ratio),
            since_ack_of_ack: 0,
            last_sent: None,
        }
    }

    /// The round trip of the handshake.
    pub(in super::super) fn begin_with(&mut self, rtt: Duration) {
        self.rtt.on_sample(rtt);
    }

    /// Marks the packets that the vector reports, from the newest downwards.
    fn mark(&mut self, now: Instant, acked: Seqno, runs: impl Iterator<Item = Run>) -> News {
        let mut news = News::default();
        let mut place = self.sent.len();
        for run in runs {
            while place > 0 && self.sent[place - 1].seq.is_after(run.newest) {
                place -= 1;
            }
            while place > 0 && self.sent[place - 1].seq.since(run.oldest) >= 0 {
                place -= 1;
                let sent = &mut self.sent[place];
                if run.state != PacketState::Missing && sent.state == State::UnderWay {
                    sent.state = State::Acknowledged;
                    news.acknowledged += 1;
                    if run.state == PacketState::Marked {
                        news.marked_seq.get_or_insert(sent.seq);
                    }
                    if sent.seq == acked {
                        news.rtt = Some(now.saturating_since(sent.at));
                    }
                }
            }
            if place == 0 {
                break;
            }
        }
        news
    }

    /// §5: a packet is lost when three sent after it have been acknowledged.
    fn find_losses(&mut self, news: &mut News) {
        let mut later = 0;
        for sent in self.sent.iter_mut().rev() {
            match sent.state {
                State::Acknowledged => later += 1,
                State::UnderWay if later >= NUMDUPACK => {
                    sent.state = State::Lost;
                    news.lost += 1;
                    news.lost_seq.get_or_insert(sent.seq);
                }
                _ => {}
            }
        }
        while self.sent.front().is_some_and(|sent| sent.state != State::UnderWay) {
            self.sent.pop_front();
        }
    }

    /// The answer to losses and marks: half the window, once for each window of data.
    fn reduce(&mut self, news: &News, newest: Option<Seqno>) -> Option<Event> {
        let is_new = |seq: &Seqno| self.reduced_at.is_none_or(|at| seq.is_after(at));
        let (lost, marked) = (news.lost_seq.filter(is_new), news.marked_seq.filter(is_new));
        if lost.is_none() && marked.is_none() {
            return None;
        }
        self.cwnd = (self.cwnd / 2).max(LEAST_WINDOW);
        self.ssthresh = Some(self.cwnd);
        (self.reduced_at, self.credit) = (newest, 0);
        self.ack_ratio.fit(self.cwnd);
        let (decision, reason) = match lost {
            Some(_) => (Decision::Congestion, "packets lost, as three later ones were acknowledged"),
            None => (Decision::Mark, "congestion marks in the Ack Vector"),
        };
        let packets = if lost.is_some() { news.lost } else { 1 };
        Some(Event { decision, reason, packets, delivered: news.acknowledged })
    }

    /// §5: in slow start a packet for every two that are acknowledged, of those that the Ack Ratio lets one
    /// acknowledgment cover; then a packet for each window.
    fn grow(&mut self, acknowledged: u64) {
        if self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh) {
            self.credit += acknowledged.min(u64::from(self.ack_ratio.get()));
            self.cwnd += self.credit / 2;
            self.credit %= 2;
        } else {
            self.credit += acknowledged;
            if self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd += 1;
            }
        }
    }

    fn count_window(&mut self, acknowledged: u64) {
        self.acked_in_window += acknowledged;
        if self.acked_in_window >= self.cwnd {
            self.acked_in_window = 0;
            self.ack_ratio.on_window(self.cwnd);
        }
    }

    const fn packets(&self, count: u64) -> Bytes {
        Bytes(count * self.size)
    }
}

impl Sending for Sender {
    fn may_send(&self, _: Instant) -> bool {
        self.pipe < self.cwnd
    }

    fn poll_timeout(&self, _: bool) -> Option<Instant> {
        self.timer
    }

    fn on_sent(&mut self, now: Instant, seq: Seqno) {
        // §5.1, after RFC 2861: a window that was not used for a timer's length is a restart window again.
        if self.pipe == 0 && self.last_sent.is_some_and(|last| now.saturating_since(last) > self.rtt.timer())
        {
            self.ssthresh = Some(self.ssthresh.unwrap_or(0).max(self.cwnd * 3 / 4));
            self.cwnd = self.cwnd.min(initial_window(self.size));
        }
        self.sent.push_back(Sent { seq, at: now, state: State::UnderWay });
        self.pipe += 1;
        self.since_ack_of_ack += 1;
        self.last_sent = Some(now);
        self.timer.get_or_insert(now + self.rtt.timer());
    }

    fn on_ack(&mut self, now: Instant, ack: &Acknowledgment<'_>) -> Option<Event> {
        self.ack_ratio.on_packet(ack.seq);
        let cells = ack.options.iter().filter_map(|option| match option {
            DccpOption::AckVector { vector, .. } => Some(vector),
            _ => None,
        });
        let was_full = self.pipe >= self.cwnd;
        let mut news = self.mark(now, ack.acked, runs(ack.acked, cells.flatten()));
        if news.acknowledged == 0 {
            return None;
        }
        let newest = self.sent.back().map(|sent| sent.seq);
        self.find_losses(&mut news);
        self.pipe = self.pipe.saturating_sub(news.acknowledged + news.lost);
        if let Some(rtt) = news.rtt {
            self.rtt.on_sample(rtt);
        }
        self.timer = (self.pipe > 0).then(|| now + self.rtt.timer());
        let reduction = self.reduce(&news, newest);
        if reduction.is_none() && news.lost == 0 && was_full {
            self.grow(news.acknowledged);
        }
        self.count_window(news.acknowledged);
        let (packets, delivered) = (news.acknowledged, news.acknowledged);
        Some(reduction.unwrap_or(Event { decision: Decision::Ack, reason: "", packets, delivered }))
    }

    /// §5: after a timeout the window is one packet, and nothing is thought to be under way.
    fn on_timeout(&mut self, now: Instant) -> Option<Event> {
        if self.timer.is_none_or(|due| due > now) {
            return None;
        }
        let lost = self.pipe;
        self.ssthresh = Some((self.cwnd / 2).max(LEAST_SSTHRESH));
        (self.cwnd, self.pipe, self.credit) = (LEAST_WINDOW, 0, 0);
        self.reduced_at = self.sent.back().map(|sent| sent.seq);
        self.sent.clear();
        self.timer = None;
        self.rtt.back_off();
        self.ack_ratio.fit(self.cwnd);
        let reason = "no acknowledgment came in time";
        Some(Event { decision: Decision::Timeout, reason, packets: lost, delivered: 0 })
    }

    /// §6.2: once a window of data.
    fn wants_to_acknowledge(&self) -> bool {
        self.since_ack_of_ack >= self.cwnd
    }

    fn on_acknowledging(&mut self) {
        self.since_ack_of_ack = 0;
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(self.ack_ratio.get())
    }

    fn packets_a_round_trip(&self) -> u64 {
        self.cwnd
    }

    fn state(&self) -> SenderState {
        let slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        SenderState {
            cwnd: self.packets(self.cwnd),
            ssthresh: self.ssthresh.map_or(Bytes::MAX, |ssthresh| self.packets(ssthresh)),
            flight: self.packets(self.pipe),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            timer: self.rtt.timer(),
            phase: if slow_start { "slow_start" } else { "congestion_avoidance" },
            model: None,
        }
    }
}

/// §5, after RFC 3390: min(4, max(2, 4380/s)) packets.
fn initial_window(size: u64) -> u64 {
    (4380 / size).clamp(2, 4)
}

/// §5, as TCP's duplicate ACKs.
const NUMDUPACK: u32 = 3;
/// §5: the window is never below one packet.
const LEAST_WINDOW: u64 = 1;
/// RFC 5681 §3.1, equation 4.
const LEAST_SSTHRESH: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// A sender with packets from number 100 on under way.
    fn sender(cwnd: u64, ssthresh: u64) -> Sender {
        let mut sender = Sender::new(1000, None);
        (sender.cwnd, sender.ssthresh) = (cwnd, Some(ssthresh));
        sender.begin_with(Duration::from_millis(100));
        for seq in 100..100 + cwnd {
            assert!(sender.may_send(at(0)));
            sender.on_sent(at(0), Seqno::new(seq));
        }
        assert!(!sender.may_send(at(0)));
        sender
    }

    /// An acknowledgment of `acked` with a vector.
    fn ack(sender: &mut Sender, millis: u64, seq: u64, acked: u64, vector: &[u8]) -> Option<Event> {
        let options = [DccpOption::AckVector { nonce: false, vector: vector.to_vec() }];
        let ack = Acknowledgment { seq: Seqno::new(seq), acked: Seqno::new(acked), options: &options };
        sender.on_ack(at(millis), &ack)
    }

    #[test]
    fn slow_start_grows_by_a_packet_for_two_and_avoidance_by_one_a_window() {
        let mut slow = sender(10, 100);
        for (place, acked) in [101, 103, 105].into_iter().enumerate() {
            ack(&mut slow, 100, place as u64, acked, &[0x01]);
            while slow.may_send(at(100)) {
                slow.on_sent(at(100), Seqno::new(200 + slow.pipe + slow.cwnd * 50));
            }
        }
        assert_eq!((slow.cwnd, slow.rtt.srtt()), (13, Some(Duration::from_millis(100))));
        let mut avoiding = sender(10, 5);
        ack(&mut avoiding, 100, 0, 109, &[0x09]);
        assert_eq!((avoiding.cwnd, avoiding.pipe), (11, 0));
    }

    #[test]
    fn three_later_acknowledgments_make_a_loss_and_a_window_is_halved_once() {
        let mut sender = sender(20, 5);
        // 100 and 102 are missing: with 104, three after 100 have arrived, and with 105 three after 102.
        let first = ack(&mut sender, 100, 0, 103, &[0x00, 0xc0, 0x00, 0xc0]).unwrap();
        let second = ack(&mut sender, 100, 1, 104, &[0x01, 0xc0, 0x00, 0xc0]).unwrap();
        assert_eq!((first.decision, second.decision), (Decision::Ack, Decision::Congestion));
        assert_eq!((sender.cwnd, sender.ssthresh, sender.pipe), (10, Some(10), 16));
        let third = ack(&mut sender, 101, 2, 105, &[0x02, 0xc0]).unwrap();
        assert_eq!((third.decision, sender.cwnd, sender.pipe), (Decision::Ack, 10, 14));
        // Losses among the packets sent after the reduction are another congestion.
        for seq in 120..124 {
            sender.on_sent(at(101), Seqno::new(seq));
        }
        let fourth = ack(&mut sender, 200, 3, 123, &[0x02, 0xc0, 0x0d]).unwrap();
        assert_eq!((fourth.decision, fourth.packets, sender.cwnd), (Decision::Congestion, 1, 5));
    }

    #[test]
    fn a_mark_halves_the_window_without_a_loss() {
        let mut sender = sender(20, 5);
        let event = ack(&mut sender, 100, 0, 101, &[0x40, 0x00]).unwrap();
        assert_eq!((event.decision, sender.cwnd, sender.pipe), (Decision::Mark, 10, 18));
    }

    #[test]
    fn a_timeout_leaves_a_window_of_one_and_doubles_the_timer() {
        let mut sender = sender(20, 30);
        let due = sender.poll_timeout(false).unwrap();
        assert_eq!(due, at(1000));
        assert!(sender.on_timeout(at(999)).is_none());
        let event = sender.on_timeout(due).unwrap();
        assert_eq!((event.decision, event.packets), (Decision::Timeout, 20));
        assert_eq!((sender.cwnd, sender.ssthresh, sender.pipe), (1, Some(10), 0));
        sender.on_sent(due, Seqno::new(300));
        assert_eq!(sender.poll_timeout(false), Some(at(3000)));
        // An acknowledgment of what was given up is no news.
        assert!(ack(&mut sender, 1100, 0, 105, &[0x05]).is_none());
    }

    #[test]
    fn a_window_that_is_not_full_does_not_grow_and_silence_restarts_it() {
        let mut sender = sender(10, 100);
        ack(&mut sender, 100, 0, 109, &[0x09]);
        let cwnd = sender.cwnd;
        sender.on_sent(at(100), Seqno::new(110));
        ack(&mut sender, 200, 1, 110, &[0x00]);
        assert_eq!(sender.cwnd, cwnd);
        sender.on_sent(at(1500), Seqno::new(111));
        assert_eq!(sender.cwnd, 4);
    }

    #[test]
    fn acknowledgments_are_acknowledged_once_a_window() {
        let mut sender = sender(10, 100);
        assert!(sender.wants_to_acknowledge());
        sender.on_acknowledging();
        assert!(!sender.wants_to_acknowledge());
    }
}
