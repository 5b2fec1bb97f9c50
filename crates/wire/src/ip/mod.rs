//! IP headers: [`v4`] (RFC 791) and [`v6`] (RFC 8200).

use std::net::IpAddr;
use std::ops::Range;

use crate::ParseError;

pub mod v4;
pub mod v6;

/// The header of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Version 4.
    V4(v4::Header),
    /// Version 6.
    V6(v6::Header),
}

/// What an IP packet carries, by its assigned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol(pub u8);

/// The part of a fragmented packet that a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Place of its first byte in the whole packet's payload, in bytes.
    pub offset: u16,
    /// Whether more parts follow.
    pub more: bool,
}

/// A decoded header, and where its payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The header.
    pub header: Header,
    /// Where the payload stands in the bytes decoded.
    pub payload: Range<usize>,
    /// Bytes of payload that the header counts and that are not there: cut off by a capture.
    pub missing: u32,
    /// Whether the header's checksum is right; IPv6 has none, and is always right.
    pub checksum_holds: bool,
}

impl Header {
    /// Who sent the packet.
    #[must_use]
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.source),
            Self::V6(header) => IpAddr::V6(header.source),
        }
    }

    /// Whom it is for.
    #[must_use]
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.destination),
            Self::V6(header) => IpAddr::V6(header.destination),
        }
    }

    /// What it carries.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        match self {
            Self::V4(header) => header.protocol,
            Self::V6(header) => header.protocol,
        }
    }

    /// Differentiated services code point and ECN field.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(header) => header.traffic_class,
            Self::V6(header) => header.traffic_class,
        }
    }

    /// The part that it is, if the packet was fragmented.
    #[must_use]
    pub const fn fragment(&self) -> Option<Fragment> {
        match self {
            Self::V4(header) => header.fragment,
            Self::V6(header) => header.fragment,
        }
    }
}

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200 §4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// IPv6 routing header (RFC 8200 §4.4).
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200 §4.5).
    pub const FRAGMENT: Self = Self(44);
    /// ICMP for IPv6.
    pub const ICMP_V6: Self = Self(58);
    /// IPv6 destination options (RFC 8200 §4.6).
    pub const DESTINATION_OPTIONS: Self = Self(60);
}

/// Decodes the header that `packet` begins with.
///
/// # Errors
/// If the version is neither 4 nor 6, or the header is cut off or contradicts itself.
pub fn decode(packet: &[u8]) -> Result<Decoded, ParseError> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => v4::decode(packet),
        Some(6) => v6::decode(packet),
        Some(version) => Err(ParseError::Version(version)),
        None => Err(ParseError::CutOff { header: "IP", need: 1, have: 0 }),
    }
}
