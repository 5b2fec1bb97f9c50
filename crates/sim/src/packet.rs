//! Packets, as links pass them on.

use link::Ecn;
use tcp::{Kind, Transmit};
use units::{Bytes, Instant, PacketId};
use wire::{Segment, ip};

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
    pub(crate) label: Label,
    /// When it was sent; only where that is measured.
    pub(crate) sent: Instant,
    /// The recorder's description of it, and its present passage.
    pub(crate) described: u32,
    pub(crate) passage: u32,
    pub(crate) body: Body,
}

/// What a queue can tell packets apart by, besides their flow: the same for all that an end sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// The nodes of the hosts that it comes from and goes to.
    pub(crate) source: u32,
    pub(crate) target: u32,
    /// The traffic class. That of a packet from outside stands in its header.
    pub(crate) class: u8,
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
    pub(crate) fn pack(
        &mut self,
        id: PacketId,
        size: u32,
        route: u32,
        (destination, label): (u32, Label),
        body: Body,
    ) -> Parcel {
        let mut parcel = self.take();
        parcel.0.begin(id, size, route, (destination, label));
        parcel.0.body = body;
        parcel
    }

    /// A box with whatever its last packet has left in it.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Parcel {
        self.0.pop().unwrap_or_else(|| Parcel(Box::new(Packet::BLANK)))
    }

    /// Takes back a box whose packet is not needed any more.
    #[inline]
    pub(crate) fn put_back(&mut self, parcel: Parcel) {
        self.0.push(parcel);
    }
}

impl Packet {
    /// A packet on its way for the first time: all but its body.
    #[inline(always)]
    pub(crate) fn begin(&mut self, id: PacketId, size: u32, route: u32, (destination, label): (u32, Label)) {
        self.id = id;
        self.size = size;
        self.route = route;
        self.hop = 0;
        self.corrupted = false;
        self.copy = false;
        self.destination = destination;
        self.label = label;
    }

    /// The place where the packet holds a segment. What was there is left over from an earlier packet.
    #[inline(always)]
    pub(crate) fn segment_slot(&mut self) -> &mut Transmit {
        if !matches!(self.body, Body::Segment(_)) {
            self.body = Body::Segment(Transmit { segment: Segment::default(), kind: Kind::Ack });
        }
        match &mut self.body {
            Body::Segment(transmit) => transmit,
            Body::Datagram(_) | Body::Raw(_) => unreachable!("it was made a segment"),
        }
    }

    const BLANK: Self = Self {
        id: PacketId(0),
        size: 0,
        route: 0,
        hop: 0,
        corrupted: false,
        copy: false,
        destination: 0,
        label: Label { source: 0, target: 0, class: 0 },
        sent: Instant::START,
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

    /// Whom it is for: each end of each connection is another. From outside, the connection is read out of
    /// the packet.
    fn flow_key(&self) -> u64 {
        match &self.0.body {
            Body::Raw(bytes) => key_of_five(bytes),
            Body::Segment(_) | Body::Datagram(_) => u64::from(self.0.destination),
        }
    }

    fn source(&self) -> u64 {
        u64::from(self.0.label.source)
    }

    fn destination(&self) -> u64 {
        u64::from(self.0.label.target)
    }

    fn class(&self) -> u8 {
        match &self.0.body {
            Body::Raw(bytes) => bytes.get(TRAFFIC_CLASS).map_or(0, |field| field >> ip::v4::PRECEDENCE_SHIFT),
            Body::Segment(_) | Body::Datagram(_) => self.0.label.class,
        }
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(Box::new(Packet { copy: true, ..Packet::clone(&self.0) })))
    }
}

/// What is equal for packets of one direction of one connection: addresses, protocol and ports (RFC 8290 §4.1), as one
/// number. Fragments, and what has no ports, go by addresses and protocol.
fn key_of_five(bytes: &[u8]) -> u64 {
    let Ok(ip::Decoded { header: ip::Header::V4(header), payload, .. }) = ip::decode(bytes) else { return 0 };
    let with_ports =
        header.fragment.is_none() && [ip::Protocol::TCP, ip::Protocol::UDP].contains(&header.protocol);
    let ports = bytes[payload].first_chunk::<4>().filter(|_| with_ports).copied().unwrap_or_default();
    let parts = [&header.source.octets()[..], &header.destination.octets(), &[header.protocol.0], &ports];
    parts.into_iter().flatten().fold(FNV_OFFSET, |key, byte| (key ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// Where IPv4 has the byte whose precedence is the traffic class (RFC 791 §3.1).
const TRAFFIC_CLASS: usize = 1;

/// The 64-bit hash FNV-1a (Fowler, Noll and Vo): the same on every machine.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use link::Packet as _;
    use units::Seq;
    use wire::{Flags, Options, Payload};

    use super::*;

    fn raw(source_port: u16, traffic_class: u8) -> Parcel {
        let segment = Segment {
            source_port,
            destination_port: 80,
            seq: Seq(1),
            ack: Seq(1),
            flags: Flags::ACK,
            window: 100,
            options: Options::default(),
            ecn: wire::Ecn::NotCapable,
            payload: Payload::EMPTY,
        };
        let mut bytes = wire::emit_ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 7, &segment);
        bytes[TRAFFIC_CLASS] = traffic_class;
        Parcel(Box::new(Packet { body: Body::Raw(bytes), ..Packet::BLANK }))
    }

    #[test]
    fn packets_from_outside_tell_their_connection_and_their_class() {
        assert_eq!(raw(5001, 0).flow_key(), raw(5001, 0xb8).flow_key());
        assert_ne!(raw(5001, 0).flow_key(), raw(5002, 0).flow_key());
        assert_eq!([0, 0xa0, 0xb8, 0xe3].map(|field| raw(1, field).class()), [0, 5, 5, 7]);
    }

    #[test]
    fn what_is_no_packet_has_no_class_and_a_flow_of_its_own() {
        let parcel =
            |bytes: &[u8]| Parcel(Box::new(Packet { body: Body::Raw(bytes.to_vec()), ..Packet::BLANK }));
        assert_eq!((parcel(&[]).class(), parcel(&[0x45]).flow_key()), (0, 0));
    }
}
