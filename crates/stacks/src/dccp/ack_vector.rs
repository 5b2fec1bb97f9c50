//! Ack Vectors (RFC 4340 §11.4 and appendix A): what a receiver knows of the packets that it was sent.

use std::collections::VecDeque;

use super::seqno::Seqno;

/// The state of a packet at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketState {
    /// It arrived.
    Received = 0,
    /// It arrived with a congestion mark.
    Marked = 1,
    /// It has not arrived.
    Missing = 3,
}

impl PacketState {
    const fn of(cell: u8) -> Self {
        match cell >> 6 {
            0 => Self::Received,
            1 => Self::Marked,
            _ => Self::Missing,
        }
    }
}

/// The states of the packets from `first` on.
#[derive(Debug)]
pub(super) struct History {
    first: Seqno,
    states: VecDeque<PacketState>,
}

impl History {
    /// A history that begins with the peer's first packet.
    pub(super) fn new(first: Seqno) -> Self {
        Self { first, states: VecDeque::new() }
    }

    /// A packet arrived. Returns whether it is known to have arrived before.
    pub(super) fn on_packet(&mut self, seq: Seqno, is_marked: bool) -> bool {
        let Ok(place) = usize::try_from(seq.since(self.first)) else { return true };
        if place >= self.states.len() {
            self.states.resize(place + 1, PacketState::Missing);
        }
        let state = if is_marked { PacketState::Marked } else { PacketState::Received };
        let before = std::mem::replace(&mut self.states[place], state);
        before != PacketState::Missing
    }

    /// The sender knows the states of all packets up to this one (§11.4.2): they are left out from now on. The newest
    /// stays, so that a vector always begins with the packet that is acknowledged.
    pub(super) fn forget(&mut self, up_to: Seqno) {
        while self.states.len() > 1 && !self.first.is_after(up_to) {
            self.states.pop_front();
            self.first = self.first.plus(1);
        }
    }

    /// The vector, from the newest packet downwards, of at most `most` bytes.
    pub(super) fn vector(&self, most: usize) -> Vec<u8> {
        let mut cells: Vec<u8> = Vec::new();
        for state in self.states.iter().rev() {
            let is_full = cells.len() == most;
            match cells.last_mut() {
                Some(cell) if *cell >> 6 == *state as u8 && *cell & LENGTH < LENGTH => *cell += 1,
                _ if is_full => break,
                _ => cells.push((*state as u8) << 6),
            }
        }
        cells
    }
}

/// A run of packets with one state, from the newest downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) newest: Seqno,
    pub(super) oldest: Seqno,
    pub(super) state: PacketState,
}

/// The runs of a vector, or of several one after another, that begins with the acknowledged packet.
pub(super) fn runs<'a>(acked: Seqno, cells: impl Iterator<Item = &'a u8>) -> impl Iterator<Item = Run> {
    cells.scan(acked, |newest, cell| {
        let oldest = newest.minus(u64::from(cell & LENGTH));
        let run = Run { newest: *newest, oldest, state: PacketState::of(*cell) };
        *newest = oldest.minus(1);
        Some(run)
    })
}

/// The low six bits: the length of a run, less one.
const LENGTH: u8 = 0x3f;

#[cfg(test)]
mod tests {
    use super::*;

    fn seqs(numbers: impl IntoIterator<Item = u64>) -> History {
        let mut history = History::new(Seqno::new(10));
        for number in numbers {
            history.on_packet(Seqno::new(number), number == 15);
        }
        history
    }

    #[test]
    fn the_vector_has_runs_of_states_from_the_newest_down() {
        let history = seqs([10, 11, 12, 15, 16, 17, 18]);
        // 18 to 16 received, 15 marked, 14 and 13 missing, 12 to 10 received.
        assert_eq!(history.vector(99), [0x02, 0x40, 0xc1, 0x02]);
        assert_eq!(history.vector(2), [0x02, 0x40]);
        let back: Vec<_> = runs(Seqno::new(18), [0x02, 0x40, 0xc1, 0x02].iter()).collect();
        let run =
            |newest, oldest, state| Run { newest: Seqno::new(newest), oldest: Seqno::new(oldest), state };
        assert_eq!(
            back,
            [
                run(18, 16, PacketState::Received),
                run(15, 15, PacketState::Marked),
                run(14, 13, PacketState::Missing),
                run(12, 10, PacketState::Received),
            ]
        );
    }

    #[test]
    fn a_run_longer_than_64_takes_more_than_one_byte() {
        assert_eq!(seqs(20..20 + 70).vector(99), [0x3f, 0x05, 0xc9]);
    }

    #[test]
    fn what_the_sender_knows_is_left_out_and_a_late_packet_of_it_is_no_news() {
        let mut history = seqs([10, 12]);
        history.forget(Seqno::new(11));
        assert_eq!(history.vector(99), [0x00]);
        assert!(history.on_packet(Seqno::new(11), false));
        history.forget(Seqno::new(12));
        assert_eq!(history.vector(99), [0x00], "the newest stays");
        assert!(history.on_packet(Seqno::new(12), false) && !history.on_packet(Seqno::new(14), false));
        assert!(!history.on_packet(Seqno::new(13), false));
        assert_eq!(history.vector(99), [0x02]);
    }
}
