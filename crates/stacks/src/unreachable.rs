//! Reports of routers and hosts that a packet of ours cannot be delivered: ICMP "destination unreachable" (RFC 792),
//! with the head of the packet that it is about.

use std::net::{Ipv4Addr, SocketAddrV4};

use wire::ip::v4;
use workload::Ends;

/// The connection to which a message refers, and the reason in words; `None` if it is no such message, or a message
/// that does not end a connection (a packet too large for the path, RFC 1191).
pub(crate) fn read(packet: &[u8], address: Ipv4Addr) -> Option<(Ends, &'static str)> {
    const ICMP: u8 = 1;
    const UNREACHABLE: u8 = 3;
    const ICMP_HEADER_LEN: usize = 8;
    if *packet.get(PROTOCOL)? != ICMP {
        return None;
    }
    let message = packet.get(header_len(packet)?..)?;
    if *message.first()? != UNREACHABLE {
        return None;
    }
    let ends = ends_of(message.get(ICMP_HEADER_LEN..)?)?;
    (*ends.local.ip() == address).then_some((ends, words(*message.get(1)?)?))
}

/// The ends of a TCP segment of ours, of which 8 bytes are enough.
fn ends_of(packet: &[u8]) -> Option<Ends> {
    const TCP: u8 = 6;
    if *packet.get(PROTOCOL)? != TCP {
        return None;
    }
    let address = |from: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(from..from + 4)?).ok()?));
    let ports = packet.get(header_len(packet)?..)?;
    let port = |from: usize| Some(u16::from_be_bytes(ports.get(from..from + 2)?.try_into().ok()?));
    let local = SocketAddrV4::new(address(12)?, port(0)?);
    let remote = SocketAddrV4::new(address(16)?, port(2)?);
    Some(Ends { local, remote })
}

fn header_len(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    let len = usize::from(first & 0xf) * 4;
    (first >> 4 == 4 && len >= v4::HEADER_LEN).then_some(len)
}

/// The codes of RFC 792 and RFC 1812 §5.2.7.1.
const fn words(code: u8) -> Option<&'static str> {
    match code {
        0 | 6 | 11 => Some("no route to the network"),
        1 | 7 | 8 | 12 => Some("no route to the host"),
        2 => Some("the host does not speak TCP"),
        3 => Some("the port is closed"),
        9 | 10 | 13 => Some("a firewall refuses it"),
        _ => None,
    }
}

const PROTOCOL: usize = 9;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wire::ip::Protocol;

    /// A message about a packet.
    pub(crate) fn unreachable(from: Ipv4Addr, to: Ipv4Addr, code: u8, about: &[u8]) -> Vec<u8> {
        let quoted = &about[..28];
        let mut packet = Vec::new();
        v4::Header::new(from, to, Protocol(1), 0).encode(8 + quoted.len(), &mut packet);
        packet.extend([3, code, 0, 0, 0, 0, 0, 0]);
        packet.extend(quoted);
        packet
    }

    #[test]
    fn a_packet_too_large_or_about_somebody_else_says_nothing_and_no_bytes_panic() {
        let [one, other] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let segment = wire::Segment { source_port: 5, destination_port: 80, ..wire::Segment::default() };
        let sent = wire::emit_ipv4(one, other, 1, &segment);
        let message = unreachable(other, one, 0, &sent);
        let (ends, reason) = read(&message, one).unwrap();
        assert_eq!((ends.local.port(), ends.remote.port(), reason), (5, 80, "no route to the network"));
        assert_eq!(read(&unreachable(other, one, 4, &sent), one), None);
        assert_eq!(read(&message, other), None);
        assert!((0..message.len()).all(|len| read(&message[..len], one).is_none_or(|_| len >= 52)));
    }
}
