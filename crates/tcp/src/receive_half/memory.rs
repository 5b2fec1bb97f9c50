//! A receive buffer that counts the memory of packets: it makes room, or drops what arrives (`tcp_data_queue`,
//! `tcp_prune_queue`).

use units::{Bytes, Seq, SeqRange};
use wire::Segment;

use super::{AckDue, ReceiveHalf, Reception};
use crate::options::Agreed;
use crate::reassembly::Reassembly;
use crate::window::{Arrived, Held};

impl ReceiveHalf {
    /// Whether the next data in order find memory without further ado.
    #[inline]
    pub(super) fn has_memory(&self) -> bool {
        self.window.buffer().is_none_or(|buffer| buffer.admits(self.stream.held().memory))
    }

    /// Whether a segment inside the window finds memory, perhaps after the buffer has grown, put packets together, or
    /// dropped others beyond a gap. One that finds none is dropped, unless it brings the next data of a user that has
    /// read all; in order it closes the window.
    pub(crate) fn finds_memory(&mut self, segment: &Segment) -> bool {
        let Some(buffer) = self.window.buffer().filter(|_| !segment.payload.is_empty()) else { return true };
        let in_order = segment.seq.at_or_before(self.stream.next());
        let fits = buffer.admits(self.stream.held().memory) || self.make_room(segment.seq);
        if !fits && in_order {
            self.window.open_to(self.stream.next());
            self.acks.set_due(AckDue::Now);
        }
        fits || (in_order && self.stream.held().unread.is_zero())
    }

    fn make_room(&mut self, seq: Seq) -> bool {
        let Self { stream, window, .. } = self;
        window.policy().on_overrun(&stream.held());
        let Some(buffer) = window.buffer() else { return true };
        let admits = |stream: &Reassembly| buffer.admits(stream.held().memory);
        if !admits(stream) {
            stream.collapse(|memory| buffer.window_of(memory));
        }
        if !admits(stream) {
            stream.prune(seq, buffer.prune_step(), admits);
        }
        admits(stream)
    }

    /// What arrives with more data than this consists of several segments, which the network card has joined.
    pub(crate) const fn expect_joined(&mut self, above: Bytes) {
        self.joined_above = above;
    }

    /// Tells the acknowledgments of a window that the buffer limits.
    #[inline]
    pub(super) fn note_tight_window(&mut self) {
        let held = self.stream.held();
        if self.window.buffer().is_some_and(|buffer| buffer.is_tight(held.memory)) {
            let narrows = self.window.room(held) < self.window.advertised();
            self.acks.on_tight_window(narrows);
        }
    }

    /// The user sets the size of the buffer (`SO_RCVBUF`).
    pub(crate) fn resize_buffer(&mut self, size: Bytes) {
        self.window.policy().resize(size);
    }

    /// Whether a closed window lets a segment in: a FIN without data, where packets count (`tcp_data_queue`).
    pub(crate) fn admits_fin(&self, segment: &Segment) -> bool {
        self.window.packets().is_some() && segment.payload.is_empty()
    }

    /// Reports `len` bytes of arriving data to a window that sizes itself; the buffer held `before` without them.
    pub(super) fn tune_window(
        &mut self,
        segment: &Segment,
        len: Bytes,
        before: Held,
        reception: &Reception,
        agreed: &Agreed,
    ) {
        let now = reception.now;
        let (next, held) = (self.stream.next(), self.stream.held());
        let in_order = !segment.seq.after(next);
        let behind_gap = self.stream.highest().map_or(0, |end| end.since(next));
        let arrived = Arrived {
            now,
            len,
            segment: len.min(self.joined_above),
            received: self.received,
            unread: before.unread,
            memory: if in_order { before.memory.min(held.memory) } else { held.memory },
            behind_gap: Bytes(u64::from(behind_gap)),
            asks_for_duplicate: !agreed.sack && segment.seq.after(next),
            offered: self.wnd(),
            echoed: agreed.echo(segment).and_then(|echo| echo.age(now)).map(|age| now - age),
        };
        if self.window.on_data(&arrived) {
            self.acks.on_window_opened();
        }
    }

    /// Whether data reach beyond a `window` that would have taken them if nothing waited to be read: such a packet is
    /// taken whole or not at all (`tcp_sequence`).
    pub(super) fn is_too_long(&self, segment: &Segment, window: SeqRange) -> bool {
        let end = segment.seq + segment.payload.len();
        self.window.packets().is_some() && end.after(window.end) && !self.stream.held().unread.is_zero()
    }

    /// The part of `whole` that is taken in: what lies inside the window, or all of it where packets count.
    pub(super) fn taken_of(&self, whole: SeqRange) -> u32 {
        match self.window.packets() {
            Some(_) => whole.len(),
            None => whole.len().min(self.window.edge().since(whole.start)),
        }
    }
}
