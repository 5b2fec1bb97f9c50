//! Fields of IPv4, TCP, UDP and RTP headers in their bytes (RFC 791 §3.1, RFC 9293 §3.1, RFC 768, RFC 3550 §5.1).

/// The bytes of a packet's headers, IPv4 and a transport.
#[derive(Clone, Copy)]
pub(super) struct Headers<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the transport header begins.
    pub(super) transport: usize,
}

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

pub(super) const URG: u8 = 0x20;
pub(super) const ACK: u8 = 0x10;
pub(super) const PSH: u8 = 0x08;
pub(super) const RST: u8 = 0x04;
pub(super) const SYN: u8 = 0x02;
pub(super) const FIN: u8 = 0x01;

/// Places of fields in the IPv4 header.
pub(super) mod ip {
    pub(in super::super) const TRAFFIC_CLASS: usize = 1;
    pub(in super::super) const LENGTH: usize = 2;
    pub(in super::super) const IDENTIFICATION: usize = 4;
    pub(in super::super) const FRAGMENT: usize = 6;
    pub(in super::super) const TTL: usize = 8;
    pub(in super::super) const PROTOCOL: usize = 9;
    pub(in super::super) const CHECKSUM: usize = 10;
    pub(in super::super) const ADDRESSES: std::ops::Range<usize> = 12..20;
}

/// Places of fields in the TCP header.
pub(super) mod tcp {
    pub(in super::super) const SEQ: usize = 4;
    pub(in super::super) const ACK: usize = 8;
    pub(in super::super) const OFFSET: usize = 12;
    pub(in super::super) const FLAGS: usize = 13;
    pub(in super::super) const WINDOW: usize = 14;
    pub(in super::super) const CHECKSUM: usize = 16;
    pub(in super::super) const URGENT: usize = 18;
    pub(in super::super) const OPTIONS: usize = 20;
}

impl<'a> Headers<'a> {
    /// The headers of a whole, unfragmented IPv4 packet with TCP or UDP; none of any other.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let transport = 4 * usize::from(bytes.first()? & 0x0f);
        let is_v4 = bytes[0] >> 4 == 4 && bytes.len() >= 20;
        // More fragments, or an offset.
        if !is_v4 || be16(bytes, ip::FRAGMENT) & 0x3fff != 0 {
            return None;
        }
        let least = match bytes[ip::PROTOCOL] {
            TCP => tcp::OPTIONS,
            UDP => 8,
            _ => return None,
        };
        let headers = Self { bytes, transport };
        (bytes.len() >= transport + least && bytes.len() >= headers.len()).then_some(headers)
    }

    pub(super) fn is_tcp(self) -> bool {
        self.bytes[ip::PROTOCOL] == TCP
    }

    /// Length of all headers.
    pub(super) fn len(self) -> usize {
        if self.is_tcp() {
            return self.transport + 4 * usize::from(self.tcp_byte(tcp::OFFSET) >> 4);
        }
        self.bytes.len()
    }

    /// Length of the packet's data.
    pub(super) fn payload(self) -> u32 {
        u32::from(self.ip16(ip::LENGTH)).saturating_sub(self.len() as u32)
    }

    pub(super) fn ip16(self, place: usize) -> u16 {
        be16(self.bytes, place)
    }

    pub(super) fn tcp_byte(self, place: usize) -> u8 {
        self.bytes[self.transport + place]
    }

    pub(super) fn tcp16(self, place: usize) -> u16 {
        be16(self.bytes, self.transport + place)
    }

    pub(super) fn tcp32(self, place: usize) -> u32 {
        be32(self.bytes, self.transport + place)
    }

    pub(super) fn flags(self) -> u8 {
        self.tcp_byte(tcp::FLAGS)
    }

    /// Addresses and ports.
    pub(super) fn addresses_and_ports(self) -> [u8; 12] {
        let mut all = [0; 12];
        all[..8].copy_from_slice(&self.bytes[ip::ADDRESSES]);
        all[8..].copy_from_slice(&self.bytes[self.transport..self.transport + 4]);
        all
    }
}

pub(super) fn be16(bytes: &[u8], place: usize) -> u16 {
    u16::from_be_bytes([bytes[place], bytes[place + 1]])
}

pub(super) fn be32(bytes: &[u8], place: usize) -> u32 {
    u32::from(be16(bytes, place)) << 16 | u32::from(be16(bytes, place + 2))
}

pub(super) fn put16(bytes: &mut [u8], place: usize, value: u16) {
    bytes[place..place + 2].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put32(bytes: &mut [u8], place: usize, value: u32) {
    bytes[place..place + 4].copy_from_slice(&value.to_be_bytes());
}

/// Writes the checksum of an IPv4 header (RFC 1071).
pub(super) fn finish_ip_checksum(header: &mut [u8]) {
    put16(header, ip::CHECKSUM, 0);
    let mut sum: u32 = header.chunks_exact(2).map(|pair| u32::from(be16(pair, 0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    put16(header, ip::CHECKSUM, !(sum as u16));
}
