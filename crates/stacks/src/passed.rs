//! The packets of a flow: the bytes of datagrams that the sending end sent, the delays of packets with data, and the
//! number of packets that the receiving end sent.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sim::{FlowSpec, FlowSummary, FlowTotals, OneWayDelays, Spec};
use units::{Duration, FlowId, IdVec};
use wire::{Parsed, Transport};

use crate::addresses::ends;

/// The packets of all flows with connections.
#[derive(Debug, Default)]
pub(crate) struct PassedPackets {
    /// The flow whose connections have this port at one end, and whether packets from the first address to the second
    /// go from its `from` to its `to`.
    flows: BTreeMap<(Ipv4Addr, Ipv4Addr, u16), (FlowId, bool)>,
    passed: IdVec<FlowId, Passed>,
    /// Whether delays are wanted.
    metered: bool,
}

/// Packets of one flow.
#[derive(Debug, Default)]
struct Passed {
    /// Bytes in the datagrams of the sending end, of UDP or with data of DCCP.
    datagram_bytes: u64,
    acks: u64,
    ack_bytes: u64,
    delays: OneWayDelays,
}

impl PassedPackets {
    pub(crate) fn new(spec: &Spec, flows: &[FlowSpec]) -> Self {
        let mut known = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId::new).zip(flows) {
            let [from, to] = ends(spec, flow, id).into_array();
            known.insert((*from.ip(), *to.ip(), to.port()), (id, true));
            known.insert((*to.ip(), *from.ip(), to.port()), (id, false));
        }
        let passed = flows.iter().map(|_| Passed::default()).collect();
        Self { flows: known, passed, metered: spec.record.measure.links }
    }

    /// A host has sent a packet of `size` bytes.
    pub(crate) fn on_sent(&mut self, packet: &Parsed, size: usize) {
        match self.flow_of(packet) {
            Some((id, false)) => {
                self.passed[id].acks += 1;
                self.passed[id].ack_bytes += size as u64;
            }
            Some((id, true)) => self.passed[id].datagram_bytes += datagram_bytes(packet),
            None => {}
        }
    }

    /// A host has received a packet after this delay.
    pub(crate) fn on_received(&mut self, packet: &Parsed, delay: Duration) {
        let has_data = match &packet.transport {
            Transport::Tcp(segment) => !segment.payload.is_empty() || packet.missing > 0,
            Transport::Dccp(packet) => packet.kind.has_data(),
            _ => false,
        };
        if self.metered
            && has_data
            && let Some((id, true)) = self.flow_of(packet)
        {
            self.passed[id].delays.add(delay);
        }
    }

    /// Enters the packets of a flow into its summary.
    pub(crate) fn complete(&self, flow: FlowId, summary: &mut FlowSummary) {
        let Passed { acks, ack_bytes, delays, .. } = &self.passed[flow];
        (summary.acks, summary.ack_bytes) = (*acks, *ack_bytes);
        if self.metered {
            delays.write_to(&mut summary.measures);
        }
    }

    /// Enters the packets of a flow so far into its totals; those of a stack whose packets are opaque are all that is
    /// known of its bytes.
    pub(crate) fn add_to(&self, flow: FlowId, totals: &mut FlowTotals, is_opaque: bool) {
        let Passed { datagram_bytes, acks, ack_bytes, delays } = &self.passed[flow];
        (totals.counts.acks, totals.counts.ack_bytes) = (*acks, *ack_bytes);
        totals.delays = delays.clone();
        if is_opaque {
            totals.counts.sent = *datagram_bytes;
        }
    }

    fn flow_of(&self, packet: &Parsed) -> Option<(FlowId, bool)> {
        let wire::ip::Header::V4(header) = &packet.header else { return None };
        let (source_port, destination_port) = match &packet.transport {
            Transport::Tcp(segment) => (&segment.source_port, &segment.destination_port),
            Transport::Dccp(packet) => (&packet.source_port, &packet.destination_port),
            Transport::Udp(datagram) => (&datagram.source_port, &datagram.destination_port),
            _ => return None,
        };
        let on = |port: u16| self.flows.get(&(header.source, header.destination, port)).copied();
        on(*destination_port).or_else(|| on(*source_port))
    }
}

/// Bytes in a datagram of UDP, or with data of DCCP.
fn datagram_bytes(packet: &Parsed) -> u64 {
    let present = match &packet.transport {
        Transport::Udp(datagram) => u64::from(datagram.payload.len()),
        Transport::Dccp(packet) if packet.kind.has_data() => u64::from(packet.payload.len()),
        _ => return 0,
    };
    present + u64::from(packet.missing)
}
