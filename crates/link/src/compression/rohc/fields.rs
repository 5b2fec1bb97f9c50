//! The fields of a header as ROHC sees them: the constant ones of a connection, those with changes, and the length
//! of the fields that are sent unchanged.

use super::super::headers::{ACK, FIN, Headers, RST, SYN, URG, be16, be32, ip, tcp};

/// The fields of one header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    pub(super) profile: Profile,
    /// Addresses and ports; of RTP also the source.
    statics: [u8; 16],
    /// Numbers, of which the least significant bits are sent.
    pub(super) numbers: [u32; NUMBERS],
    /// Values that a format with room for them has to send when they change.
    pub(super) signs: [u32; SIGNS],
    /// The marker of RTP, which some formats have room for.
    pub(super) marker: bool,
    /// The length of the packet's data, which the link states.
    pub(super) payload: u32,
    /// Bytes of the options that are sent in every packet, timestamps without.
    pub(super) irregular_options: u32,
    /// Bytes of the list of options, when it is sent whole.
    pub(super) options_list: u32,
    pub(super) has_timestamps: bool,
    pub(super) has_checksum: bool,
    /// Bytes of the fields that change, when all are sent (the dynamic chain).
    pub(super) dynamic: u32,
    /// How the identification changes from packet to packet.
    pub(super) identification: Identification,
    /// The timestamp of RTP.
    pub(super) timestamp: u32,
}

/// How the identification of IPv4 changes from packet to packet (RFC 6846 §6.1.2; RND of RFC 3095).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Identification {
    /// By small steps: its distance to the packet's number is sent.
    #[default]
    Sequential,
    /// In any way: it is sent as it is.
    Random,
    /// It is always zero.
    Zero,
}

/// The profile that compresses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// RFC 6846.
    Tcp,
    /// RFC 3095 profile 2.
    Udp,
    /// RFC 3095 profile 1.
    Rtp,
}

/// Places in [`Fields::numbers`].
pub(super) const NUMBERS: usize = 7;
/// The sequence number of the packets: MSN of RFC 6846, SN of RFC 3095.
pub(super) const SN: usize = 0;
/// The distance of the IP identification to it.
pub(super) const ID: usize = 1;
/// TCP's sequence number; of RTP the distance of the scaled timestamp to SN (TS_SCALED, RFC 3095 §4.5.3).
pub(super) const SEQ: usize = 2;
pub(super) const ACKED: usize = 3;
pub(super) const WINDOW: usize = 4;
pub(super) const TS_VALUE: usize = 5;
pub(super) const TS_ECHO: usize = 6;

/// Places in [`Fields::signs`].
pub(super) const SIGNS: usize = 4;
/// RST, SYN and FIN.
pub(super) const RSF: usize = 0;
/// Kinds and lengths of options, and the values of those that are not numbers.
pub(super) const OPTIONS: usize = 1;
/// Whether the connection uses ECN.
pub(super) const ECN: usize = 2;
/// Fields that no compressed format has here: type of service, time to live, fragment bits, URG, ACK, and whether the
/// IP identification counts.
pub(super) const RARE: usize = 3;

