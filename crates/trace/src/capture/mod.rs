//! The flows among the packets that are seen at a point: as they pass, or from a file.
//!
//! The behaviour of a sender, and its causes, are clearest in a capture at the sender. Elsewhere, the counts of
//! segments and retransmissions cover the packets that passed, and causes are guesses.

mod read;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use units::{Bytes, Duration, Instant, PacketId};
use wire::{ParseError, Parsed, Segment};

use crate::flow::{Flow, ObservedSegment};

pub use read::{Point, read};

/// The packets seen at one point.
///
/// Calls follow the order of events. The time of a packet is when it passed the point. Losses and delays after the
/// point are reported when they happen, if they are known.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    flows: Vec<Flow>,
    /// The latest flow between two ends, the smaller end first.
    latest: BTreeMap<[End; 2], usize>,
    milestones: Vec<Bytes>,
    other: u64,
    unreadable: u64,
}

/// An end as two numbers, which are compared faster than addresses: its port with the version of IP, and its address.
type End = (u32, u128);

impl Capture {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty capture. For each sender it records the times at which these numbers of bytes had been acknowledged.
    #[must_use]
    pub fn with_milestones(milestones: Vec<Bytes>) -> Self {
        Self { milestones, ..Self::default() }
    }

    /// Takes an IP packet that passed. Returns the index of its flow and the segment as seen there; `None` if it is not
    /// TCP.
    ///
    /// # Errors
    /// If the packet cannot be read; it is only counted.
    pub fn handle_packet(
        &mut self,
        at: Instant,
        packet: PacketId,
        bytes: &[u8],
    ) -> Result<Option<(usize, ObservedSegment)>, ParseError> {
        let parsed = wire::parse_headers(bytes).inspect_err(|_| self.handle_unreadable())?;
        Ok(self.handle_parsed(at, packet, &parsed))
    }

    /// The same, for a packet that has been read.
    pub fn handle_parsed(
        &mut self,
        at: Instant,
        packet: PacketId,
        parsed: &Parsed,
    ) -> Option<(usize, ObservedSegment)> {
        let Some(segment) = parsed.segment() else {
            self.other += 1;
            return None;
        };
        let (source, destination) = ends(parsed, segment);
        let index = self.flow_for(at, source, destination, segment);
        let flow = &mut self.flows[index];
        let sender = flow.side(source);
        let identification = parsed.header.identification();
        let observed = flow.handle_segment(at, packet, sender, segment, parsed.missing, identification);
        Some((index, observed))
    }

    /// Counts a packet that passed and cannot be read.
    pub const fn handle_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Reports that a packet that had passed was lost after the point, by `rule`. With these reports the flows' ledgers
    /// can decide which retransmissions were needed.
    pub fn handle_loss(&mut self, at: Instant, packet: PacketId, bytes: &[u8], rule: &'static str) {
        if let Some((flow, parsed)) = self.find(bytes)
            && let Some(segment) = parsed.segment()
        {
            let sender = flow.side(ends(&parsed, segment).0);
            flow.handle_loss(at, packet, sender, segment, parsed.missing, rule);
        }
    }

    /// Reports that a packet is held for an unusual time after the point, because of `cause`.
    pub fn handle_delay(&mut self, at: Instant, bytes: &[u8], by: Duration, cause: &'static str) {
        if let Some((flow, _)) = self.find(bytes) {
            flow.handle_delay(at, by, cause);
        }
    }

    /// The flows, in the order of their first packets.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Packets that were no TCP, or parts of fragmented ones.
    #[must_use]
    pub const fn other_packets(&self) -> u64 {
        self.other
    }

    /// Packets that could not be read.
    #[must_use]
    pub const fn unreadable_packets(&self) -> u64 {
        self.unreadable
    }

    /// The flow to which a segment belongs, new if need be.
    fn flow_for(
        &mut self,
        at: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        segment: &Segment,
    ) -> usize {
        let key = in_order(source, destination);
        if let Some(&index) = self.latest.get(&key) {
            let flow = &self.flows[index];
            if !flow.is_succeeded_by(flow.side(source), segment) {
                return index;
            }
        }
        let index = self.flows.len();
        self.flows.push(Flow::new(at, source, destination, segment.flags, &self.milestones));
        self.latest.insert(key, index);
        index
    }

    fn find(&mut self, bytes: &[u8]) -> Option<(&mut Flow, Parsed)> {
        let parsed = wire::parse_headers(bytes).ok()?;
        let (source, destination) = ends(&parsed, parsed.segment()?);
        let index = *self.latest.get(&in_order(source, destination))?;
        Some((&mut self.flows[index], parsed))
    }
}

fn ends(parsed: &Parsed, segment: &Segment) -> (SocketAddr, SocketAddr) {
    let source = SocketAddr::new(parsed.header.source(), segment.source_port);
    let destination = SocketAddr::new(parsed.header.destination(), segment.destination_port);
    (source, destination)
}

fn in_order(one: SocketAddr, other: SocketAddr) -> [End; 2] {
    let [one, other] = [one, other].map(numbers);
    if one <= other { [one, other] } else { [other, one] }
}

fn numbers(end: SocketAddr) -> End {
    match end.ip() {
        IpAddr::V4(address) => (u32::from(end.port()), u128::from(address.to_bits())),
        IpAddr::V6(address) => (VERSION_6 | u32::from(end.port()), address.to_bits()),
    }
}

const VERSION_6: u32 = 1 << 16;
