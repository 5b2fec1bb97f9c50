//! The receiver's half of the byte stream: what arrived in order and waits to be read, and what
//! arrived out of order and waits for the gap before it to fill.

use std::collections::VecDeque;

use units::{Bytes, Seq, SeqRange};
use wire::{Payload, SackBlocks};

use crate::window::Held;

/// The receive buffer of one connection.
#[derive(Clone, Debug)]
pub struct Reassembly {
    /// Next number expected (`rcv_nxt`).
    next: Seq,
    /// In order and not yet read.
    ready: VecDeque<Payload>,
    ready_bytes: Bytes,
    /// Out of order: disjoint pieces with gaps between islands, by sequence number.
    pieces: VecDeque<Piece>,
    pieces_bytes: Bytes,
    /// The islands in the order in which they last changed, newest first: the order of the SACK
    /// blocks (RFC 2018 §4). At most as many as there are islands.
    recent: VecDeque<Seq>,
}

#[derive(Clone, Debug)]
struct Piece {
    range: SeqRange,
    payload: Payload,
}

/// What an arriving run of bytes did to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was the next in order, and nothing was waiting behind it.
    InOrder,
    /// It was the next in order, and a gap is now filled, in whole or in part.
    FilledGap,
    /// It lies behind a gap.
    OutOfOrder,
    /// All of it had arrived before.
    Duplicate,
}

impl Reassembly {
    /// An empty stream that expects `next`.
    #[must_use]
    pub const fn new(next: Seq) -> Self {
        Self {
            next,
            ready: VecDeque::new(),
            ready_bytes: Bytes::ZERO,
            pieces: VecDeque::new(),
            pieces_bytes: Bytes::ZERO,
            recent: VecDeque::new(),
        }
    }

    /// The next number expected: RCV.NXT.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.next
    }

    /// Takes in bytes that lie inside the window.
    pub fn insert(&mut self, range: SeqRange, payload: Payload) -> Arrival {
        if range.end.at_or_before(self.next) {
            return Arrival::Duplicate;
        }
        let (range, payload) = trim_before(range, payload, self.next);
        if range.start != self.next {
            return self.insert_piece(range, payload);
        }
        self.append(payload);
        if self.pieces.is_empty() {
            return Arrival::InOrder;
        }
        self.take_reached();
        Arrival::FilledGap
    }

    /// A number that is not a byte (SYN or FIN) was taken in.
    pub fn skip_one(&mut self) {
        self.next += 1;
    }

    /// The next bytes for the user.
    pub fn read(&mut self) -> Option<Payload> {
        let payload = self.ready.pop_front()?;
        self.ready_bytes -= Bytes(u64::from(payload.len()));
        Some(payload)
    }

    /// What the buffer holds.
    #[must_use]
    pub const fn held(&self) -> Held {
        Held { unread: self.ready_bytes, out_of_order: self.pieces_bytes }
    }

    /// Whether something waits behind a gap.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The blocks to report, most recent first (RFC 2018 §4), at most `limit`.
    #[must_use]
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for island in self.recent.iter().take(limit).filter_map(|seq| self.island_at(*seq)) {
            blocks.push(island);
        }
        blocks
    }

    /// The island that holds all of `range`, if it arrived out of order before.
    #[inline]
    #[must_use]
    pub fn island_covering(&self, range: SeqRange) -> Option<SeqRange> {
        if self.pieces.is_empty() {
            return None;
        }
        self.island_at(range.start).filter(|island| island.covers(range))
    }

    fn append(&mut self, payload: Payload) {
        let len = payload.len();
        if len == 0 {
            return;
        }
        self.next += len;
        self.ready_bytes += Bytes(u64::from(len));
        self.ready.push_back(payload);
    }

    fn insert_piece(&mut self, range: SeqRange, payload: Payload) -> Arrival {
        let mut added = false;
        let (mut rest, mut bytes) = (range, payload);
        let mut index = self.pieces.partition_point(|piece| piece.range.end.at_or_before(range.start));
        while !rest.is_empty() {
            let Some(piece) = self.pieces.get(index).map(|piece| piece.range) else {
                self.put_piece(index, rest, bytes);
                added = true;
                break;
            };
            if rest.start.before(piece.start) {
                let gap = piece.start.min(rest.end).since(rest.start);
                self.put_piece(index, SeqRange::new(rest.start, gap), bytes.slice(0, gap));
                added = true;
                index += 1;
            }
            (rest, bytes) = if rest.end.after(piece.end) {
                trim_before(rest, bytes, piece.end)
            } else {
                (SeqRange { start: rest.end, end: rest.end }, Payload::EMPTY)
            };
            index += 1;
        }
        self.remember_island(range.start);
        if added { Arrival::OutOfOrder } else { Arrival::Duplicate }
    }

    fn put_piece(&mut self, index: usize, range: SeqRange, payload: Payload) {
        self.pieces_bytes += Bytes(u64::from(range.len()));
        self.pieces.insert(index, Piece { range, payload });
    }

    /// Moves the pieces that are now in order to the ready bytes.
    fn take_reached(&mut self) {
        while let Some(piece) = self.pieces.front() {
            if piece.range.start.after(self.next) {
                break;
            }
            let Piece { range, payload } = self.pieces.pop_front().expect("the loop has just seen it");
            self.pieces_bytes -= Bytes(u64::from(range.len()));
            if range.end.after(self.next) {
                let (_, payload) = trim_before(range, payload, self.next);
                self.append(payload);
            }
        }
        let next = self.next;
        self.recent.retain(|seq| seq.after(next));
    }

    /// Puts the island around `seq` first in the order of report, once.
    fn remember_island(&mut self, seq: Seq) {
        let Some(island) = self.island_at(seq) else { return };
        self.recent.retain(|other| !island.contains(*other));
        self.recent.push_front(seq);
    }

    /// The run of adjoining pieces that contains `seq`.
    fn island_at(&self, seq: Seq) -> Option<SeqRange> {
        let inside = self.pieces.partition_point(|piece| piece.range.end.at_or_before(seq));
        let mut island =
            self.pieces.get(inside).map(|piece| piece.range).filter(|range| range.contains(seq))?;
        for piece in self.pieces.iter().skip(inside + 1) {
            if piece.range.start != island.end {
                break;
            }
            island.end = piece.range.end;
        }
        for index in (0..inside).rev() {
            if self.pieces[index].range.end != island.start {
                break;
            }
            island.start = self.pieces[index].range.start;
        }
        Some(island)
    }
}

