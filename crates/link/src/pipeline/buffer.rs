//! The link's send buffer, and the room that the receive buffer leaves for it.

use std::collections::VecDeque;

use units::Bytes;

use crate::config::{Config, HeldUntil};

/// Packets between the input queue and their transmission, and the bytes that they and others still
/// hold.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// None: no buffer, only what is in transmission is out of the queue.
    limit: Option<Bytes>,
    held_until: HeldUntil,
    held: Bytes,
    unsent: VecDeque<(u32, Bytes)>,
}

/// Bytes between the start of their transmission and their leaving the receive buffer.
#[derive(Debug)]
pub(super) struct Underway {
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

    /// A packet takes its place.
    pub(super) fn hold(&mut self, size: Bytes) {
        self.held += size;
    }

    /// A packet that has its place waits for its transmission.
    pub(super) fn push(&mut self, slot: u32, size: Bytes) {
        self.unsent.push_back((slot, size));
    }

    /// Whether nobody waits for transmission.
    pub(super) fn is_drained(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The packet that is next to be transmitted.
    pub(super) fn next(&self) -> Option<(u32, Bytes)> {
        self.unsent.front().copied()
    }

    /// The next packet's transmission starts. It keeps its place for now.
    pub(super) fn start_next(&mut self) {
        self.unsent.pop_front();
    }

    /// Everything is gone; those that were not transmitted.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.held = Bytes::ZERO;
        self.unsent.drain(..).map(|(slot, _)| slot)
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

    /// Whether places are held until packets are gone.
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

impl Underway {
    pub(super) fn new(config: &Config) -> Self {
        let limit = config.receive_buffer.and_then(|buffer| buffer.limit).unwrap_or(Bytes::MAX);
        Self { limit, bytes: Bytes::ZERO }
    }

    /// Whether the receive buffer limits what may be on the way.
    pub(super) fn is_limited(&self) -> bool {
        self.limit < Bytes::MAX
    }

    /// Whether the receive buffer would have room for a packet beside all that is on the way.
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
