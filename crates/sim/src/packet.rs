//! Packets, as links pass them on.

use std::net::Ipv4Addr;

use link::{Ecn, PureAck};
use tcp::{Kind, Transmit};
use units::{Bytes, Instant, PacketId};
use wire::ip::Protocol;
use wire::offload::RawPacket;
use wire::{Flags, Payload, Segment, ip, udp};

use crate::datagrams::Datagram;
use crate::ids::{EndpointId, Id, NodeId};
use crate::route::NextHop;

/// A packet under way.
///
/// Many are in memory at a time, and each is read again only when it leaves a link: the fields that every packet needs
/// then stand together in the first 128 bytes, and SACK blocks follow them.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Packet {
    pub(crate) id: PacketId,
    /// Bytes, IP header included.
    pub(crate) size: u32,
    /// The link that it enters next.
    pub(crate) next_hop: NextHop,
    /// The end that it is for, of a connection or of a flow of datagrams. A packet from outside has none: it is for the
    /// node of its header.
    pub(crate) destination: EndpointId,
    pub(crate) header: IpHeader,
    pub(crate) corrupted: bool,
    /// Whether a link made it out of another: its fate is not that of the packet that was sent.
    pub(crate) copy: bool,
    /// Whether it belongs to the second of two connections into which a proxy splits one.
    pub(crate) beyond: bool,
    pub(crate) body: Body,
    /// Time at which it was sent; only where that is measured.
    pub(crate) sent: Instant,
    /// The recorder's description of it, and its present passage.
    pub(crate) row: u32,
    pub(crate) passage: u32,
}

/// The fields of the IP header that queues look at: the same for all that an end sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IpHeader {
    /// The host that it comes from.
    pub(crate) source: NodeId,
    /// The host that it goes to.
    pub(crate) destination: NodeId,
    /// The traffic class. That of a packet from outside stands in its bytes.
    pub(crate) class: u8,
}

impl IpHeader {
    /// That of a segment: a dummy has the lowest class.
    #[inline(always)]
    pub(crate) fn for_segment(self, segment: &Segment) -> Self {
        if segment.flags.contains(Flags::DUMMY) { Self { class: 0, ..self } } else { self }
    }
}

/// Contents of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A segment between two of our own endpoints.
    Segment(Transmit),
    /// A datagram of one of our own flows.
    Datagram(Datagram),
    /// An IP packet between two external nodes, as bytes.
    Raw(RawPacket),
}

impl Default for Body {
    fn default() -> Self {
        Self::Raw(RawPacket::default())
    }
}

/// A packet where it was allocated: links move the pointer, and the packet stays where it is.
#[derive(Debug)]
pub(crate) struct PacketBox(pub(crate) Box<Packet>);

/// The memory of packets that have arrived, to be used again: a run in its steady state allocates nothing. The memory
/// of packets that a link drops is freed instead.
#[derive(Debug, Default)]
pub(crate) struct PacketPool(Vec<PacketBox>);

impl PacketPool {
    /// A packet at its first hop.
    pub(crate) fn allocate(
        &mut self,
        id: PacketId,
        size: u32,
        next_hop: NextHop,
        (destination, header): (EndpointId, IpHeader),
        body: Body,
    ) -> PacketBox {
        let mut packet = self.take();
        packet.0.address(id, size, next_hop, (destination, header));
        packet.0.body = body;
        packet
    }

    /// The segment in the packet that [`take`](Self::take) gives next, to be overwritten.
    #[inline(always)]
    pub(crate) fn next_segment(&mut self) -> &mut Transmit {
        if self.0.is_empty() {
            self.0.push(PacketBox(Box::default()));
        }
        let last = self.0.len() - 1;
        self.0[last].0.segment_mut()
    }

    /// A packet with the contents of an earlier one, all of which are to be overwritten.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> PacketBox {
        self.0.pop().unwrap_or_else(|| PacketBox(Box::default()))
    }

    /// Takes back a packet that is not needed any more.
    #[inline(always)]
    pub(crate) fn release(&mut self, packet: PacketBox) {
        self.0.push(packet);
    }
}

impl Packet {
    /// Sets everything but the body, for a packet at its first hop.
    #[inline(always)]
    pub(crate) fn address(
        &mut self,
        id: PacketId,
        size: u32,
        next_hop: NextHop,
        (destination, header): (EndpointId, IpHeader),
    ) {
        self.id = id;
        self.size = size;
        self.next_hop = next_hop;
        self.corrupted = false;
        self.copy = false;
        self.beyond = false;
        self.destination = destination;
        self.header = header;
    }

    /// The segment in a packet that carries one.
    #[inline(always)]
    pub(crate) fn segment(&self) -> &Segment {
        match &self.body {
            Body::Segment(transmit) => &transmit.segment,
            Body::Datagram(_) | Body::Raw(_) => unreachable!("the caller has looked"),
        }
    }

