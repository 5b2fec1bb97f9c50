//! Why a run ends.

use link::StopReason;
use units::Instant;

use crate::ids::DirectionId;
use crate::spec::Spec;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The receiver read a byte that the sender did not write there.
    #[error("flow {flow}: byte {position} of the stream is wrong at the receiver ({at})")]
    Integrity {
        /// The flow.
        flow: String,
        /// Place in the stream.
        position: u64,
        /// Time at which it was read.
        at: Instant,
    },
    /// More packets wait in a link than fit in the memory of most machines.
    #[error(
        "link {link}: {packets} packets wait in it ({at}): more comes than it carries; give its queue a limit"
    )]
    Overload {
        /// The direction of the link.
        link: String,
        /// Number of these packets.
        packets: usize,
        /// Time at which the last one came.
        at: Instant,
    },
}

/// More packets in one link than this, some four gigabytes, end a run before they end the memory.
pub(crate) const MOST_PACKETS_INSIDE: usize = 1 << 24;

/// Reason for the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every flow is over.
    FlowsOver,
    /// The time is up.
    Time,
    /// No event is left.
    Quiet,
    /// Nothing has arrived anywhere for very long.
    Stalled,
    /// A link is configured to stop the run where its queue overflows.
    Link { direction: DirectionId, reason: StopReason },
}

impl Stop {
    /// Reason for the end of the run, in words.
    pub(crate) fn describe(&self, spec: &Spec) -> String {
        match self {
            Self::FlowsOver => "every flow closed".to_owned(),
            Self::Time => "stop time".to_owned(),
            Self::Quiet => "nothing left to happen".to_owned(),
            Self::Stalled => "nothing had arrived for an hour".to_owned(),
            Self::Link { direction, reason: StopReason { packet, waiting, .. } } => {
                let name = &spec.link(direction.link()).name;
                format!("link {name}: packet {packet} found the queue full, {waiting} waiting")
            }
        }
    }
}
