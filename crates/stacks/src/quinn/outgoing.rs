//! A datagram to send.

use std::net::{SocketAddr, SocketAddrV4};

use quinn_proto::{EcnCodepoint, Transmit};

/// A datagram to send.
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) to: SocketAddrV4,
}

impl Outgoing {
    pub(super) fn new(transmit: &Transmit, bytes: Vec<u8>) -> Self {
        let SocketAddr::V4(to) = transmit.destination else { unreachable!("all addresses are of IPv4") };
        Self { bytes, ecn: transmit.ecn, to }
    }
}
