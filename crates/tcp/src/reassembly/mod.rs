//! Reassembly: the bytes that arrived in order and were not read yet, and the bytes that arrived out of order and wait
//! for the gap before them to fill.
//!
//! In-order data costs the same however much waits beyond a gap. Data that arrives out of order extends an island of
//! [`Islands`]; no island is walked.

mod islands;
mod memory;

use std::collections::VecDeque;

use units::{Bytes, Seq, SeqRange};
use wire::{Payload, SackBlocks};

use crate::window::{Held, PacketMemory, Shared};
use islands::Islands;

/// The receive buffer of one connection.
#[derive(Clone, Debug)]
pub struct Reassembly {
    /// The next number expected (RCV.NXT).
    next: Seq,
    /// In order and not yet read.
    ready: VecDeque<Packet>,
    ready_bytes: Bytes,
    /// Out of order: disjoint pieces as they arrived, by sequence number.
    pieces: VecDeque<Piece>,
    pieces_bytes: Bytes,
    /// The sequence numbers of the pieces.
    islands: Islands,
    /// The memory that packets take, if it counts, and their sum.
    packets: Option<PacketMemory>,
    memory: Bytes,
    /// Room behind the last data in order, in the block of their packet.
    spare: Bytes,
}

/// A packet in order, or its rest.
#[derive(Clone, Debug)]
struct Packet {
    payload: Payload,
    memory: Bytes,
}

#[derive(Clone, Debug)]
struct Piece {
    range: SeqRange,
    packet: Packet,
}

/// Effect of an arriving run of bytes on the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was the next in order, and nothing was waiting beyond it.
    InOrder,
    /// It was the next in order, and a gap is now filled, in whole or in part.
    FilledGap,
    /// It lies beyond a gap.
    OutOfOrder,
    /// All of it had arrived before.
    Duplicate,
}

impl Reassembly {
    /// An empty stream that expects `next`, in a buffer that counts bytes.
    #[must_use]
    pub const fn new(next: Seq) -> Self {
        Self::counting(next, None)
    }

    /// An empty stream that expects `next`, in a buffer whose packets take memory as `packets` says.
    #[must_use]
    pub const fn counting(next: Seq, packets: Option<PacketMemory>) -> Self {
        Self {
            next,
            ready: VecDeque::new(),
            ready_bytes: Bytes::ZERO,
            pieces: VecDeque::new(),
            pieces_bytes: Bytes::ZERO,
            islands: Islands::NONE,
            packets,
            memory: Bytes::ZERO,
            spare: Bytes::ZERO,
        }
    }

    /// The next number expected: RCV.NXT.
    #[must_use]
    #[inline]
    pub const fn next(&self) -> Seq {
        self.next
    }

    /// Takes in bytes that lie inside the window.
    pub fn insert(&mut self, range: SeqRange, payload: Payload) -> Arrival {
        if range.end.at_or_before(self.next) {
            return Arrival::Duplicate;
        }
        let memory = self.memory_of(payload.len());
        let (range, payload) = trim_before(range, payload, self.next);
        let packet = Packet { payload, memory };
        if range.start != self.next {
            return self.insert_piece(range, packet);
        }
        self.append(packet);
        if self.pieces.is_empty() {
            return Arrival::InOrder;
        }
        self.take_reached();
        Arrival::FilledGap
    }

    /// Takes in bytes that begin at [`Reassembly::next`], while nothing waits beyond a gap.
    #[inline]
    pub fn append_in_order(&mut self, payload: Payload) {
        debug_assert!(self.pieces.is_empty(), "a gap may be filled");
        let memory = self.memory_of(payload.len());
        self.append(Packet { payload, memory });
    }

    /// A number that is not a byte (SYN or FIN) was taken in.
    pub fn skip_one(&mut self) {
        self.next += 1;
    }

