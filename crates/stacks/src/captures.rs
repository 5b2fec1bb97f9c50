//! The packets captured at each host, and the flows' statistics from them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use sim::{
    ExternalEvent, ExternalFate, ExternalPacket, FlowReading, FlowSpec, FlowSummary, FlowTotals,
    MilestoneSummary, Spec,
};
use trace::capture::Capture;
use trace::flow::{Flow, HalfConnection, Side};
use units::{Bytes, FlowId, Instant, PacketId};
use wire::{Parsed, Transport};

use crate::addresses::original_port;
use crate::passed::PassedPackets;

/// One capture for each host, in the order of the hosts.
#[derive(Debug)]
pub struct HostCaptures {
    captures: Vec<Capture>,
    /// Datagrams that were lost on their way between two ends, from the first to the second.
    lost_datagrams: BTreeMap<[SocketAddrV4; 2], u64>,
    passed: PassedPackets,
    /// The first addresses of hosts with a second one, by that.
    first_addresses: BTreeMap<Ipv4Addr, Ipv4Addr>,
    /// The ends from which connections have continued, by those with which they were opened: that which continues, then
    /// its peer's.
    continued: BTreeMap<[SocketAddrV4; 2], BTreeSet<[SocketAddrV4; 2]>>,
}

impl HostCaptures {
    /// Makes empty captures for `hosts` hosts whose flows are not known beforehand.
    #[must_use]
    pub fn without_flows(hosts: usize) -> Self {
        Self {
            captures: vec![Capture::new(); hosts],
            lost_datagrams: BTreeMap::new(),
            passed: PassedPackets::default(),
            first_addresses: BTreeMap::new(),
            continued: BTreeMap::new(),
        }
    }

    /// Makes empty captures for `hosts` hosts of `spec`, between which `flows` run. They note when a flow reaches one
    /// of the milestones.
    #[must_use]
    pub fn new(spec: &Spec, hosts: usize, flows: &[FlowSpec]) -> Self {
        let mut milestones: Vec<Bytes> =
            flows.iter().flat_map(|flow| flow.milestones.iter().copied()).collect();
        milestones.sort();
        milestones.dedup();
        let captures = vec![Capture::with_milestones(milestones); hosts];
        Self { captures, passed: PassedPackets::new(spec, flows), ..Self::without_flows(0) }
    }

    /// The same, of hosts with second addresses: packets from and to those count as of the first ones.
    #[must_use]
    pub(crate) fn with_first_addresses(self, first_addresses: BTreeMap<Ipv4Addr, Ipv4Addr>) -> Self {
        Self { first_addresses, ..self }
    }

    /// Captures a packet that a host sent, or its headers alone.
    pub fn handle_sent(&mut self, now: Instant, host: usize, id: PacketId, packet: &[u8]) {
        // A packet that is not IP concerns no flow.
        let Ok(sent) = wire::parse(packet) else { return };
        let parsed = self.as_opened(sent.clone());
        if parsed != sent
            && let (Some(opened), Some(present)) = (ends_of(&parsed), ends_of(&sent))
        {
            // Of a connection, the end that continues sends from another place; what its peer sends only goes there.
            let is_of_peer = opened[0] == present[0];
            let from_mover =
                |[one, other]: [SocketAddrV4; 2]| if is_of_peer { [other, one] } else { [one, other] };
            self.continued.entry(from_mover(opened)).or_default().insert(from_mover(present));
        }
        self.passed.on_sent(&parsed, packet.len() + parsed.missing as usize);
        self.captures[host].handle_parsed(now, id, &parsed);
    }

    /// Captures a packet that a host received.
    pub fn handle_received(&mut self, now: Instant, host: usize, packet: &ExternalPacket) {
        let Ok(parsed) = wire::parse(&packet.bytes.to_headers()) else { return };
        let parsed = self.as_opened(parsed);
        self.passed.on_received(&parsed, now.saturating_since(packet.sent));
        self.captures[host].handle_parsed(now, packet.id, &parsed);
    }

    /// Enters the delays of a flow's packets and its acknowledgments into its summary.
    pub fn complete(&self, flow: FlowId, summary: &mut FlowSummary) {
        self.passed.complete(flow, summary);
    }

    /// Enters the packets of a flow so far into its totals.
    pub(crate) fn add_passed(&self, flow: FlowId, totals: &mut FlowTotals, is_opaque: bool) {
        self.passed.add_to(flow, totals, is_opaque);
    }

