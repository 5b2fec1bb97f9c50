//! Packets, as links pass them on.

use link::Ecn;
use tcp::Transmit;
use units::{Bytes, PacketId};

use crate::datagrams::Datagram;

/// A packet under way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) id: PacketId,
    /// Bytes, IP header included.
    pub(crate) size: u32,
    /// Which path it follows, and how many links of it it has entered.
    pub(crate) route: u32,
    pub(crate) hop: u16,
    pub(crate) corrupted: bool,
    /// Whether a link made it out of another: what befalls it says nothing of that one.
    pub(crate) copy: bool,
    /// Whom it is for: the end of a flow, or an external node.
    pub(crate) destination: u32,
    /// The recorder's description of it, and its present passage.
    pub(crate) described: u32,
    pub(crate) passage: u32,
    pub(crate) body: Body,
}

/// What a packet carries.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A segment between two of our own endpoints.
    Segment(Transmit),
    /// A datagram of one of our own flows.
    Datagram(Datagram),
    /// An IP packet between two external nodes, as bytes.
    Raw(Vec<u8>),
}

/// A packet in its box: small to move, while what is inside stays where it is.
#[derive(Debug)]
pub(crate) struct Parcel(pub(crate) Box<Packet>);

/// Boxes to use again, so that a run in its steady state allocates nothing. Those of packets that
/// a link drops are not given back; that is rare.
#[derive(Debug, Default)]
pub(crate) struct Boxes(Vec<Parcel>);

impl Boxes {
    /// Packs what `body` is, for the first time.
    #[inline(always)]
    pub(crate) fn pack(
        &mut self,
        id: PacketId,
        size: u32,
        route: u32,
        destination: u32,
        body: Body,
    ) -> Parcel {
        let mut parcel = self.0.pop().unwrap_or_else(|| Parcel(Box::new(Packet::BLANK)));
        let packet = &mut parcel.0;
        packet.id = id;
        packet.size = size;
        packet.route = route;
        packet.hop = 0;
        packet.corrupted = false;
        packet.copy = false;
        packet.destination = destination;
        packet.body = body;
        parcel
    }

    /// Takes back a box whose packet has been taken out.
    #[inline]
    pub(crate) fn put_back(&mut self, parcel: Parcel) {
        self.0.push(parcel);
    }
}

impl Packet {
    const BLANK: Self = Self {
        id: PacketId(0),
        size: 0,
        route: 0,
        hop: 0,
        corrupted: false,
        copy: false,
        destination: 0,
        described: 0,
        passage: 0,
        body: Body::Raw(Vec::new()),
    };
}

impl link::Packet for Parcel {
    #[inline]
    fn id(&self) -> PacketId {
        self.0.id
    }

    #[inline]
    fn size(&self) -> Bytes {
        Bytes(u64::from(self.0.size))
    }

    #[inline]
    fn corrupt(&mut self) {
        self.0.corrupted = true;
    }

    fn ecn(&self) -> Ecn {
        match &self.0.body {
            Body::Segment(sent) => match sent.segment.ecn {
                wire::Ecn::NotCapable => Ecn::NotCapable,
                wire::Ecn::Capable | wire::Ecn::Capable1 => Ecn::Capable,
                wire::Ecn::Experienced => Ecn::CongestionExperienced,
            },
            // What comes from outside is not opened; it passes as it came. Datagrams do without marks.
            Body::Raw(_) | Body::Datagram(_) => Ecn::NotCapable,
        }
    }

    fn mark_ce(&mut self) {
        if let Body::Segment(sent) = &mut self.0.body {
            sent.segment.ecn = wire::Ecn::Experienced;
        }
    }

    /// Whom it is for: each end of each flow is another.
    fn flow_key(&self) -> u64 {
        u64::from(self.0.destination)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(Box::new(Packet { copy: true, ..Packet::clone(&self.0) })))
    }
}
