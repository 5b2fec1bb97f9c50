//! The packets inside a link: each is stored once, and the stages pass its handle on.

use units::{Bytes, Instant};

use crate::event::ErrorCause;

/// The place of a packet in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u32);

impl Handle {
    /// The place as a number: small, and used again once the packet has left.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    #[cfg(test)]
    pub(crate) const fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// The link's record of a packet inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketState {
    /// Its size with the link's framing.
    pub(crate) size: Bytes,
    /// Its number among the packets that arrived, from 1.
    pub(crate) arrival_number: u64,
    /// Its number among the packets transmitted, from 1; 0 before its transmission.
    pub(crate) transmission_number: u64,
    /// Time of arrival.
    pub(crate) arrived: Instant,
    /// Why it is lost when its time to leave the receive buffer comes, if it is.
    pub(crate) pending_loss: Option<ErrorCause>,
    /// Whether the output dropper drops it if it gets that far.
    pub(crate) is_dropped: bool,
    /// Whether it is a copy that the link made, which takes no room in buffers.
    pub(crate) is_copy: bool,
}

impl PacketState {
    #[inline(always)]
    pub(crate) const fn new(size: Bytes, arrived: Instant, arrival_number: u64) -> Self {
        Self {
            size,
            arrival_number,
            transmission_number: 0,
            arrived,
            pending_loss: None,
            is_dropped: false,
            is_copy: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct PacketStore<P> {
    places: Vec<Slot<P>>,
    free: Vec<Handle>,
}

#[derive(Debug)]
struct Slot<P> {
    packet: Option<P>,
    state: PacketState,
}

impl<P> PacketStore<P> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Stores a packet; allocates only while the link holds more packets than ever before.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: P, state: PacketState) -> Handle {
        let stored = Slot { packet: Some(packet), state };
        if let Some(handle) = self.free.pop() {
            self.places[handle.index()] = stored;
            return handle;
        }
        self.places.push(stored);
        Handle((self.places.len() - 1) as u32)
    }

    /// Takes a packet out and frees its place.
    #[inline]
    pub(crate) fn take(&mut self, handle: Handle) -> Option<P> {
        self.free.push(handle);
        self.places[handle.index()].packet.take()
    }

    #[inline]
    pub(crate) fn state(&self, handle: Handle) -> &PacketState {
        &self.places[handle.index()].state
    }

    #[inline]
    pub(crate) fn state_mut(&mut self, handle: Handle) -> &mut PacketState {
        &mut self.places[handle.index()].state
    }

    // Checked without a panic, so that without an observer nothing is read.
    #[inline]
    pub(crate) fn packet(&self, handle: Handle) -> Option<&P> {
        self.places.get(handle.index())?.packet.as_ref()
    }

    #[inline]
    pub(crate) fn packet_mut(&mut self, handle: Handle) -> Option<&mut P> {
        self.places.get_mut(handle.index())?.packet.as_mut()
    }

    /// Number of packets inside.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
