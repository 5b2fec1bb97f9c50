//! Packets, and the store that they live in while they are under way.
//!
//! A packet is put into the store at birth and taken out at its end; links pass a [`Ticket`] around,
//! which is small to move. Places are used again, so a run in its steady state allocates nothing.

use units::{Bytes, PacketId};
use wire::Segment;

/// A packet under way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) id: PacketId,
    /// Which path it follows.
    pub(crate) route: u32,
    /// How many links it has entered.
    pub(crate) hop: u32,
    /// The nodes that it goes between.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) body: Body,
    /// The recorder's description of it, and its present passage.
    pub(crate) described: u32,
    pub(crate) passage: u32,
}

/// What a packet carries.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A segment between two of our own endpoints, for the end `end`.
    Segment { segment: Segment, kind: tcp::Kind, end: u32 },
    /// An IP packet between two external nodes, as bytes.
    Raw(Vec<u8>),
}

/// What links see of a packet.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) id: PacketId,
    pub(crate) size: u32,
    pub(crate) slot: u32,
    pub(crate) corrupted: bool,
}

impl link::Packet for Ticket {
    #[inline]
    fn id(&self) -> PacketId {
        self.id
    }

    #[inline]
    fn size(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }

    #[inline]
    fn corrupt(&mut self) {
        self.corrupted = true;
    }
}

/// All packets under way.
#[derive(Debug, Default)]
pub(crate) struct Store {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Store {
    /// Takes a packet of `size` bytes (IP header included) in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet, size: u32) -> Ticket {
        let id = packet.id;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(packet);
                slot
            }
            None => {
                self.slots.push(Some(packet));
                (self.slots.len() - 1) as u32
            }
        };
        Ticket { id, size, slot, corrupted: false }
    }

    /// The packet of a ticket.
    #[inline]
    pub(crate) fn get_mut(&mut self, ticket: &Ticket) -> &mut Packet {
        self.slots[ticket.slot as usize].as_mut().expect(UNDER_WAY)
    }

    /// Takes the packet of a ticket out; the ticket is worth nothing afterwards.
    #[inline]
    pub(crate) fn take(&mut self, ticket: &Ticket) -> Packet {
        let packet = self.slots[ticket.slot as usize].take().expect(UNDER_WAY);
        self.free.push(ticket.slot);
        packet
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

const UNDER_WAY: &str = "a ticket's packet is in the store until it is delivered or dropped";