impl Fields {
    /// The fields of a packet with TCP, UDP or RTP over IPv4. Its number among the connection's is added by the
    /// context.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let headers = Headers::read(bytes)?;
        // A compressor without a list for the options of IP takes such a packet as it is.
        if headers.transport != 20 {
            return None;
        }
        if headers.is_tcp() { Some(Self::of_tcp(headers)) } else { Some(Self::of_udp(headers)) }
    }

    fn new(profile: Profile, headers: Headers<'_>) -> Self {
        let mut statics = [0; 16];
        statics[..12].copy_from_slice(&headers.addresses_and_ports());
        let mut fields = Self {
            profile,
            statics,
            numbers: [0; NUMBERS],
            signs: [0; SIGNS],
            marker: false,
            payload: headers.payload(),
            irregular_options: 0,
            options_list: 0,
            has_timestamps: false,
            has_checksum: true,
            dynamic: 0,
            identification: Identification::default(),
            timestamp: 0,
        };
        fields.numbers[ID] = u32::from(headers.ip16(ip::IDENTIFICATION));
        let rare = [
            headers.bytes[ip::TRAFFIC_CLASS] & !ECN_FIELD,
            headers.bytes[ip::TTL],
            headers.bytes[ip::FRAGMENT],
        ];
        fields.signs[RARE] = rare.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
        fields
    }

    fn of_tcp(headers: Headers<'_>) -> Self {
        let mut fields = Self::new(Profile::Tcp, headers);
        let flags = headers.flags();
        let [seq, ack] = [tcp::SEQ, tcp::ACK].map(|place| headers.tcp32(place));
        let window = u32::from(headers.tcp16(tcp::WINDOW));
        (fields.numbers[SEQ], fields.numbers[ACKED], fields.numbers[WINDOW]) = (seq, ack, window);
        fields.signs[RSF] = u32::from(flags & (RST | SYN | FIN));
        fields.signs[RARE] ^=
            u32::from(flags & (URG | ACK)) << 24 ^ u32::from(headers.tcp16(tcp::URGENT)) << 4;
        let has_ecn = headers.bytes[ip::TRAFFIC_CLASS] & ECN_FIELD != 0
            || flags & ECE_AND_CWR != 0
            || headers.tcp_byte(tcp::OFFSET) & 0x0f != 0;
        fields.signs[ECN] = u32::from(has_ecn);
        fields.read_options(&headers.bytes[headers.transport + tcp::OPTIONS..headers.len()], ack);
        // RFC 6846 §6.2: IPv4 3 and the identification 2; TCP flags 2, MSN 2, sequence number 4, window 2, checksum 2,
        // the ACK number and the urgent pointer unless they are zero, the list of options.
        let urgent = if headers.tcp16(tcp::URGENT) > 0 { 2 } else { 0 };
        fields.dynamic = 5 + 12 + if ack > 0 { 4 } else { 0 } + urgent + fields.options_list;
        fields
    }

    /// RFC 6846 §6.3: a list of options has a byte, half a byte for each, and their contents; timestamps and SACK
    /// blocks also go with every packet.
    fn read_options(&mut self, mut options: &[u8], ack: u32) {
        let (mut count, mut contents, mut digest) = (0, 0, FNV_OFFSET);
        let mut mix = |value: u32| digest = (digest ^ value).wrapping_mul(FNV_PRIME);
        while let Some(&kind) = options.first() {
            let length = if kind < 2 { 1 } else { usize::from(*options.get(1).unwrap_or(&2)).max(2) };
            let length = length.min(options.len());
            let (option, rest) = options.split_at(length);
            options = rest;
            count += 1;
            mix(u32::from(kind) << 8 | length as u32);
            match (kind, length) {
                (TIMESTAMPS, 10) => {
                    self.has_timestamps = true;
                    (self.numbers[TS_VALUE], self.numbers[TS_ECHO]) = (be32(option, 2), be32(option, 6));
                    contents += 8;
                }
                (SACK, _) => {
                    let blocks: u32 = option[2..].chunks_exact(8).map(|block| sack_block(block, ack)).sum();
                    self.irregular_options += 1 + blocks;
                    contents += 1 + blocks;
                }
                _ => {
                    option.iter().for_each(|byte| mix(u32::from(*byte)));
                    contents += (length as u32).saturating_sub(2);
                }
            }
        }
        self.options_list = 1 + (count as u32).div_ceil(2) + contents;
        self.signs[OPTIONS] = digest;
    }

    fn of_udp(headers: Headers<'_>) -> Self {
        let at = headers.transport + 8;
        let is_rtp = headers.bytes.len() >= at + 12 && headers.bytes[at] >> 6 == 2;
        let mut fields = Self::new(if is_rtp { Profile::Rtp } else { Profile::Udp }, headers);
        fields.has_checksum = headers.tcp16(6) != 0;
        // RFC 3095 §5.7.7: IPv4 6 with an empty list; UDP 2.
        fields.dynamic = 6 + 2;
        if is_rtp {
            fields.read_rtp(&headers.bytes[at..]);
        } else {
            // The number of the packet.
            fields.dynamic += 2;
        }
        fields
    }

    fn read_rtp(&mut self, rtp: &[u8]) {
        self.statics[12..].copy_from_slice(&rtp[8..12]);
        self.marker = rtp[1] & 0x80 != 0;
        self.signs[RARE] ^= u32::from(rtp[1] & 0x7f) << 24;
        self.numbers[SN] = u32::from(be16(rtp, 2));
        self.timestamp = be32(rtp, 4);
        // Two bytes of flags, SN 2, timestamp 4, an empty list, a byte of flags, TS_STRIDE in 2.
        self.dynamic += 12;
    }

    /// Whether two headers are of one connection and compressed by one profile.
    pub(super) fn is_same_connection(&self, other: &Self) -> bool {
        (self.profile, self.statics) == (other.profile, other.statics)
    }

    /// The number of the packet in its connection.
    pub(super) const fn number(&self) -> u32 {
        self.numbers[SN]
    }

    /// Bytes of the fields that never change (the static chain): IPv4 10, ports 4, RTP's source 4.
    pub(super) const fn statics_length(&self) -> u32 {
        match self.profile {
            Profile::Tcp | Profile::Udp => 14,
            Profile::Rtp => 18,
        }
    }
}

/// RFC 6846 §6.3.4, `sack_block`: the distance of the start to the ACK number, and the length, in 2, 3 or 4 bytes each.
fn sack_block(block: &[u8], ack: u32) -> u32 {
    let (start, end) = (be32(block, 0), be32(block, 4));
    let bytes = |distance: u32| match distance {
        0..0x8000 => 2,
        0x8000..0x40_0000 => 3,
        _ => 4,
    };
    bytes(start.wrapping_sub(ack)) + bytes(end.wrapping_sub(start))
}

const TIMESTAMPS: u8 = 8;
const SACK: u8 = 5;

/// The two bits of ECN in the traffic class, and TCP's (RFC 3168).
const ECN_FIELD: u8 = 0x03;
const ECE_AND_CWR: u8 = 0xc0;

/// The 32-bit hash FNV-1a (Fowler, Noll and Vo).
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;
