//! Who a packet is.

use std::fmt;

/// The identity of one packet on the wire, unique in a run, given by the world at birth.
///
/// A retransmission is a new packet; a copy made by a link is a new packet too. Identities grow in
/// the order of birth, so the earlier of two copies has the smaller one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

impl fmt::Display for PacketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
