//! From a frame to the innermost IP packet inside: link layers, tunnels, and packets in fragments.
//!
//! Read [`Unpacker`] first. `link_layer.rs` finds the outermost IP packet by the link type, `ether.rs` by EtherType,
//! `tunnel.rs` the packet inside another one, and `fragments.rs` puts fragments together. `unpacked.rs` has the result.

mod ether;
mod field;
mod fragments;
mod link_layer;
mod not_ip;
mod ppp;
mod tunnel;
mod unpacked;
mod wireless;

#[cfg(test)]
mod tests;

use crate::frame::LinkType;
use fragments::Fragments;

pub use not_ip::NotIp;
pub use unpacked::Unpacked;

/// Finds the innermost IP packets of the frames of one interface, in the order of the capture.
#[derive(Clone, Debug, Default)]
pub struct Unpacker {
    fragments: Fragments,
}

impl Unpacker {
    /// The innermost IP packet that `frame` holds or completes. A packet in fragments is returned, whole, with the
    /// frame that completes it, as Wireshark does.
    ///
    /// # Errors
    /// Other contents of the frame: another protocol, or a fragment of a packet that is not complete.
    pub fn unpack<'a>(&mut self, link_type: LinkType, frame: &'a [u8]) -> Result<Unpacked<'a>, NotIp> {
        let mut packet = Unpacked::new(link_layer::ip_packet(link_type, frame)?.into());
        for _ in 0..MOST_LAYERS {
            let Some(decoded) = packet.decoded() else { break };
            if decoded.header.fragment().is_some() {
                let whole = self.fragments.add(packet.bytes(), decoded).ok_or(NotIp::Fragment)?;
                packet = Unpacked::new(whole.into());
            }
            let Some(inner) = tunnel::inner(&packet) else { break };
            packet = inner;
        }
        Ok(packet)
    }
}

/// The outermost IP packet in `frame`.
///
/// # Errors
/// Other contents of the frame.
pub fn ip_packet(link_type: LinkType, frame: &[u8]) -> Result<&[u8], NotIp> {
    link_layer::ip_packet(link_type, frame)
}

/// Most tunnels inside each other that are opened.
const MOST_LAYERS: usize = 8;
