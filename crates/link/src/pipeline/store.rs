//! Where packets are while they cross the link: stored once, handed on as a slot number.

use units::{Bytes, Instant};

use crate::event::ErrorCause;

/// What the link knows of a packet inside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Its size with the link's framing.
    pub(super) size: Bytes,
    /// Its number among those that came, from 1.
    pub(super) arrival_number: u64,
    /// Its number among those transmitted, from 1; 0 before.
    pub(super) transmission_number: u64,
    /// When it came.
    pub(super) arrived: Instant,
    /// Why it is lost as it leaves the receive buffer, if it is.
    pub(super) doom: Option<ErrorCause>,
    /// Whether the dropper takes it if it gets that far.
    pub(super) is_dropped: bool,
    /// Whether it is a copy that the link made, which takes no place.
    pub(super) is_copy: bool,
}

impl Passage {
    pub(super) const fn new(size: Bytes, arrived: Instant, arrival_number: u64) -> Self {
        Self {
            size,
            arrival_number,
            transmission_number: 0,
            arrived,
            doom: None,
            is_dropped: false,
            is_copy: false,
        }
    }
}

#[derive(Debug)]
pub(super) struct Store<P> {
    slots: Vec<Slot<P>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<P> {
    packet: Option<P>,
    passage: Passage,
}

impl<P> Store<P> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores a packet; allocates only while the link holds more than ever before.
    #[inline(always)]
    pub(super) fn insert(&mut self, packet: P, passage: Passage) -> u32 {
        let stored = Slot { packet: Some(packet), passage };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = stored;
            return slot;
        }
        self.slots.push(stored);
        (self.slots.len() - 1) as u32
    }

    /// Takes the packet out and frees its slot.
    pub(super) fn take(&mut self, slot: u32) -> Option<P> {
        self.free.push(slot);
        self.slots[slot as usize].packet.take()
    }

    pub(super) fn passage(&self, slot: u32) -> &Passage {
        &self.slots[slot as usize].passage
    }

    pub(super) fn passage_mut(&mut self, slot: u32) -> &mut Passage {
        &mut self.slots[slot as usize].passage
    }

    pub(super) fn packet(&self, slot: u32) -> Option<&P> {
        self.slots[slot as usize].packet.as_ref()
    }

    pub(super) fn packet_mut(&mut self, slot: u32) -> Option<&mut P> {
        self.slots[slot as usize].packet.as_mut()
    }

    /// How many packets are inside.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
