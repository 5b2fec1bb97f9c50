//! The receiver of CCID 2 (RFC 4341 §6): an acknowledgment for each Ack Ratio of data packets, with Ack Vectors.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::dccp::DccpOption;

use super::super::ack_vector::History;
use super::super::ccid::{Arrival, Receiving};
use super::super::seqno::Seqno;

#[derive(Debug)]
pub(in super::super) struct Receiver {
    history: Option<History>,
    ack_ratio: u16,
    has_vectors: bool,
    /// Data packets that have arrived since the last acknowledgment, and when the timer runs out.
    unacknowledged: u64,
    delayed_until: Option<Instant>,
    /// Acknowledgments that the sender may not have heard, and the greatest packet that each acknowledges.
    sent: VecDeque<(Seqno, Seqno)>,
    newest: Option<Seqno>,
}

impl Receiver {
    pub(in super::super) const fn new() -> Self {
        Self {
            history: None,
            ack_ratio: 2,
            has_vectors: false,
            unacknowledged: 0,
            delayed_until: None,
            sent: VecDeque::new(),
            newest: None,
        }
    }

    /// The peer asks for acknowledgments of this kind.
    pub(in super::super) const fn agree(&mut self, ack_ratio: u16, has_vectors: bool) {
        (self.ack_ratio, self.has_vectors) = (ack_ratio, has_vectors);
    }
}

impl Receiving for Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Arrival) {
        let history = self.history.get_or_insert_with(|| History::new(packet.seq));
        let is_known = history.on_packet(packet.seq, packet.is_marked);
        self.newest = Some(self.newest.map_or(packet.seq, |newest| newest.latest(packet.seq)));
        if packet.data.is_some() && !is_known {
            self.unacknowledged += 1;
            self.delayed_until.get_or_insert(now + LONGEST_DELAY);
        }
    }

    fn owes_ack(&self) -> bool {
        self.unacknowledged >= u64::from(self.ack_ratio)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|due| due <= now) {
            self.delayed_until = None;
            self.unacknowledged = self.unacknowledged.max(u64::from(self.ack_ratio));
        }
    }

    fn options(&mut self, _: Instant, seq: Seqno) -> Vec<DccpOption> {
        (self.unacknowledged, self.delayed_until) = (0, None);
        let (Some(history), Some(newest), true) = (&self.history, self.newest, self.has_vectors) else {
            return Vec::new();
        };
        self.sent.push_back((seq, newest));
        let vector = history.vector(MOST_CELLS);
        let option = |cells: &[u8]| DccpOption::AckVector { nonce: false, vector: cells.to_vec() };
        vector.chunks(CELLS_OF_AN_OPTION).map(option).collect()
    }

    fn on_ack_of_ack(&mut self, acked: Seqno) {
        let Some(history) = &mut self.history else { return };
        while let Some((seq, reported)) = self.sent.front().copied() {
            if seq.is_after(acked) {
                return;
            }
            self.sent.pop_front();
            if seq == acked {
                history.forget(reported);
            }
        }
    }
}

/// An acknowledgment for fewer data packets than the Ack Ratio comes after this delay, for which RFC 4340 §11.3 gives
/// no number: that of Linux's and BSD's TCP, below the 500 ms of RFC 5681 §4.2.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// RFC 4340 §11.4: an option has at most 253 bytes of vector; three fit into the header along with other options.
const CELLS_OF_AN_OPTION: usize = 253;
const MOST_CELLS: usize = 3 * CELLS_OF_AN_OPTION;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn data(seq: u64) -> Arrival {
        Arrival { seq: Seqno::new(seq), data: Some(1000), is_marked: false, ccval: 0, ndp_count: 0 }
    }

    fn vector(receiver: &mut Receiver, seq: u64) -> Vec<u8> {
        match &receiver.options(at(0), Seqno::new(seq))[..] {
            [DccpOption::AckVector { vector, .. }] => vector.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_acknowledgment_comes_for_each_ack_ratio_or_after_a_delay() {
        let mut receiver = Receiver::new();
        receiver.agree(3, true);
        for seq in 1..=2 {
            receiver.on_packet(at(0), &data(seq));
            assert!(!receiver.owes_ack());
        }
        receiver.on_packet(at(0), &data(2));
        assert!(!receiver.owes_ack(), "a duplicate is no news");
        receiver.on_packet(at(1), &data(3));
        assert!(receiver.owes_ack());
        assert_eq!(vector(&mut receiver, 70), [0x02]);
        receiver.on_packet(at(10), &data(4));
        assert_eq!((receiver.owes_ack(), receiver.poll_timeout()), (false, Some(at(210))));
        receiver.on_timeout(at(210));
        assert!(receiver.owes_ack());
    }

    #[test]
    fn a_vector_leaves_out_what_the_sender_is_known_to_have_heard() {
        let mut receiver = Receiver::new();
        receiver.agree(1, true);
        (1..=3).for_each(|seq| receiver.on_packet(at(0), &data(seq)));
        assert_eq!(vector(&mut receiver, 70), [0x02]);
        (4..=5).for_each(|seq| receiver.on_packet(at(0), &data(seq)));
        receiver.on_ack_of_ack(Seqno::new(69));
        assert_eq!(vector(&mut receiver, 71), [0x04]);
        receiver.on_ack_of_ack(Seqno::new(70));
        assert_eq!(vector(&mut receiver, 72), [0x01]);
    }
}
