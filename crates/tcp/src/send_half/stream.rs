//! The stream that the user writes: unsent data, the send buffer, partial segments and our FIN.

use units::Bytes;
use wire::Payload;

use super::partial::PartialSegments;
use super::queue::SendQueue;
use crate::send_buffer::{SendBuffer, Sender};

/// The part of the stream that was not sent yet, and its end.
#[derive(Debug)]
pub(super) struct SendStream {
    queue: SendQueue,
    buffer: Box<dyn SendBuffer>,
    /// The buffer's size, cached: it is read for each segment.
    buffer_size: Bytes,
    /// The segment size that this end announces, or the peer if it announces a smaller one.
    announced_mss: Bytes,
    partial: PartialSegments,
    fin: Fin,
    fin_acked: bool,
    /// Data acknowledged.
    acked: Bytes,
    /// The user knows that the queue is low.
    reported_writable: bool,
}

/// Our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    /// The user may still write.
    Open,
    /// The user has closed; the FIN follows the data.
    Wanted,
    /// It was sent.
    Sent,
}

impl SendStream {
    pub(super) fn new(buffer: Box<dyn SendBuffer>, announced_mss: Bytes, nagle: bool) -> Self {
        Self {
            queue: SendQueue::default(),
            buffer_size: buffer.size(),
            buffer,
            announced_mss,
            partial: PartialSegments::new(nagle),
            fin: Fin::Open,
            fin_acked: false,
            acked: Bytes::ZERO,
            reported_writable: false,
        }
    }

    /// Takes over the unsent data of the stream of a connection that has not been established.
    pub(super) fn take_unsent_of(&mut self, other: &mut Self) {
        self.queue = std::mem::take(&mut other.queue);
    }

    /// Appends data.
    pub(super) fn write(&mut self, payload: Payload) {
        self.queue.push(payload);
        self.partial.set_push(true);
        self.reported_writable = false;
    }

    /// The rules for partial segments.
    pub(super) const fn partial(&mut self) -> &mut PartialSegments {
        &mut self.partial
    }

    /// Ends the stream.
    pub(super) fn close(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::Wanted;
        }
    }

    /// Whether the user has closed the stream.
    #[inline]
    pub(super) fn is_closing(&self) -> bool {
        self.fin != Fin::Open
    }

    /// Unsent data.
    #[inline]
    pub(super) const fn unsent(&self) -> Bytes {
        self.queue.len()
    }

    /// Whether all data were sent.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether nothing but the FIN is left to send.
    #[inline]
    pub(super) fn ends_here(&self) -> bool {
        self.fin == Fin::Wanted && self.queue.is_empty()
    }

    /// Whether the user has closed the stream and the FIN was not sent.
    #[inline]
    pub(super) fn wants_fin(&self) -> bool {
        self.fin == Fin::Wanted
    }

    /// Whether data or FIN are left to send.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        !self.queue.is_empty() || self.fin == Fin::Wanted
    }

    /// The FIN was sent.
    pub(super) const fn on_fin_sent(&mut self) {
        self.fin = Fin::Sent;
    }

    /// The FIN is acknowledged.
    pub(super) const fn on_fin_acked(&mut self) {
        self.fin_acked = true;
    }

    /// Whether the FIN is acknowledged.
    pub(super) const fn fin_is_acked(&self) -> bool {
        self.fin_acked
    }

    /// Data are acknowledged.
    #[inline]
    pub(super) fn on_acked(&mut self, data: Bytes) {
        self.acked += data;
    }

    /// Data acknowledged so far.
    pub(super) const fn acked(&self) -> Bytes {
        self.acked
    }

    /// Takes the next `len` bytes.
    #[inline]
    pub(super) fn take(&mut self, len: SegmentLen) -> Payload {
        self.queue.take(len.0)
    }

    /// Whether a segment that ends the unsent data carries PSH.
    #[inline]
    pub(super) const fn pushes_end(&self) -> bool {
        self.queue.is_empty() && self.partial.pushes()
    }

    /// Whether a partial segment waits. The last one before the FIN does not.
    pub(super) fn holds_partial(&self, unacknowledged: bool) -> bool {
        self.fin != Fin::Wanted && self.partial.waits(unacknowledged)
    }

    /// Of the unsent data, the part that fits into the send buffer in addition to `outstanding`, in whole segments. The
    /// program's writes lie in packets of up to half of the `window` that the peer has offered.
    #[inline]
    pub(super) fn sendable(&self, outstanding: Bytes, smss: Bytes, window: Bytes) -> Bytes {
        let unsent = self.queue.len();
        if self.buffer_size == Bytes::MAX { unsent } else { self.fitting(unsent, outstanding, smss, window) }
    }

    fn fitting(&self, unsent: Bytes, outstanding: Bytes, smss: Bytes, window: Bytes) -> Bytes {
        // `tcp_xmit_size_goal`.
        let packet = smss * LARGEST_PACKET.min(window / 2).whole(smss).max(1);
        let room = self.buffer.data(packet).saturating_sub(outstanding);
        if unsent <= room {
            return unsent;
        }
        // A buffer without room for a segment still sends what it holds.
        let whole = smss * room.whole(smss);
        if whole.is_zero() && outstanding.is_zero() { room } else { whole }
    }

    /// The peer takes segments of this size at most, their options included.
    pub(super) fn clamp_mss(&mut self, mss: Bytes) {
        self.announced_mss = self.announced_mss.min(mss);
    }

    /// Size of the send buffer.
    pub(super) const fn buffer_size(&self) -> Bytes {
        self.buffer_size
    }

    /// Lets the send buffer grow; returns whether it has grown.
    pub(super) fn grow_buffer(&mut self, cwnd: Bytes, smss: Bytes, dupthresh: u32) -> bool {
        self.buffer.grow(&Sender { cwnd, smss, mss: self.announced_mss.max(smss), dupthresh });
        let before = std::mem::replace(&mut self.buffer_size, self.buffer.size());
        self.buffer_size > before
    }

    /// The unsent data as algorithms see them. A user who keeps a buffer filled and has not closed will write more.
    pub(super) fn backlog(&self) -> Bytes {
        let unsent = self.queue.len();
        if unsent >= SOCKET_BUFFER && !self.is_closing() { Bytes::MAX } else { unsent }
    }

    /// Whether the user is to be notified that the unsent data are few: once, until the next write.
    #[inline]
    pub(super) fn becomes_writable(&mut self) -> bool {
        let low = self.queue.len() < LOW_WATER && !self.is_closing();
        let reported = std::mem::replace(&mut self.reported_writable, low);
        low && !reported
    }
}

