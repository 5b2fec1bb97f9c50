//! The options by which a sender requests a rate of ACKs.

/// An option about the rate of ACKs: an experimental kind with an identifier (RFC 6994), the same form for each scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRate {
    /// The scheme that it belongs to.
    pub scheme: AckScheme,
    /// The requested number of full-sized segments for each ACK, at most [`AckScheme::greatest`]; `None` on a SYN,
    /// which announces that requests are complied with.
    pub ratio: Option<u8>,
}

/// A way to request a rate of ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AckScheme {
    /// TCP ACK Rate Request (draft-ietf-tcpm-ack-rate-request): the ratio has seven bits, and 0 requests an ACK at
    /// once.
    Tarr,
    /// ACK congestion control (RFC 5690 §4.1 and §4.2), whose kinds were never assigned.
    AckCc,
}

impl AckScheme {
    /// Its experiment identifier (RFC 6994): that of the draft; for RFC 5690 its number, which is not registered.
    #[must_use]
    pub const fn experiment(self) -> u16 {
        match self {
            Self::Tarr => 0x00ac,
            Self::AckCc => 5690,
        }
    }

    /// The scheme with this experiment identifier.
    #[must_use]
    pub(crate) fn of(experiment: u16) -> Option<Self> {
        [Self::Tarr, Self::AckCc].into_iter().find(|scheme| scheme.experiment() == experiment)
    }

    /// The greatest ratio that the option can say.
    #[must_use]
    pub const fn greatest(self) -> u8 {
        match self {
            Self::Tarr => 0x7f,
            Self::AckCc => 0xff,
        }
    }
}

impl AckRate {
    /// Length of an option with a ratio, with NOPs up to a multiple of four.
    pub const PADDED_LEN: u32 = 8;

    /// Length of the option, without NOPs.
    #[must_use]
    pub const fn option_len(&self) -> u32 {
        if self.ratio.is_some() { 5 } else { 4 }
    }

    /// The byte that says the ratio. That of TARR has seven bits, before a reserved bit that is 0.
    pub(crate) const fn byte(scheme: AckScheme, ratio: u8) -> u8 {
        match scheme {
            AckScheme::Tarr => ratio << 1,
            AckScheme::AckCc => ratio,
        }
    }

    /// The ratio that the byte says.
    pub(crate) const fn ratio_of(scheme: AckScheme, byte: u8) -> u8 {
        match scheme {
            AckScheme::Tarr => byte >> 1,
            AckScheme::AckCc => byte,
        }
    }
}
