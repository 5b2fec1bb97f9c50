//! IP headers: [`v4`] (RFC 791) and [`v6`] (RFC 8200).

use std::net::IpAddr;

use crate::ParseError;

mod decoded;
mod protocol;
pub mod v4;
pub mod v6;

pub use decoded::{Decoded, Fragment};
pub use protocol::Protocol;

/// The header of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Version 4.
    V4(v4::Header),
    /// Version 6.
    V6(v6::Header),
}

impl Header {
    /// Source address.
    #[must_use]
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.source),
            Self::V6(header) => IpAddr::V6(header.source),
        }
    }

    /// Destination address.
    #[must_use]
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.destination),
            Self::V6(header) => IpAddr::V6(header.destination),
        }
    }

    /// Protocol of the payload.
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

    /// The identification, which version 6 has in fragments only.
    #[must_use]
    pub const fn identification(&self) -> Option<u16> {
        match self {
            Self::V4(header) => Some(header.identification),
            Self::V6(_) => None,
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

/// Decodes the header that `packet` begins with.
///
/// # Errors
/// If the version is neither 4 nor 6, or the header is cut off or contradicts itself.
pub fn decode(packet: &[u8]) -> Result<Decoded<Header>, ParseError> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => v4::decode(packet).map(|decoded| decoded.map(Header::V4)),
        Some(6) => v6::decode(packet).map(|decoded| decoded.map(Header::V6)),
        Some(version) => Err(ParseError::Version(version)),
        None => Err(ParseError::CutOff { header: "IP", need: 1, have: 0 }),
    }
}