    /// The segment in the packet, to be overwritten.
    #[inline(always)]
    pub(crate) fn segment_mut(&mut self) -> &mut Transmit {
        if !matches!(self.body, Body::Segment(_)) {
            self.body = Body::Segment(Transmit { segment: Segment::default(), kind: Kind::Ack });
        }
        match &mut self.body {
            Body::Segment(transmit) => transmit,
            Body::Datagram(_) | Body::Raw(_) => unreachable!("it was made a segment"),
        }
    }
}

impl link::Packet for PacketBox {
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
                wire::Ecn::Capable => Ecn::Capable,
                wire::Ecn::Capable1 => Ecn::Capable1,
                wire::Ecn::Experienced => Ecn::CongestionExperienced,
            },
            Body::Raw(packet) => match packet.ecn() {
                0b01 => Ecn::Capable1,
                0b10 => Ecn::Capable,
                0b11 => Ecn::CongestionExperienced,
                _ => Ecn::NotCapable,
            },
            // Datagrams of our own do not use ECN.
            Body::Datagram(_) => Ecn::NotCapable,
        }
    }

    fn mark_ce(&mut self) {
        match &mut self.0.body {
            Body::Segment(sent) => sent.segment.ecn = wire::Ecn::Experienced,
            Body::Raw(packet) => packet.mark_ce(),
            Body::Datagram(_) => {}
        }
    }

    /// The end that it is for. For a packet from outside, a hash of its addresses and ports.
    fn flow_key(&self) -> u64 {
        match &self.0.body {
            Body::Raw(packet) => five_tuple_hash(packet.common_header()),
            Body::Segment(_) | Body::Datagram(_) => self.0.destination.index() as u64,
        }
    }

    fn source(&self) -> u64 {
        self.0.header.source.index() as u64
    }

    fn destination(&self) -> u64 {
        self.0.header.destination.index() as u64
    }

    fn class(&self) -> u8 {
        match &self.0.body {
            Body::Raw(packet) => traffic_class(packet) >> ip::v4::PRECEDENCE_SHIFT,
            Body::Segment(_) | Body::Datagram(_) => self.0.header.class,
        }
    }

    fn dscp(&self) -> u8 {
        match &self.0.body {
            Body::Raw(packet) => traffic_class(packet) >> 2,
            Body::Segment(_) | Body::Datagram(_) => self.0.header.class << 3,
        }
    }

    /// Packets from outside pass unopened.
    fn is_ack(&self) -> bool {
        matches!(&self.0.body, Body::Segment(Transmit { segment, .. }) if is_ack(segment))
    }

    fn pure_ack(&self) -> Option<PureAck> {
        let Body::Segment(Transmit { segment, .. }) = &self.0.body else { return None };
        let is_pure = is_ack(segment) && segment.options.sack.is_empty();
        is_pure.then(|| PureAck { number: segment.ack.0, flags: segment.flags.bits() })
    }

    /// As a capture has them, but for the addresses, which are those of the nodes' numbers.
    fn headers(&self, bytes: &mut Vec<u8>) {
        let packet = &*self.0;
        match &packet.body {
            Body::Segment(sent) => {
                let whole = wire::emit_ipv4_behind(packet.ip_header(Protocol::TCP), &sent.segment);
                bytes.extend_from_slice(&whole[..headers_len(&whole)]);
            }
            Body::Datagram(datagram) => packet.datagram_headers(datagram, bytes),
            Body::Raw(raw) => {
                let whole = raw.to_headers();
                bytes.extend_from_slice(&whole[..headers_len(&whole)]);
            }
        }
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(Box::new(Packet { copy: true, ..Packet::clone(&self.0) })))
    }
}

/// Whether a segment is an ACK without data.
fn is_ack(segment: &Segment) -> bool {
    segment.payload.is_empty()
        && segment.flags.contains(Flags::ACK)
        && !segment.flags.intersects(Flags::SYN.with(Flags::FIN).with(Flags::RST))
}

impl Packet {
    fn ip_header(&self, protocol: Protocol) -> ip::v4::Header {
        let address = |node: NodeId| Ipv4Addr::from(NETWORK + node.index() as u32 + 1);
        let [source, destination] = [self.header.source, self.header.destination].map(address);
        let header = ip::v4::Header::new(source, destination, protocol, self.id.number() as u16);
        ip::v4::Header { traffic_class: self.header.class << ip::v4::PRECEDENCE_SHIFT, ..header }
    }

    /// The headers of a datagram, with RTP's if it has one. A datagram shorter than IP's and UDP's headers has none:
    /// what it has was compressed elsewhere.
    fn datagram_headers(&self, datagram: &Datagram, bytes: &mut Vec<u8>) {
        let Some(len) = self.size.checked_sub(IPV4_HEADER_LEN + UDP_HEADER_LEN) else { return };
        let payload = Payload::Pattern { offset: 0, len };
        let udp = udp::Datagram { source_port: RTP_PORT, destination_port: RTP_PORT, payload };
        bytes.extend(wire::emit_udp_ipv4_behind(self.ip_header(Protocol::UDP), &udp));
        bytes.truncate(if datagram.rtp.is_some() { RTP_HEADER.end } else { RTP_HEADER.start });
        if let Some((rtp, header)) = datagram.rtp.zip(bytes.get_mut(RTP_HEADER)) {
            header[0] = RTP_VERSION;
            header[1] = u8::from(rtp.marker) << 7 | RTP_PAYLOAD_TYPE;
            header[2..4].copy_from_slice(&(datagram.number as u16).to_be_bytes());
            header[4..8].copy_from_slice(&rtp.timestamp.to_be_bytes());
            header[8..].copy_from_slice(&(self.destination.index() as u32).to_be_bytes());
        }
    }
}

