//! Packets that a kernel may take as one.

use std::sync::Arc;

use super::super_packet::SuperPacket;
use super::train::Train;
use super::virtio::{ChecksumPlace, Gso, VirtioNetHeader};
use super::{Form, RawPacket};

/// A packet and its direct successors: parts of one larger packet, or separate datagrams.
#[derive(Clone, Debug)]
pub struct Coalesced<'a>(Parts<'a>);

#[derive(Clone, Debug)]
enum Parts<'a> {
    /// A single packet, and whether datagrams may join it.
    One { first: &'a RawPacket, joins: bool },
    /// Segments of a larger packet, from the first one on.
    Segments { first: &'a RawPacket, count: u16 },
    /// Separate datagrams.
    Train(Train<'a>),
}

impl<'a> Coalesced<'a> {
    /// A single packet. Segments of the larger packet that it was part of may be added.
    #[must_use]
    pub fn new(packet: &'a RawPacket) -> Self {
        Self(Parts::One { first: packet, joins: false })
    }

    /// The same, for a kernel that takes a train of datagrams: those may be added too.
    #[must_use]
    pub fn joining(packet: &'a RawPacket) -> Self {
        Self(Parts::One { first: packet, joins: true })
    }

    /// Adds a packet, unless it does not follow or has another mark. Returns whether it was added.
    pub fn push(&mut self, packet: &'a RawPacket) -> bool {
        match &mut self.0 {
            Parts::One { first, joins } => {
                let joined = joined(first, packet, *joins);
                let added = joined.is_some();
                joined.into_iter().for_each(|parts| self.0 = parts);
                added
            }
            Parts::Segments { first, count } => {
                let follows = is_followed_by(first, *count, packet);
                *count += u16::from(follows);
                follows
            }
            Parts::Train(train) => train.push(packet),
        }
    }

    /// Number of packets in it.
    #[must_use]
    pub fn packets(&self) -> usize {
        match &self.0 {
            Parts::One { .. } => 1,
            Parts::Segments { count, .. } => usize::from(*count),
            Parts::Train(train) => train.len(),
        }
    }

    /// The packets, one by one.
    pub fn segments(&self) -> impl Iterator<Item = RawPacket> + use<> {
        let packets: Vec<RawPacket> = match &self.0 {
            Parts::One { first, .. } => vec![(*first).clone()],
            Parts::Segments { first, count } => (0..*count).map(|place| first.following(place)).collect(),
            Parts::Train(train) => train.packets().collect(),
        };
        packets.into_iter()
    }

    /// Appends the headers, virtio's first, and returns the payload. The payload of a train is appended too, and the
    /// returned one is empty.
    pub fn write(&self, head: &mut Vec<u8>) -> &'a [u8] {
        match &self.0 {
            Parts::One { first, .. } => write_one(first, 1, head),
            Parts::Segments { first, count } => write_one(first, *count, head),
            Parts::Train(train) => {
                train.write(head);
                &[]
            }
        }
    }
}

/// Two packets as one, where a kernel takes them so.
fn joined<'a>(first: &'a RawPacket, second: &'a RawPacket, joins: bool) -> Option<Parts<'a>> {
    if is_followed_by(first, 1, second) {
        return Some(Parts::Segments { first, count: 2 });
    }
    let mut train = Train::of(first).filter(|_| joins)?;
    train.push(second).then_some(Parts::Train(train))
}

/// Writes a packet, or `count` segments of a larger one.
fn write_one<'a>(first: &'a RawPacket, count: u16, head: &mut Vec<u8>) -> &'a [u8] {
    match &first.0 {
        Form::Whole { bytes, checksum } => {
            VirtioNetHeader { checksum: *checksum, ..VirtioNetHeader::default() }.write(head);
            bytes
        }
        Form::Segment { of, index, is_marked } => {
            virtio(of.gso(), count, of.headers_len(), of.checksum_place()).write(head);
            of.write_headers(*index, count, *is_marked, head);
            of.payload(*index, count)
        }
    }
}

fn virtio(gso: Gso, count: u16, headers_len: usize, place: ChecksumPlace) -> VirtioNetHeader {
    VirtioNetHeader {
        checksum: Some(place),
        gso: (count > 1).then_some(gso),
        headers_len: headers_len as u16,
    }
}

/// Whether a packet follows directly after `count` segments of a larger one.
fn is_followed_by(first: &RawPacket, count: u16, packet: &RawPacket) -> bool {
    let (Form::Segment { of, index, is_marked }, Form::Segment { of: same, index: next, is_marked: mark }) =
        (&first.0, &packet.0)
    else {
        return false;
    };
    Arc::ptr_eq(of, same)
        && index + count == *next
        && is_marked == mark
        // Only the first segment carries CWR, and a kernel needs the flag VIRTIO_NET_HDR_GSO_ECN.
        && !(*index == 0 && SuperPacket::has_cwr(of))
}
