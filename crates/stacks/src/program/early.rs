//! Packets that have come for a connection before its program has opened it here.
//!
//! A program whose hosts are on two machines has a copy at each. The copy that waits for a connection may hear later of
//! what led to it than the first packet takes over the links; a kernel would have accepted the connection meanwhile.

use std::collections::{BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use workload::Ends;

/// The packets, and the connections for which none are kept any more.
#[derive(Debug, Default)]
pub(crate) struct EarlyPackets {
    listening: BTreeSet<SocketAddrV4>,
    /// The ends at which connections have been opened, and their peers.
    opened: BTreeSet<(SocketAddrV4, SocketAddrV4)>,
    kept: VecDeque<Early>,
}

#[derive(Debug)]
struct Early {
    local: SocketAddrV4,
    remote: SocketAddrV4,
    packet: Vec<u8>,
}

impl EarlyPackets {
    /// Keeps packets to a listening end from now on.
    pub(crate) fn watch(&mut self, listening: SocketAddrV4) {
        self.listening.insert(listening);
    }

    /// A connection is opened.
    pub(crate) fn open(&mut self, Ends { local, remote }: Ends) {
        if self.listening.contains(&local) {
            self.opened.insert((local, remote));
        }
    }

    /// Keeps a packet, if it is for a connection that is yet to be opened. Returns whether it is.
    pub(crate) fn keep(&mut self, packet: &[u8]) -> bool {
        if self.listening.is_empty() {
            return false;
        }
        let Some([remote, local]) = addresses(packet) else { return false };
        let is_early = self.listening.contains(&local) && !self.opened.contains(&(local, remote));
        if is_early {
            self.kept.push_back(Early { local, remote, packet: packet.to_vec() });
            let excess = self.kept.len().saturating_sub(MOST);
            self.kept.drain(..excess);
        }
        is_early
    }

    /// Takes the packets of a connection, in the order in which they came.
    pub(crate) fn take(&mut self, ends: Ends) -> Vec<Vec<u8>> {
        let is_its = |early: &Early| (early.local, early.remote) == (ends.local, ends.remote);
        let (its, others) = std::mem::take(&mut self.kept).into_iter().partition::<Vec<_>, _>(is_its);
        self.kept = others.into();
        its.into_iter().map(|early| early.packet).collect()
    }
}

/// The ends between which an IPv4 packet of TCP or UDP goes: its source, then its destination. Both begin with the
/// ports (RFC 9293 §3.1, RFC 768).
fn addresses(packet: &[u8]) -> Option<[SocketAddrV4; 2]> {
    let header = packet.get(..20)?;
    let ports = packet.get(usize::from(header[0] & 15) * 4..)?.get(..4)?;
    let end = |at: usize, port: [u8; 2]| {
        let address = Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        SocketAddrV4::new(address, u16::from_be_bytes(port))
    };
    Some([end(12, [ports[0], ports[1]]), end(16, [ports[2], ports[3]])])
}

/// Packets that are kept at most: more than the first flights of the connections that one round trip between two
/// machines can open. Of more than that the oldest are lost, and sent again.
const MOST: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn end(last: u8, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port)
    }

    fn packet(from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[0] = 0x45;
        packet[12..16].copy_from_slice(&from.ip().octets());
        packet[16..20].copy_from_slice(&to.ip().octets());
        packet[20..22].copy_from_slice(&from.port().to_be_bytes());
        packet[22..24].copy_from_slice(&to.port().to_be_bytes());
        packet
    }

    #[test]
    fn packets_wait_for_their_connection_and_for_it_alone() {
        let (listening, first, second) = (end(2, 5001), end(1, 20_001), end(1, 20_002));
        let mut early = EarlyPackets::default();
        assert!(!early.keep(&packet(first, listening)), "nothing is kept for an end that was not named");
        early.watch(listening);
        assert!(early.keep(&packet(first, listening)) && early.keep(&packet(second, listening)));
        assert!(!early.keep(&packet(first, end(2, 5002))) && !early.keep(&[]));
        let ends = Ends { local: listening, remote: first };
        early.open(ends);
        assert_eq!(early.take(ends), [packet(first, listening)]);
        assert!(!early.keep(&packet(first, listening)), "it is open");
        assert_eq!(early.take(Ends { remote: second, ..ends }), [packet(second, listening)]);
    }
}
