//! The link's send buffer, and the room that the receive buffer leaves for it.

use std::collections::VecDeque;

use units::Bytes;

use crate::config::{Config, HeldUntil};
use crate::store::Handle;

/// Packets between the input queue and their transmission, and the bytes that they and packets further on take up.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// None: no buffer; only the packet in transmission is outside the queue.
    limit: Option<Bytes>,
    held_until: HeldUntil,
    held: Bytes,
    unsent: VecDeque<(Handle, Bytes)>,
}

/// Bytes between the start of their transmission and their leaving the receive buffer.
#[derive(Debug)]
pub(super) struct Outstanding {
    limit: Bytes,
    bytes: Bytes,
}

impl SendBuffer {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limit: config.send_buffer.map(|buffer| buffer.limit),
            held_until: config.send_buffer.map_or(HeldUntil::Transmission, |buffer| buffer.held_until),
            held: Bytes::ZERO,
            unsent: VecDeque::new(),
        }
    }

    /// Whether a whole packet fits; into an empty buffer always.
    pub(super) fn has_room(&self, size: Bytes) -> bool {
        self.held.is_zero() || self.limit.is_some_and(|limit| self.held.saturating_add(size) <= limit)
    }

    /// Whether there is no buffer: packets go from the queue straight into transmission.
    pub(super) const fn is_absent(&self) -> bool {
        self.limit.is_none()
    }

    /// A packet takes up room.
    pub(super) fn hold(&mut self, size: Bytes) {
        self.held += size;
    }

    /// A packet that takes up room waits for its transmission.
    pub(super) fn push(&mut self, handle: Handle, size: Bytes) {
        self.unsent.push_back((handle, size));
    }

    /// Whether no packet waits for its transmission.
    pub(super) fn is_drained(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The packet that is next to be transmitted.
    pub(super) fn next(&self) -> Option<(Handle, Bytes)> {
        self.unsent.front().copied()
    }

    /// The next packet's transmission starts; it still takes up room.
    pub(super) fn start_next(&mut self) {
        self.unsent.pop_front();
    }

    /// Empties the buffer and returns the packets that were not transmitted.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Handle> + '_ {
        self.held = Bytes::ZERO;
        self.unsent.drain(..).map(|(handle, _)| handle)
    }

    /// The next packet leaves the buffer without having been transmitted.
    pub(super) fn discard_next(&mut self) {
        if let Some((_, size)) = self.unsent.pop_front() {
            self.held -= size;
        }
    }

    /// The packet that waited for its transmission to start leaves the buffer without it.
    pub(super) fn discard_started(&mut self, size: Bytes) {
        self.held -= size;
    }

    pub(super) fn on_transmitted(&mut self, size: Bytes) {
        if self.held_until == HeldUntil::Transmission {
            self.held -= size;
        }
    }

    /// Whether packets take up room until they have left the receive buffer.
    pub(super) fn holds_until_gone(&self) -> bool {
        self.held_until == HeldUntil::Delivery
    }

    /// The packet left the receive buffer, or was lost before.
    pub(super) fn on_gone(&mut self, size: Bytes) {
        if self.holds_until_gone() {
            self.held -= size;
        }
    }
}

impl Outstanding {
    pub(super) fn new(config: &Config) -> Self {
        let limit = config.receive_buffer.and_then(|buffer| buffer.limit).unwrap_or(Bytes::MAX);
        Self { limit, bytes: Bytes::ZERO }
    }

    /// Whether the receive buffer limits the packets in flight.
    pub(super) fn is_limited(&self) -> bool {
        self.limit < Bytes::MAX
    }

    /// Whether the receive buffer would have room for a packet in addition to all that is on the way.
    pub(super) fn has_room(&self, size: Bytes) -> bool {
        self.bytes.is_zero() || self.bytes.saturating_add(size) <= self.limit
    }

    pub(super) fn start(&mut self, size: Bytes) {
        self.bytes += size;
    }

    pub(super) fn clear(&mut self) {
        self.bytes = Bytes::ZERO;
    }

    pub(super) fn end(&mut self, size: Bytes) {
        self.bytes -= size;
    }
}
