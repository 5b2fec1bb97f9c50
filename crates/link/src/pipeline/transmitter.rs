//! The transmitter: one packet at a time.

use units::{Bytes, Instant};

use crate::store::Handle;

/// The state of the transmitter, and its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transmitter {
    /// Nothing.
    Idle,
    /// It waits until `until`: for the channel to be allocated, or for a rate above zero.
    Waiting {
        /// The packet that is to be transmitted then.
        handle: Handle,
        /// Its size with framing.
        size: Bytes,
        /// Until when.
        until: Instant,
    },
    /// It sends a packet.
    Sending {
        /// The packet.
        handle: Handle,
        /// Its size with framing.
        size: Bytes,
        /// Time at which its last bit is out.
        until: Instant,
    },
}

impl Transmitter {
    /// End of the present state; never when idle.
    pub(super) const fn until(&self) -> Instant {
        match self {
            Self::Idle => Instant::NEVER,
            Self::Waiting { until, .. } | Self::Sending { until, .. } => *until,
        }
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }
}