    /// The next bytes for the user.
    #[inline]
    pub fn read(&mut self) -> Option<Payload> {
        let Packet { payload, memory } = self.ready.pop_front()?;
        self.ready_bytes -= Bytes(u64::from(payload.len()));
        self.memory -= memory;
        Some(payload)
    }

    /// Contents of the buffer.
    #[must_use]
    pub const fn held(&self) -> Held {
        let (unread, out_of_order) = (self.ready_bytes, self.pieces_bytes);
        Held { unread, out_of_order, memory: self.memory, shared: Shared::ALONE }
    }

    /// Whether something waits beyond a gap.
    #[must_use]
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The end of the last piece that waits beyond a gap.
    #[must_use]
    pub fn highest(&self) -> Option<Seq> {
        self.pieces.back().map(|piece| piece.range.end)
    }

    /// The blocks to report, most recent first (RFC 2018 §4), at most `limit`.
    #[must_use]
    pub fn sack_blocks(&mut self, limit: usize) -> SackBlocks {
        self.islands.newest(limit)
    }

    /// Whether `range` touches neither of the two islands that grew last, and there are as many: of the few blocks that
    /// an ACK reports, it takes the place of another.
    #[must_use]
    pub fn is_apart(&mut self, range: SeqRange) -> bool {
        let newest = self.islands.newest(2);
        let is_apart = |block: &SeqRange| range.end.before(block.start) || block.end.before(range.start);
        newest.len() == 2 && newest.as_slice().iter().all(is_apart)
    }

    /// The island before all others.
    #[must_use]
    pub fn first_island(&self) -> Option<SeqRange> {
        self.islands.first()
    }

    /// The island that holds all of `range`, if all of it has arrived out of order.
    #[must_use]
    pub fn island_covering(&self, range: SeqRange) -> Option<SeqRange> {
        self.islands.containing(range.start).filter(|island| island.covers(range))
    }

    #[inline]
    fn append(&mut self, mut packet: Packet) {
        let len = packet.payload.len();
        if len == 0 {
            return;
        }
        if let Some(packets) = self.packets {
            self.count(&mut packet, packets);
        }
        self.next += len;
        self.ready_bytes += Bytes(u64::from(len));
        self.ready.push_back(packet);
    }