/// The length of the data of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentLen(u32);

impl SegmentLen {
    /// `len`, which is at most one segment and so fits.
    #[inline]
    pub(super) const fn of(len: Bytes) -> Self {
        debug_assert!(len.0 <= u32::MAX as u64, "a segment is at most 64 KiB");
        Self(len.0 as u32)
    }

    /// At least one byte.
    pub(super) fn at_least_one(self) -> Self {
        Self(self.0.max(1))
    }
}

/// The socket buffer of a usual host: 64 KiB. A user whose unsent data fill it sends as fast as the path allows.
pub const SOCKET_BUFFER: Bytes = Bytes(1 << 16);

/// Data of the largest packet of a program's writes (`GSO_MAX_SIZE`).
const LARGEST_PACKET: Bytes = Bytes(1 << 16);

/// Unsent data below which [`crate::Event::Writable`] is reported; more than the window of any link that is a last hop.
const LOW_WATER: Bytes = Bytes(1 << 18);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stream() -> SendStream {
        let entry =
            crate::send_buffer::ENTRIES.iter().find(|entry| entry.id == "unlimited").expect("it is listed");
        SendStream::new(entry.choice(json!({})).expect("defaults do").build(), Bytes(1000), true)
    }

    #[test]
    fn the_user_hears_once_after_each_write_that_little_is_unsent() {
        let mut stream = stream();
        stream.write(Payload::Pattern { offset: 0, len: 1000 });
        assert!(stream.becomes_writable() && !stream.becomes_writable());
        stream.write(Payload::Pattern { offset: 1000, len: 1000 });
        assert!(stream.becomes_writable());
    }

    #[test]
    fn the_fin_follows_the_data() {
        let mut stream = stream();
        stream.write(Payload::Pattern { offset: 0, len: 1000 });
        stream.close();
        assert!(stream.has_more() && !stream.ends_here());
        stream.take(SegmentLen::of(Bytes(1000)));
        assert!(stream.ends_here());
        stream.on_fin_sent();
        assert!(!stream.has_more() && stream.is_closing());
    }
}