    /// Notes a drop or delay of a packet in every capture: the loss of an acknowledgment explains the behaviour of the
    /// host that it was sent to.
    pub fn handle_event(&mut self, event: &ExternalEvent) {
        if matches!(event.fate, ExternalFate::Lost { .. })
            && let Ok(lost) = wire::parse(&event.bytes)
            && let Some(ends) = ends_of(&self.as_opened(lost))
        {
            *self.lost_datagrams.entry(ends).or_default() += 1;
        }
        for capture in &mut self.captures {
            match event.fate {
                ExternalFate::Lost { rule } => capture.handle_loss(event.at, event.id, &event.bytes, rule),
                ExternalFate::Delayed { by, cause } => {
                    capture.handle_delay(event.at, &event.bytes, by, cause)
                }
            }
        }
    }

    /// Returns the latest flow captured at `host` between two ends. The end that opened it comes first.
    #[must_use]
    pub fn flow(&self, host: usize, ends: [SocketAddrV4; 2]) -> Option<&Flow> {
        let ends = ends.map(SocketAddr::V4);
        self.captures[host].flows().iter().rev().find(|flow| flow.ends() == ends)
    }

    /// Returns the latest connection captured at `host` between two ends, whichever opened it, and the side of the
    /// first.
    #[must_use]
    pub fn connection(&self, host: usize, ends: [SocketAddrV4; 2]) -> Option<(&Flow, Side)> {
        let ends = ends.map(SocketAddr::V4);
        let side = |flow: &Flow| match flow.ends() {
            known if known == ends => Some(Side::Opener),
            [opener, answerer] if [answerer, opener] == ends => Some(Side::Answerer),
            _ => None,
        };
        self.captures[host].flows().iter().rev().find_map(|flow| Some((flow, side(flow)?)))
    }

    /// Returns the other ends that packets of a connection have had, which continued from another port or address.
    pub(crate) fn continued(&self, ends: [SocketAddrV4; 2]) -> impl Iterator<Item = [SocketAddrV4; 2]> {
        let [from, to] = ends;
        let by_from = self.continued.get(&ends).into_iter().flatten().copied();
        let by_to = self.continued.get(&[to, from]).into_iter().flatten();
        by_from.chain(by_to.map(|[to, from]| [*from, *to]))
    }

    /// Returns the number of datagrams from the first of two ends to the second that were lost.
    #[must_use]
    pub fn lost_datagrams(&self, ends: [SocketAddrV4; 2]) -> u64 {
        self.lost_datagrams.get(&ends).copied().unwrap_or(0)
    }

    /// A packet of a connection that continues from another port or address, as one from its first.
    fn as_opened(&self, mut parsed: Parsed) -> Parsed {
        if let Transport::Udp(datagram) = &mut parsed.transport {
            datagram.source_port = original_port(datagram.source_port);
            datagram.destination_port = original_port(datagram.destination_port);
            if let wire::ip::Header::V4(header) = &mut parsed.header {
                for address in [&mut header.source, &mut header.destination] {
                    *address = self.first_addresses.get(address).copied().unwrap_or(*address);
                }
            }
        }
        parsed
    }
}

/// Returns the ends of a datagram, of UDP or with data of DCCP: its source, then its destination.
fn ends_of(parsed: &Parsed) -> Option<[SocketAddrV4; 2]> {
    let wire::ip::Header::V4(header) = &parsed.header else { return None };
    let [source, destination] = match &parsed.transport {
        Transport::Udp(datagram) => [datagram.source_port, datagram.destination_port],
        Transport::Dccp(packet) if packet.kind.has_data() => [packet.source_port, packet.destination_port],
        _ => return None,
    };
    Some([SocketAddrV4::new(header.source, source), SocketAddrV4::new(header.destination, destination)])
}

/// Returns the statistics of a flow with one connection, captured at the host that opens it and sends. A flow without
/// packets has only its names.
#[must_use]
pub fn summarise(spec: &FlowSpec, names: [&str; 2], captured: Option<&Flow>) -> FlowSummary {
    let connections: Vec<_> = captured.map(|flow| (flow, Side::Opener)).into_iter().collect();
    summarise_all(spec, names, &connections)
}

/// Returns the statistics of a flow with all its connections, captured at the flow's `from`, each with the side that is
/// there. Milestones are those of the first connection, as in virtual time.
#[must_use]
pub fn summarise_all(spec: &FlowSpec, names: [&str; 2], connections: &[(&Flow, Side)]) -> FlowSummary {
    let [from, to] = names.map(str::to_owned);
    let milestones = connections.first().map_or_else(Vec::new, |(flow, side)| milestones(spec, flow, *side));
    FlowSummary { flow: spec.name.clone(), from, to, milestones, ..total(connections) }
}

