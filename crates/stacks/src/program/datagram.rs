//! The packets that carry datagrams of programs.

use wire::ip::{self, Protocol, v4};
use wire::udp::Datagram;
use wire::{Oddity, Parsed, Payload, Transport};
use workload::{Ends, OutgoingDatagram};

/// The IP packet of a datagram between two ends, of a traffic class, with an identification.
pub(super) fn packet(outgoing: &OutgoingDatagram, ends: Ends, class: u8, identification: u16) -> Vec<u8> {
    let header = v4::Header {
        traffic_class: class << v4::PRECEDENCE_SHIFT,
        ..v4::Header::new(*ends.local.ip(), *ends.remote.ip(), Protocol::UDP, identification)
    };
    let datagram = Datagram {
        source_port: ends.local.port(),
        destination_port: ends.remote.port(),
        payload: Payload::Data(outgoing.payload().into()),
    };
    wire::emit_udp_ipv4_behind(header, &datagram)
}

/// The payload of a datagram from the remote to the local end, if the packet is one and undamaged.
pub(super) fn read(packet: &[u8], ends: Ends) -> Option<Vec<u8>> {
    let Parsed { header: ip::Header::V4(header), transport: Transport::Udp(datagram), oddities, .. } =
        wire::parse(packet).ok()?
    else {
        return None;
    };
    let is_ours = (header.source, datagram.source_port) == (*ends.remote.ip(), ends.remote.port())
        && (header.destination, datagram.destination_port) == (*ends.local.ip(), ends.local.port());
    let damaged = |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum);
    if !is_ours || oddities.iter().any(damaged) {
        return None;
    }
    let mut payload = Vec::new();
    datagram.payload.write_to(&mut payload);
    Some(payload)
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Instant};
    use workload::datagram_number;

    use super::*;

    #[test]
    fn a_packet_is_read_at_its_own_end_alone_and_only_undamaged() {
        let end = |last, port| std::net::SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, last), port);
        let there = Ends { local: end(1, 5), remote: end(2, 6) };
        let back = there.reversed();
        let outgoing = OutgoingDatagram { number: 9, at: Instant::from_nanos(0x0102), size: Bytes(60) };
        let mut packet = packet(&outgoing, there, 5, 1);
        assert_eq!(packet.len(), 60);
        assert_eq!(read(&packet, back).map(|payload| datagram_number(&payload, 0)), Some(9));
        assert_eq!(read(&packet, there), None);
        assert_eq!(read(&packet, Ends { local: end(2, 7), ..back }), None);
        packet[59] ^= 0xff;
        assert_eq!(read(&packet, back), None);
    }
}
