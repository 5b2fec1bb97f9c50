//! Segments that a kernel may take as one.

use super::virtio::{ChecksumPlace, Gso, VirtioNetHeader};
use super::{Form, RawPacket};

/// A packet, with those that follow it directly in the larger packet that it was part of.
#[derive(Clone, Copy, Debug)]
pub struct Coalesced<'a> {
    first: &'a RawPacket,
    count: u16,
}

impl<'a> Coalesced<'a> {
    /// A packet by itself.
    #[must_use]
    pub fn new(packet: &'a RawPacket) -> Self {
        Self { first: packet, count: 1 }
    }

    /// Adds a packet, unless it does not follow or has another mark. Returns whether it was added.
    pub fn push(&mut self, packet: &RawPacket) -> bool {
        let follows = self.is_followed_by(packet);
        self.count += u16::from(follows);
        follows
    }

    /// How many packets it stands for.
    #[must_use]
    pub fn packets(&self) -> u16 {
        self.count
    }

    /// The packets, one by one.
    pub fn segments(&self) -> impl Iterator<Item = RawPacket> + use<> {
        let (first, count) = (self.first.clone(), self.count);
        (0..count).map(move |place| first.following(place))
    }

    /// Appends what comes before the payload, the header of virtio first, and returns the payload.
    pub fn write(&self, head: &mut Vec<u8>) -> &'a [u8] {
        match &self.first.0 {
            Form::Whole { bytes, checksum } => {
                VirtioNetHeader { checksum: *checksum, ..VirtioNetHeader::default() }.write(head);
                bytes
            }
            Form::Segment { of, index, is_marked } => {
                self.virtio(of.gso(), of.headers_len(), of.checksum_place()).write(head);
                of.write_headers(*index, self.count, *is_marked, head);
                of.payload(*index, self.count)
            }
        }
    }

    fn virtio(&self, gso: Gso, headers_len: usize, place: ChecksumPlace) -> VirtioNetHeader {
        VirtioNetHeader {
            checksum: Some(place),
            gso: (self.count > 1).then_some(gso),
            headers_len: headers_len as u16,
        }
    }

    fn is_followed_by(&self, packet: &RawPacket) -> bool {
        let (
            Form::Segment { of, index, is_marked },
            Form::Segment { of: same, index: next, is_marked: mark },
        ) = (&self.first.0, &packet.0)
        else {
            return false;
        };
        std::sync::Arc::ptr_eq(of, same)
            && index + self.count == *next
            && is_marked == mark
            // CWR is the first segment's alone, and a kernel wants to be told of it (VIRTIO_NET_HDR_GSO_ECN).
            && !(*index == 0 && of.has_cwr())
    }
}
