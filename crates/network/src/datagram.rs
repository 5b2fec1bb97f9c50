//! UDP datagrams in IPv4 packets, for stacks that have no IP of their own.

use std::net::SocketAddrV4;

use wire::ip::{self, Protocol, v4};
use wire::{Oddity, Payload, Transport};

/// One UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Address and port of the sender.
    pub from: SocketAddrV4,
    /// Address and port of the receiver.
    pub to: SocketAddrV4,
    /// ECN field: 0 (not ECN-capable), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE) (RFC 3168 §5).
    pub ecn: u8,
    /// Payload, at most 65,507 bytes.
    pub payload: Vec<u8>,
}

/// Largest payload: 65,535 bytes less the headers of IPv4 and UDP (RFC 791 §3.1, RFC 768).
pub(crate) const LARGEST_PAYLOAD: usize = 65_535 - 28;

/// The two bits of the traffic class that are the ECN field.
const ECN: u8 = 0b11;

impl Datagram {
    /// The IPv4 packet that carries the datagram.
    pub(crate) fn packet(&self, identification: u16) -> Vec<u8> {
        let header = v4::Header::new(*self.from.ip(), *self.to.ip(), Protocol::UDP, identification);
        let datagram = wire::udp::Datagram {
            source_port: self.from.port(),
            destination_port: self.to.port(),
            payload: Payload::Data(self.payload.clone().into()),
        };
        wire::emit_udp_ipv4_behind(v4::Header { traffic_class: self.ecn & ECN, ..header }, &datagram)
    }

    /// The datagram in an IPv4 packet. None if the packet is damaged, or carries something else.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let parsed = wire::parse(packet).ok()?;
        let is_damage = |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum);
        let (ip::Header::V4(header), Transport::Udp(datagram)) = (parsed.header, parsed.transport) else {
            return None;
        };
        if parsed.oddities.iter().any(is_damage) {
            return None;
        }
        let mut payload = Vec::with_capacity(datagram.payload.len() as usize);
        datagram.payload.write_to(&mut payload);
        Some(Self {
            from: SocketAddrV4::new(header.source, datagram.source_port),
            to: SocketAddrV4::new(header.destination, datagram.destination_port),
            ecn: header.traffic_class & ECN,
            payload,
        })
    }
}