/// Returns the statistics of connections together, without names and milestones.
fn total(connections: &[(&Flow, Side)]) -> FlowSummary {
    let mut summary = FlowSummary::default();
    connections.iter().for_each(|(flow, side)| add(flow.half(*side), &mut summary));
    let began = connections.iter().map(|(flow, _)| flow.syn_at().unwrap_or(flow.first_seen())).min();
    let ended = connections.iter().filter_map(|(flow, side)| flow.half(*side).last_progress()).max();
    let elapsed_s = began.zip(ended).map(|(began, ended)| ended.saturating_since(began).as_secs_f64());
    let bytes = summary.bytes;
    FlowSummary {
        elapsed_s,
        throughput_bps: elapsed_s.filter(|elapsed| *elapsed > 0.0).map(|elapsed| bytes as f64 / elapsed),
        completed: !connections.is_empty() && connections.iter().all(|(flow, side)| flow.completed(*side)),
        ..summary
    }
}

/// Returns the statistics of what one side of a captured flow sent, without names and milestones.
#[must_use]
pub fn summary_of(flow: &Flow, side: Side) -> FlowSummary {
    total(&[(flow, side)])
}

/// Adds what a sender did on one connection.
fn add(sender: &HalfConnection, summary: &mut FlowSummary) {
    let (counters, diagnosis) = (sender.counters(), sender.diagnosis());
    summary.bytes += sender.acked().0;
    summary.segments_sent += counters.data_segments;
    summary.retransmissions += counters.retransmissions;
    summary.unnecessary_retransmissions += diagnosis.unnecessary_retransmissions();
    summary.timeouts += counters.timeouts;
    summary.spurious_timeouts += diagnosis.spurious_timeouts();
    summary.fast_retransmits += counters.fast_retransmits;
    for (cause, count) in diagnosis.causes() {
        *summary.causes.entry(cause.to_owned()).or_default() += count;
    }
}

/// Adds what a sender has done so far on one connection to the totals of its flow.
pub(crate) fn add_so_far(sender: &HalfConnection, counts: &mut FlowReading) {
    let counters = sender.counters();
    counts.sent += counters.data_bytes;
    counts.acked += sender.acked().0;
    counts.segments += counters.data_segments;
    counts.retransmissions += counters.retransmissions;
    counts.timeouts += counters.timeouts;
}

/// Returns the flow's milestones in the order of the specification. The capture notes those of all flows for each.
fn milestones(spec: &FlowSpec, flow: &Flow, sender: Side) -> Vec<MilestoneSummary> {
    let began = flow.syn_at().unwrap_or(flow.first_seen());
    let seen = |bytes: &Bytes| flow.half(sender).milestones().iter().find(|one| one.bytes == *bytes);
    let wanted = spec.milestones.iter().filter_map(seen);
    wanted
        .map(|one| MilestoneSummary {
            bytes: one.bytes.0,
            elapsed_s: one.at.map(|at| at.saturating_since(began).as_secs_f64()),
            retransmissions: one.retransmissions,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use units::Seq;
    use wire::offload::{Gso, GsoKind, RawPacket, VirtioNetHeader, segments};
    use wire::{Flags, Options, Payload, Segment};

    use super::*;

    const PORTS: [u16; 2] = [1000, 2000];

    fn address(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, number)
    }

    fn sent(seq: u32, flags: Flags, len: u32) -> Vec<u8> {
        let segment = Segment {
            source_port: PORTS[0],
            destination_port: PORTS[1],
            seq: Seq(seq),
            ack: Seq(1),
            flags,
            window: 100,
            options: Options::default(),
            ecn: wire::Ecn::NotCapable,
            payload: Payload::Pattern { offset: 0, len },
        };
        wire::emit_ipv4(address(1), address(2), 7, &segment)
    }

    /// State of a capture after three segments that a kernel handed over as one, of which the second is retransmitted.
    fn seen(show: fn(&RawPacket) -> Vec<u8>) -> (u64, u64, u64) {
        let gso = Some(Gso { kind: GsoKind::TcpV4, size: 1000 });
        let header = VirtioNetHeader { gso, ..VirtioNetHeader::default() };
        let mut packets: Vec<_> = segments(header, sent(100, Flags::ACK, 2500)).unwrap().collect();
        packets.push(packets[1].clone());
        let mut captures = HostCaptures::without_flows(1);
        captures.handle_sent(Instant::START, 0, PacketId::in_series(0, 1), &sent(99, Flags::SYN, 0));
        for (number, packet) in (2..).zip(&packets) {
            captures.handle_sent(Instant::START, 0, PacketId::in_series(0, number), &show(packet));
        }
        let ends = [SocketAddrV4::new(address(1), PORTS[0]), SocketAddrV4::new(address(2), PORTS[1])];
        let flow = captures.flow(0, ends).expect("it was captured");
        let counters = flow.half(Side::Opener).counters();
        (counters.data_segments, counters.retransmissions, summary_of(flow, Side::Opener).segments_sent)
    }

    #[test]
    fn headers_of_a_segment_give_a_capture_as_much_as_the_whole() {
        let whole = seen(|packet| packet.to_bytes().into_owned());
        assert_eq!(whole, (4, 1, 4));
        assert_eq!(seen(|packet| packet.to_headers().into_owned()), whole);
    }
}
