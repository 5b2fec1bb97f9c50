//! The identity of a packet.

use std::fmt;

/// The identity of one packet on the wire, unique in a run, given by the world at birth.
///
/// A retransmission is a new packet; a copy made by a link is a new packet too. Each flow numbers its packets in its
/// own series, so that adding a flow changes no packet's identity. Within a series identities grow in the order of
/// birth: the earlier of two copies has the smaller one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

impl PacketId {
    /// Packet `number` of series `series`. A number beyond 2³² runs into the next series.
    #[must_use]
    pub const fn in_series(series: u32, number: u64) -> Self {
        Self(((series as u64) << SERIES_SHIFT).wrapping_add(number))
    }

    /// The series: the place of the packet's flow in the run.
    #[must_use]
    pub const fn series(self) -> u32 {
        (self.0 >> SERIES_SHIFT) as u32
    }

    /// The number within the series.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for PacketId {
    /// `#17`; from the second series on `#1.17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.series() {
            0 => write!(f, "#{}", self.number()),
            series => write!(f, "#{series}.{}", self.number()),
        }
    }
}

/// Half of the bits for each: 2³² flows, and 2³² packets of each.
const SERIES_SHIFT: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_series_is_numbered_plainly() {
        assert_eq!(PacketId(17).to_string(), "#17");
        assert_eq!(PacketId::in_series(0, 17), PacketId(17));
        assert_eq!(PacketId::in_series(2, 17).to_string(), "#2.17");
    }
}
