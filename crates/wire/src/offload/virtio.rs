//! The header before a packet in a virtio queue, and before the packets of a TUN device with `IFF_VNET_HDR`.

/// `struct virtio_net_hdr` (VIRTIO 1.3 §5.1.6), as far as a kernel uses it with a TUN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioNetHeader {
    /// Where the checksum is that is to be finished, if one is.
    pub checksum: Option<ChecksumPlace>,
    /// Segmentation of the packet, if any.
    pub gso: Option<Gso>,
    /// Bytes of all headers; a hint, and 0 where there is none.
    pub headers_len: u16,
}

/// The place of a checksum in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumPlace {
    /// From where on bytes are summed, to the end of the packet.
    pub start: u16,
    /// Where the checksum goes, counted from there.
    pub offset: u16,
}

/// Segmentation of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    /// Kind of segmentation.
    pub kind: GsoKind,
    /// Bytes of payload of all segments but the last.
    pub size: u16,
}

/// Packets that can be segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsoKind {
    /// A TCP segment over IPv4.
    TcpV4,
    /// Datagrams of UDP of equal length, the last perhaps shorter.
    Udp,
}

/// A kind of segmentation that was not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("segmentation of kind {0} (VIRTIO_NET_HDR_GSO): 0, 1 and 5 are known")]
pub struct UnknownGso(pub u8);

impl VirtioNetHeader {
    /// Bytes of the header.
    pub const LEN: usize = 10;

    /// Reads a header. Its numbers are in the byte order of this machine, as TUN devices have them.
    ///
    /// # Errors
    /// If it asks for a kind of segmentation that is not known.
    pub fn read(bytes: &[u8; Self::LEN]) -> Result<Self, UnknownGso> {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(GsoKind::TcpV4),
            GSO_UDP_L4 => Some(GsoKind::Udp),
            unknown => return Err(UnknownGso(unknown)),
        };
        let place = ChecksumPlace { start: number(6), offset: number(8) };
        Ok(Self {
            checksum: (bytes[0] & NEEDS_CSUM != 0).then_some(place),
            gso: kind.map(|kind| Gso { kind, size: number(4) }),
            headers_len: number(2),
        })
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let kind = match self.gso.map(|gso| gso.kind) {
            None => GSO_NONE,
            Some(GsoKind::TcpV4) => GSO_TCPV4,
            Some(GsoKind::Udp) => GSO_UDP_L4,
        };
        let (start, offset) = self.checksum.map_or((0, 0), |place| (place.start, place.offset));
        out.extend_from_slice(&[if self.checksum.is_some() { NEEDS_CSUM } else { 0 }, kind]);
        for number in [self.headers_len, self.gso.map_or(0, |gso| gso.size), start, offset] {
            out.extend_from_slice(&number.to_ne_bytes());
        }
    }
}

/// VIRTIO_NET_HDR_F_NEEDS_CSUM.
const NEEDS_CSUM: u8 = 1;
/// VIRTIO_NET_HDR_GSO_NONE, _TCPV4, _UDP_L4, and the flag _ECN: the first segment has CWR.
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;