    fn insert_piece(&mut self, range: SeqRange, packet: Packet) -> Arrival {
        let mut added = false;
        let Packet { payload: mut bytes, mut memory } = packet;
        let mut rest = range;
        let mut index = self.first_piece_ending_after(range.start);
        while !rest.is_empty() {
            let Some(piece) = self.pieces.get(index).map(|piece| piece.range) else {
                self.put_piece(index, rest, Packet { payload: bytes, memory });
                added = true;
                break;
            };
            if rest.start.before(piece.start) {
                let gap = piece.start.min(rest.end).since(rest.start);
                // The first part has the memory of the packet.
                let memory = std::mem::take(&mut memory);
                let part = Packet { payload: bytes.slice(0, gap), memory };
                self.put_piece(index, SeqRange::new(rest.start, gap), part);
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
        self.islands.insert(range);
        if added { Arrival::OutOfOrder } else { Arrival::Duplicate }
    }

    fn first_piece_ending_after(&self, seq: Seq) -> usize {
        let ends_before = |piece: &Piece| piece.range.end.at_or_before(seq);
        // The usual case: a segment later than all that have arrived.
        match self.pieces.back() {
            Some(last) if !ends_before(last) => self.pieces.partition_point(ends_before),
            _ => self.pieces.len(),
        }
    }

    fn put_piece(&mut self, index: usize, range: SeqRange, packet: Packet) {
        self.pieces_bytes += Bytes(u64::from(range.len()));
        self.memory += packet.memory;
        self.pieces.insert(index, Piece { range, packet });
    }

    /// Moves the pieces that are now in order to the ready bytes.
    fn take_reached(&mut self) {
        while let Some(piece) = self.pieces.front() {
            if piece.range.start.after(self.next) {
                break;
            }
            let Piece { range, packet } = self.pieces.pop_front().expect("the loop has just seen it");
            self.pieces_bytes -= Bytes(u64::from(range.len()));
            self.memory -= packet.memory;
            if range.end.after(self.next) {
                let (_, payload) = trim_before(range, packet.payload, self.next);
                self.append(Packet { payload, ..packet });
            }
        }
        self.islands.remove_before(self.next);
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

    fn blocks(stream: &mut Reassembly) -> Vec<(u32, u32)> {
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
        assert_eq!(blocks(&mut stream), [(30, 40), (10, 20)]);
        insert(&mut stream, 20, 25);
        assert_eq!(blocks(&mut stream), [(10, 25), (30, 40)]);
        insert(&mut stream, 25, 30);
        assert_eq!(blocks(&mut stream), [(10, 40)]);
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
        assert_eq!(blocks(&mut stream), [(30, 40)]);
        assert_eq!(stream.next(), Seq(1020));
    }

    /// A stream of `LEN` bytes, of which some have arrived: the model of the receive buffer.
    struct Model {
        arrived: [bool; LEN as usize],
        next: u32,
        /// The first bytes of the arrivals beyond a gap, newest first.
        changes: VecDeque<u32>,
    }

    impl Model {
        /// Takes in the bytes; how that is classed.
        fn insert(&mut self, start: u32, end: u32) -> Arrival {
            let waited = self.arrived[self.next as usize..].iter().any(|byte| *byte);
            let known = (start..end).all(|byte| self.arrived[byte as usize]);
            let in_order = start <= self.next;
            self.arrived[start as usize..end as usize].fill(true);
            self.next = (self.next..LEN).find(|byte| !self.arrived[*byte as usize]).unwrap_or(LEN);
            self.changes.push_front(start);
            match (known, in_order, waited) {
                (true, ..) => Arrival::Duplicate,
                (_, true, true) => Arrival::FilledGap,
                (_, true, false) => Arrival::InOrder,
                (_, false, _) => Arrival::OutOfOrder,
            }
        }

        /// The island around a byte beyond the gap.
        fn island(&self, byte: u32) -> (u32, u32) {
            let hole = |byte: &u32| !self.arrived[*byte as usize];
            let start = (0..byte).rev().find(hole).map_or(0, |byte| byte + 1);
            (start, (byte..LEN).find(hole).unwrap_or(LEN))
        }

        /// The islands that changed last, newest first: each where the newest arrival in it stands (RFC 2018 §4).
        fn blocks(&self) -> Vec<(u32, u32)> {
            let mut blocks = vec![];
            for start in self.changes.iter().filter(|start| **start > self.next) {
                if !blocks.contains(&self.island(*start)) && blocks.len() < SackBlocks::MAX {
                    blocks.push(self.island(*start));
                }
            }
            blocks
        }

        fn islands(&self) -> usize {
            let expected = &self.arrived[self.next as usize..];
            expected.windows(2).filter(|pair| !pair[0] && pair[1]).count()
        }

        fn out_of_order(&self) -> usize {
            self.arrived[self.next as usize..].iter().filter(|byte| **byte).count()
        }
    }

    const LEN: u32 = 600;

    fn arrivals() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0..LEN - 1, prop_oneof![1..6u32, 1..60u32]), 0..90)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_buffer_agrees_with_an_array_of_bytes(arrivals in arrivals(), real in any::<bool>()) {
            let mut stream = Reassembly::new(Seq(1000));
            let mut model = Model { arrived: [false; LEN as usize], next: 0, changes: VecDeque::new() };
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
                prop_assert_eq!(blocks(&mut stream), model.blocks());
                let known = (start > model.next).then(|| model.island(start)).filter(|island| end <= island.1);
                let covering = stream.island_covering(range);
                prop_assert_eq!(covering.map(|island| (island.start.0 - 1000, island.end.0 - 1000)), known);
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
