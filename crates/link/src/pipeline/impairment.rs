//! The effects of the error stage on a packet, with their causes.

use units::Duration;

use crate::event::{DelayCause, ErrorCause};

/// One thing that is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Impairment {
    /// It is lost at once.
    Drop,
    /// It is delayed, and so are later packets if order is kept.
    Delay(Duration),
    /// It is delayed, and the order of packets does not hold for it: others overtake it, or it overtakes others.
    DelayOutOfOrder(Duration),
    /// It is delayed, and then lost.
    DelayThenDrop(Duration),
    /// It is damaged.
    Corrupt,
}

/// Why it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImpairmentCause {
    Error(ErrorCause),
    Arq,
    Reordering,
}

impl ImpairmentCause {
    /// As the cause of a delay.
    pub(super) const fn of_delay(self) -> DelayCause {
        match self {
            Self::Error(cause) => DelayCause::Error(cause),
            Self::Arq => DelayCause::Arq,
            Self::Reordering => DelayCause::Reordering,
        }
    }

    /// As the cause of a loss or of damage.
    pub(super) const fn of_error(self) -> ErrorCause {
        match self {
            Self::Error(cause) => cause,
            Self::Arq | Self::Reordering => ErrorCause::ArqLimit,
        }
    }
}
