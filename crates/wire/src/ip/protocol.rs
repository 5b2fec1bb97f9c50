//! Assigned protocol numbers (RFC 5237).

/// The protocol of an IP packet's payload, by its assigned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200 §4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// DCCP (RFC 4340).
    pub const DCCP: Self = Self(33);
    /// IPv6 routing header (RFC 8200 §4.4).
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200 §4.5).
    pub const FRAGMENT: Self = Self(44);
    /// ICMP for IPv6.
    pub const ICMP_V6: Self = Self(58);
    /// IPv6 destination options (RFC 8200 §4.6).
    pub const DESTINATION_OPTIONS: Self = Self(60);
}
