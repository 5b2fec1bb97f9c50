//! Headers of packets, as far as they are not protected (RFC 9000 §17).

use serde::Serialize;

use crate::bytes::Bytes;
use crate::keys::VERSION_2;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Initial (RFC 9000 §17.2.2).
    Initial,
    /// 0-RTT (§17.2.3).
    ZeroRtt,
    /// Handshake (§17.2.4).
    Handshake,
    /// Retry (§17.2.5), which has no number.
    Retry,
    /// Version Negotiation (§17.2.1), which has no number.
    VersionNegotiation,
    /// 1-RTT, with a short header (§17.3.1).
    OneRtt,
}

/// A packet number space (RFC 9000 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Of Initial packets.
    Initial,
    /// Of Handshake packets.
    Handshake,
    /// Of 0-RTT and 1-RTT packets.
    Application,
}

impl Kind {
    /// Its name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::ZeroRtt => "zero_rtt",
            Self::Handshake => "handshake",
            Self::Retry => "retry",
            Self::VersionNegotiation => "version_negotiation",
            Self::OneRtt => "one_rtt",
        }
    }

    /// The space of its numbers.
    #[must_use]
    pub const fn space(self) -> Option<Space> {
        match self {
            Self::Initial => Some(Space::Initial),
            Self::Handshake => Some(Space::Handshake),
            Self::ZeroRtt | Self::OneRtt => Some(Space::Application),
            Self::Retry | Self::VersionNegotiation => None,
        }
    }
}

impl Space {
    /// Its name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Handshake => "handshake",
            Self::Application => "application",
        }
    }
}

/// The unprotected part of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    pub(crate) kind: Kind,
    /// Zero in a short header, which has none, and in Version Negotiation.
    pub(crate) version: u32,
    pub(crate) destination: &'a [u8],
    /// Empty in a short header.
    pub(crate) source: &'a [u8],
    /// Position of the packet number.
    pub(crate) number_at: usize,
    /// Length of the whole packet, which may be more than was captured.
    pub(crate) len: usize,
}

impl<'a> Header<'a> {
    /// Reads the header of the packet that comes first. `short_id_len` is the length of connection IDs in short
    /// headers of this direction.
    pub(crate) fn read(packet: &'a [u8], short_id_len: Option<usize>) -> Option<Self> {
        let first = *packet.first()?;
        if first & LONG == 0 { Self::short(packet, short_id_len?) } else { Self::long(packet) }
    }

    fn short(packet: &'a [u8], id_len: usize) -> Option<Self> {
        let mut rest = Bytes(packet);
        if rest.u8()? & FIXED == 0 {
            return None;
        }
        let destination = rest.take(id_len)?;
        let (kind, number_at, len) = (Kind::OneRtt, 1 + id_len, packet.len());
        Some(Self { kind, version: 0, destination, source: &[], number_at, len })
    }

    fn long(packet: &'a [u8]) -> Option<Self> {
        let mut rest = Bytes(packet);
        let first = rest.u8()?;
        let version = rest.u32()?;
        let destination = rest.vector(1)?.0;
        let source = rest.vector(1)?.0;
        let kind = kind_of(first, version)?;
        let whole = Self { kind, version, destination, source, number_at: packet.len(), len: packet.len() };
        match kind {
            Kind::Retry | Kind::VersionNegotiation => return Some(whole),
            _ if first & FIXED == 0 || destination.len() > LONGEST_ID || source.len() > LONGEST_ID => {
                return None;
            }
            Kind::Initial => {
                rest.counted()?;
            }
            _ => {}
        }
        let len = usize::try_from(rest.variable()?).ok()?;
        let number_at = packet.len() - rest.len();
        Some(Self { number_at, len: number_at.checked_add(len)?, ..whole })
    }
}

/// RFC 9000 §17.2; version 2 has other codes (RFC 9369 §3.2).
fn kind_of(first: u8, version: u32) -> Option<Kind> {
    let kinds = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry];
    let code = usize::from(first >> 4 & 3);
    match version {
        0 => Some(Kind::VersionNegotiation),
        VERSION_2 => Some(kinds[(code + 3) % 4]),
        version if is_known(version) => Some(kinds[code]),
        _ => None,
    }
}

/// Versions 1 and 2, and the drafts that have the same headers.
pub(crate) const fn is_known(version: u32) -> bool {
    matches!(version, 1 | VERSION_2 | 0xff00_001d..=0xff00_0022)
}

/// The bit of long headers (RFC 8999 §5.1), and the fixed bit (RFC 9000 §17.2).
pub(crate) const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
/// RFC 9000 §17.2.
const LONGEST_ID: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_has_its_own_codes() {
        let kind = |code: u8, version| kind_of(0xc0 | code << 4, version);
        assert_eq!(
            [0, 1, 2, 3].map(|code| kind(code, 1)).map(Option::unwrap),
            [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry]
        );
        assert_eq!(
            [1, 2, 3, 0].map(|code| kind(code, VERSION_2)).map(Option::unwrap),
            [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry]
        );
        assert_eq!((kind(0, 0), kind(0, 7)), (Some(Kind::VersionNegotiation), None));
    }

    #[test]
    fn a_length_beyond_the_datagram_is_kept() {
        let packet = [0xc0, 0, 0, 0, 1, 1, 9, 0, 0, 0x41, 0x00, 5];
        let header = Header::read(&packet, None).expect("it is whole");
        assert_eq!((header.number_at, header.len, header.destination), (11, 267, &[9][..]));
    }
}
