//! Packets from the network to a kernel: consecutive segments go together in one call.

use sim::ExternalPacket;
use wire::offload::Coalesced;

/// A packet that is due, and the host or end that it is for.
pub(crate) type Outgoing = (usize, ExternalPacket);

/// Splits packets into groups that a kernel accepts as one: consecutive segments for the same host, and consecutive
/// datagrams if that host's kernel accepts trains of them.
pub(crate) fn together(
    mut packets: &[Outgoing],
    takes_trains: impl Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, Coalesced<'_>, &[Outgoing])> {
    std::iter::from_fn(move || {
        let ((host, first), later) = packets.split_first()?;
        let new = if takes_trains(*host) { Coalesced::joining } else { Coalesced::new };
        let mut coalesced = new(&first.bytes);
        let added =
            later.iter().take_while(|(other, next)| other == host && coalesced.push(&next.bytes)).count();
        let (these, rest) = packets.split_at(1 + added);
        packets = rest;
        Some((*host, coalesced, these))
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use units::{Instant, PacketId};
    use wire::offload::{Gso, GsoKind, RawPacket, VirtioNetHeader, segments};
    use wire::udp::Datagram;

    use super::*;

    fn datagrams(count: u32) -> Vec<RawPacket> {
        let payload = wire::Payload::Pattern { offset: 0, len: count * 100 };
        let datagram = Datagram { source_port: 1, destination_port: 2, payload };
        let ends = [1, 2].map(|number| Ipv4Addr::new(10, 0, 0, number));
        let bytes = wire::emit_udp_ipv4(ends[0], ends[1], 7, &datagram);
        let gso = Some(Gso { kind: GsoKind::Udp, size: 100 });
        segments(VirtioNetHeader { gso, ..VirtioNetHeader::default() }, bytes).unwrap().collect()
    }

    fn outgoing(host: usize, bytes: &RawPacket) -> Outgoing {
        let (id, sent, due) = (PacketId::in_series(0, 1), Instant::START, Instant::START);
        (host, ExternalPacket { id, sent, due, bytes: bytes.clone() })
    }

    #[test]
    fn consecutive_segments_go_together_and_a_drop_between_them_separates_them() {
        let [one, other] = [datagrams(6), datagrams(2)];
        let left = [0, 1, 2, 4, 5].map(|place| outgoing(1, &one[place]));
        let to_another = [outgoing(0, &other[0]), outgoing(1, &other[1])];
        let all = [&left[..], &to_another].concat();
        let sizes: Vec<_> = together(&all, |_| false)
            .map(|(host, coalesced, these)| (host, coalesced.packets(), these.len()))
            .collect();
        assert_eq!(sizes, [(1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 1, 1)]);
        let again: Vec<RawPacket> =
            together(&all, |_| false).flat_map(|(_, coalesced, _)| coalesced.segments()).collect();
        assert_eq!(again, all.iter().map(|(_, packet)| packet.bytes.clone()).collect::<Vec<_>>());
        assert_eq!(together(&[], |_| true).count(), 0);
    }
}