/// Length of the headers at the beginning of an IPv4 packet with TCP or UDP; nothing of any other is a header here.
fn headers_len(bytes: &[u8]) -> usize {
    let Ok(ip::Decoded { header: ip::Header::V4(header), payload, .. }) = ip::decode(bytes) else { return 0 };
    let transport = payload.start;
    let len = match header.protocol {
        Protocol::TCP => 4 * usize::from(bytes.get(transport + TCP_OFFSET).map_or(0, |byte| byte >> 4)),
        Protocol::UDP => UDP_HEADER_LEN as usize,
        _ => return 0,
    };
    bytes.len().min(transport + len)
}

/// Differentiated services code point and ECN, as the sender wrote them.
fn traffic_class(packet: &RawPacket) -> u8 {
    packet.common_header().get(TRAFFIC_CLASS).copied().unwrap_or(0)
}

/// A hash of addresses, protocol and ports (RFC 8290 §4.1): equal for packets of one direction of one connection.
/// Fragments and protocols without ports are hashed by addresses and protocol.
fn five_tuple_hash(bytes: &[u8]) -> u64 {
    let Ok(ip::Decoded { header: ip::Header::V4(header), payload, .. }) = ip::decode(bytes) else { return 0 };
    let with_ports =
        header.fragment.is_none() && [ip::Protocol::TCP, ip::Protocol::UDP].contains(&header.protocol);
    let ports = bytes[payload].first_chunk::<4>().filter(|_| with_ports).copied().unwrap_or_default();
    let parts = [&header.source.octets()[..], &header.destination.octets(), &[header.protocol.0], &ports];
    parts.into_iter().flatten().fold(FNV_OFFSET, |key, byte| (key ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// The IPv4 header without options (RFC 791 §3.1).
pub(crate) const IPV4_HEADER_LEN: u32 = 20;

/// The UDP header (RFC 768).
const UDP_HEADER_LEN: u32 = 8;

/// Where the header of TCP has its length (RFC 9293 §3.1).
const TCP_OFFSET: usize = 12;

/// The header of RTP after those of IPv4 and UDP (RFC 3550 §5.1).
const RTP_HEADER: std::ops::Range<usize> = 28..40;
/// Version 2, without padding, extension and sources.
const RTP_VERSION: u8 = 0x80;
/// The first of the payload types without a meaning of their own (RFC 3551 §6).
const RTP_PAYLOAD_TYPE: u8 = 96;
/// RFC 3551 §8: RTP's registered port.
const RTP_PORT: u16 = 5004;

/// 10.0.0.0/8 (RFC 1918).
const NETWORK: u32 = 0x0a00_0000;

/// The rule that drops a packet longer than the MTU, as tables and verdicts name it.
pub(crate) const OVERSIZE: &str = "mtu";
/// The rule that drops a packet damaged on the way: the receiver's checksum.
pub(crate) const CORRUPTED: &str = "corrupted";

/// Where IPv4 has the byte whose precedence is the traffic class (RFC 791 §3.1).
const TRAFFIC_CLASS: usize = 1;

/// The 64-bit hash FNV-1a (Fowler, Noll and Vo): the same on every machine.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use link::Packet as _;
    use units::Seq;
    use wire::Options;

    use super::*;

    fn raw(source_port: u16, traffic_class: u8) -> PacketBox {
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
        PacketBox(Box::new(Packet { body: Body::Raw(bytes.into()), ..Packet::default() }))
    }

    #[test]
    fn packets_from_outside_report_their_connection_and_their_class() {
        assert_eq!(raw(5001, 0).flow_key(), raw(5001, 0xb8).flow_key());
        assert_ne!(raw(5001, 0).flow_key(), raw(5002, 0).flow_key());
        assert_eq!([0, 0xa0, 0xb8, 0xe3].map(|field| raw(1, field).class()), [0, 5, 5, 7]);
    }

    #[test]
    fn what_every_packet_needs_lies_in_the_first_128_bytes() {
        let segments = std::mem::offset_of!(Packet, body) + std::mem::offset_of!(Transmit, segment);
        let options = segments + std::mem::offset_of!(Segment, options);
        let blocks = options + std::mem::offset_of!(Options, sack);
        assert!(blocks < 128, "blocks start at {blocks}");
    }

    #[test]
    fn what_is_no_packet_has_no_class_and_a_flow_of_its_own() {
        let packet = |bytes: &[u8]| {
            PacketBox(Box::new(Packet { body: Body::Raw(bytes.to_vec().into()), ..Packet::default() }))
        };
        assert_eq!((packet(&[]).class(), packet(&[0x45]).flow_key()), (0, 0));
    }
}
