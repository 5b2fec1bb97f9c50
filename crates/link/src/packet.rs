//! The fields of a packet that a link uses, all of its IP and transport headers.

use units::{Bytes, PacketId};

/// A packet that crosses a link. Optional fields have defaults that disable the stages which use them: not ECN-capable,
/// one flow between two hosts, one class, never copied.
pub trait Packet: Sized {
    /// Its identity.
    fn id(&self) -> PacketId;

    /// Its size at the network layer; the link adds its own framing.
    fn size(&self) -> Bytes;

    /// Marks it as damaged on the way; the receiver's checksum will find out.
    fn corrupt(&mut self);

    /// Its ECN field.
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }

    /// Sets its ECN field to "congestion experienced". Called only if it is capable.
    fn mark_ce(&mut self) {}

    /// Key of its flow: equal for packets of one direction of one connection.
    fn flow_key(&self) -> u64 {
        0
    }

    /// The host that sent it.
    fn source(&self) -> u64 {
        0
    }

    /// The host that it is for.
    fn destination(&self) -> u64 {
        0
    }

    /// Its traffic class, 0 the lowest: the precedence of its DSCP (RFC 2474 §4.2.2.1), 0 to 7.
    fn class(&self) -> u8 {
        0
    }

    /// Its differentiated services code point (RFC 2474), 0 to 63.
    fn dscp(&self) -> u8 {
        self.class() << 3
    }

    /// Whether it is an ACK of TCP without data, with SACK blocks or without.
    fn is_ack(&self) -> bool {
        self.pure_ack().is_some()
    }

    /// Its acknowledgment, if it is a pure ACK: without data, without SACK blocks. Routers that filter ACKs read these
    /// fields too.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }

    /// Appends the bytes of its headers, of IP and of the transport, with RTP's if it has one. Compression of headers
    /// and octet stuffing read them; a packet without stays as it is.
    fn headers(&self, _bytes: &mut Vec<u8>) {}

    /// A copy of it, if the link may make one.
    fn duplicate(&self) -> Option<Self> {
        None
    }
}

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: its transport does not understand ECN.
    #[default]
    NotCapable,
    /// ECT(0): its transport understands ECN.
    Capable,
    /// ECT(1): its transport understands ECN, and asks for the service of L4S (RFC 9331 §4.1).
    Capable1,
    /// CE: marked on the way.
    CongestionExperienced,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }

    /// Whether the packet belongs into the queue of L4S: ECT(1), or CE, which it may have been before (RFC 9331 §5.1).
    #[must_use]
    pub const fn is_l4s(self) -> bool {
        matches!(self, Self::Capable1 | Self::CongestionExperienced)
    }
}

/// A mere ACK of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PureAck {
    /// Its acknowledgment number.
    pub number: u32,
    /// Its flags: an ACK with other flags is not a substitute.
    pub flags: u16,
}

impl PureAck {
    /// Whether `later` carries all its information, and more.
    #[must_use]
    pub const fn precedes(self, later: Self) -> bool {
        let ahead = later.number.wrapping_sub(self.number);
        self.flags == later.flags && ahead > 0 && ahead < 1 << 31
    }
}

/// The largest IPv4 packet (RFC 791 §3.1, total length).
pub const LARGEST_PACKET: Bytes = Bytes(65_535);

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl Packet for Plain {
        fn id(&self) -> PacketId {
            PacketId(1)
        }

        fn size(&self) -> Bytes {
            Bytes(1500)
        }

        fn corrupt(&mut self) {}
    }

    #[test]
    fn a_packet_of_which_nothing_else_is_known_is_one_of_one_flow_in_the_lowest_class() {
        assert_eq!((Plain.ecn(), Plain.pure_ack()), (Ecn::NotCapable, None));
        assert_eq!((Plain.flow_key(), Plain.source(), Plain.destination()), (0, 0, 0));
        assert_eq!((Plain.class(), Plain.dscp()), (0, 0));
        assert!(Plain.duplicate().is_none());
    }
}
