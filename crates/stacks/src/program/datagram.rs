//! Datagrams of programs: what is in them, and the packets that carry them.

use units::{Bytes, Instant};
use wire::ip::{self, Protocol, v4};
use wire::udp::Datagram;
use wire::{Oddity, Parsed, Payload, Transport};

use crate::stack::Ends;

/// A datagram that a program sends.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingDatagram {
    /// Its number among the datagrams of its side, from 0 on.
    pub number: u64,
    /// When the program sent it.
    pub at: Instant,
    /// The packet, IP header included.
    pub size: Bytes,
}

impl OutgoingDatagram {
    /// The payload: the number and the time at which it was sent, in nanoseconds of the run, as far as it has room for them;
    /// then zeros. Of a number, the last bytes come first to have room.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let length = self.size.0.saturating_sub(HEADERS) as usize;
        let number = self.number.to_be_bytes();
        let mut payload = number[NUMBER - length.min(NUMBER)..].to_vec();
        payload.extend(self.at.as_nanos().to_be_bytes());
        payload.resize(length, 0);
        payload
    }

    /// The IP packet between two ends, of a traffic class, with an identification.
    pub(crate) fn packet(&self, ends: Ends, class: u8, identification: u16) -> Vec<u8> {
        let header = v4::Header {
            traffic_class: class << v4::PRECEDENCE_SHIFT,
            ..v4::Header::new(*ends.local.ip(), *ends.remote.ip(), Protocol::UDP, identification)
        };
        let datagram = Datagram {
            source_port: ends.local.port(),
            destination_port: ends.remote.port(),
            payload: Payload::Data(self.payload().into()),
        };
        wire::emit_udp_ipv4_behind(header, &datagram)
    }
}

/// The size of the packet that carries a payload of so many bytes, IP header included.
#[must_use]
pub const fn datagram_size(payload: usize) -> Bytes {
    Bytes(payload as u64 + HEADERS)
}

/// The number of a datagram; from a payload without room for all of it, the one nearest to the number that is expected, as
/// receivers of RTP do (RFC 3550 §A.1).
#[must_use]
pub fn datagram_number(payload: &[u8], expected: u64) -> u64 {
    let bytes = &payload[..payload.len().min(NUMBER)];
    let low = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    if bytes.len() == NUMBER {
        return low;
    }
    let modulus = 1_u64 << (8 * bytes.len());
    let here = (expected & !(modulus - 1)) | low;
    let near = [Some(here), here.checked_add(modulus), here.checked_sub(modulus)];
    near.into_iter().flatten().min_by_key(|number| number.abs_diff(expected)).unwrap_or(here)
}

/// The payload of a datagram from the remote to the local end, if the packet is one and undamaged.
pub(crate) fn read(packet: &[u8], ends: Ends) -> Option<Vec<u8>> {
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

/// Headers of IPv4 without options (RFC 791) and UDP (RFC 768).
const HEADERS: u64 = 20 + 8;
/// Bytes of a number.
const NUMBER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(number: u64, size: u64) -> OutgoingDatagram {
        OutgoingDatagram { number, at: Instant::from_nanos(0x0102), size: Bytes(size) }
    }

    #[test]
    fn a_payload_has_number_and_time_as_far_as_there_is_room() {
        assert!(outgoing(7, 28).payload().is_empty());
        assert_eq!(outgoing(0x0305, 30).payload(), [3, 5]);
        let whole = outgoing(9, 28 + 20).payload();
        assert_eq!(whole, [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0]);
        // A packet shorter than its headers has no payload.
        assert!(outgoing(7, 3).payload().is_empty());
    }

    #[test]
    fn short_numbers_go_on_behind_their_last() {
        for size in 28..50 {
            for number in [0, 1, 255, 256, 300, 65_536, 70_000] {
                let read = datagram_number(&outgoing(number, size).payload(), number);
                assert_eq!(read, number, "{size}");
            }
        }
        // One byte: 2 after 254 is 258, and 250 is an old one.
        assert_eq!((datagram_number(&[2], 255), datagram_number(&[250], 256)), (258, 250));
        assert_eq!(datagram_number(&[3], 0), 3);
    }

    #[test]
    fn a_packet_is_read_at_its_own_end_alone_and_only_undamaged() {
        let end = |last, port| std::net::SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, last), port);
        let there = Ends { local: end(1, 5), remote: end(2, 6) };
        let back = Ends { local: there.remote, remote: there.local };
        let mut packet = outgoing(9, 60).packet(there, 5, 1);
        assert_eq!(packet.len(), 60);
        assert_eq!(read(&packet, back).map(|payload| datagram_number(&payload, 0)), Some(9));
        assert_eq!(read(&packet, there), None);
        assert_eq!(read(&packet, Ends { local: end(2, 7), ..back }), None);
        packet[59] ^= 0xff;
        assert_eq!(read(&packet, back), None);
    }
}
