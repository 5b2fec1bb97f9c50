//! What a link needs to know of a packet.

use units::{Bytes, PacketId};

/// Something that crosses a link.
pub trait Packet {
    /// Who it is.
    fn id(&self) -> PacketId;

    /// Its size at the network layer; the link adds its own framing.
    fn size(&self) -> Bytes;

    /// Marks it as damaged on the way; the receiver's checksum will find out.
    fn corrupt(&mut self);
}