/// Cuts off what lies before `seq`.
fn trim_before(range: SeqRange, payload: Payload, seq: Seq) -> (SeqRange, Payload) {
    if range.start.at_or_after(seq) {
        return (range, payload);
    }
    let cut = seq.since(range.start);
    let rest = payload.slice(cut, payload.len() - cut);
    (SeqRange { start: seq, end: range.end }, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of stream position `start` up to `end`; the stream starts at sequence number 1000.
    fn bytes(start: u32, end: u32) -> (SeqRange, Payload) {
        let range = SeqRange { start: Seq(1000 + start), end: Seq(1000 + end) };
        (range, Payload::Pattern { offset: u64::from(start), len: end - start })
    }

    fn insert(stream: &mut Reassembly, start: u32, end: u32) -> Arrival {
        let (range, payload) = bytes(start, end);
        stream.insert(range, payload)
    }

    fn read_all(stream: &mut Reassembly) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(payload) = stream.read() {
            payload.write_to(&mut out);
        }
        out
    }

    fn blocks(stream: &Reassembly) -> Vec<(u32, u32)> {
        stream.sack_blocks(4).as_slice().iter().map(|b| (b.start.0 - 1000, b.end.0 - 1000)).collect()
    }

    #[test]
    fn overlapping_arrivals_in_any_order_give_the_stream() {
        let mut stream = Reassembly::new(Seq(1000));
        for (start, end) in [(30, 40), (10, 20), (15, 35), (50, 60), (0, 12), (38, 55)] {
            insert(&mut stream, start, end);
        }
        let expected: Vec<u8> = (0..60).map(Payload::pattern_byte).collect();
        assert_eq!(read_all(&mut stream), expected);
        assert!(!stream.has_gap() && stream.held().unread.is_zero());
    }

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let mut stream = Reassembly::new(Seq(1000));
        insert(&mut stream, 10, 20);
        insert(&mut stream, 30, 40);
        assert_eq!(blocks(&stream), [(30, 40), (10, 20)]);
        insert(&mut stream, 20, 25);
        assert_eq!(blocks(&stream), [(10, 25), (30, 40)]);
        insert(&mut stream, 25, 30);
        assert_eq!(blocks(&stream), [(10, 40)]);
    }

    #[test]
    fn an_arrival_is_classed_by_what_it_did() {
        let mut stream = Reassembly::new(Seq(1000));
        assert_eq!(insert(&mut stream, 0, 10), Arrival::InOrder);
        assert_eq!(insert(&mut stream, 0, 10), Arrival::Duplicate);
        assert_eq!(insert(&mut stream, 20, 30), Arrival::OutOfOrder);
        assert_eq!(insert(&mut stream, 20, 30), Arrival::Duplicate);
        assert_eq!(insert(&mut stream, 10, 20), Arrival::FilledGap);
    }

    #[test]
    fn filling_one_of_two_gaps_keeps_the_other_island() {
        let mut stream = Reassembly::new(Seq(1000));
        insert(&mut stream, 10, 20);
        insert(&mut stream, 30, 40);
        assert_eq!(insert(&mut stream, 0, 10), Arrival::FilledGap);
        assert_eq!(blocks(&stream), [(30, 40)]);
        assert_eq!(stream.next(), Seq(1020));
    }

    /// A stream of so many bytes, of which some have arrived: what the receive buffer must agree with.
    struct Model {
        arrived: [bool; LEN as usize],
        next: u32,
    }

    impl Model {
        /// Takes in the bytes; how that is classed.
        fn insert(&mut self, start: u32, end: u32) -> Arrival {
            let waited = self.arrived[self.next as usize..].iter().any(|byte| *byte);
            let known = (start..end).all(|byte| self.arrived[byte as usize]);
            let in_order = start <= self.next;
            self.arrived[start as usize..end as usize].fill(true);
            self.next = (self.next..LEN).find(|byte| !self.arrived[*byte as usize]).unwrap_or(LEN);
            match (known, in_order, waited) {
                (true, ..) => Arrival::Duplicate,
                (_, true, true) => Arrival::FilledGap,
                (_, true, false) => Arrival::InOrder,
                (_, false, _) => Arrival::OutOfOrder,
            }
        }

        /// The island around a byte behind the gap.
        fn island(&self, byte: u32) -> (u32, u32) {
            let hole = |byte: &u32| !self.arrived[*byte as usize];
            let start = (0..byte).rev().find(hole).map_or(0, |byte| byte + 1);
            (start, (byte..LEN).find(hole).unwrap_or(LEN))
        }

        fn islands(&self) -> usize {
            let behind = &self.arrived[self.next as usize..];
            behind.windows(2).filter(|pair| !pair[0] && pair[1]).count()
        }

        fn out_of_order(&self) -> usize {
            self.arrived[self.next as usize..].iter().filter(|byte| **byte).count()
        }
    }

    const LEN: u32 = 600;

    fn arrivals() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0..LEN - 1, 1..60u32), 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_buffer_agrees_with_an_array_of_bytes(arrivals in arrivals(), real in any::<bool>()) {
            let mut stream = Reassembly::new(Seq(1000));
            let mut model = Model { arrived: [false; LEN as usize], next: 0 };
            let mut read = vec![];
            for (start, len) in arrivals {
                let end = (start + len).min(LEN);
                let (range, mut payload) = bytes(start, end);
                if real {
                    let mut data = vec![];
                    payload.write_to(&mut data);
                    payload = Payload::Data(data.into());
                }
                prop_assert_eq!(stream.insert(range, payload), model.insert(start, end));
                prop_assert_eq!(stream.next(), Seq(1000 + model.next));
                prop_assert_eq!(stream.held().out_of_order.0, model.out_of_order() as u64);
                let unread = u64::from(model.next) - read.len() as u64;
                prop_assert_eq!(stream.held().unread.0, unread);
                prop_assert_eq!(stream.has_gap(), model.islands() > 0);
                let blocks = blocks(&stream);
                prop_assert_eq!(blocks.len(), model.islands().min(4));
                for (start, end) in &blocks {
                    prop_assert_eq!((*start, *end), model.island(*start));
                }
                // RFC 2018 §4: the first block holds what has just arrived.
                if start >= model.next {
                    prop_assert_eq!(blocks[0], model.island(start));
                }
                if start % 3 == 0 {
                    read.extend(read_all(&mut stream));
                }
            }
            read.extend(read_all(&mut stream));
            let expected: Vec<u8> = (0..u64::from(model.next)).map(Payload::pattern_byte).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
