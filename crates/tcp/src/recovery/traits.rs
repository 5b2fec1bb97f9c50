//! The demands of a recovery on the connection, and the tasks that it takes over from other parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

/// The demands of a recovery on the connection, and the tasks that it takes over from other parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It does not work without selective acknowledgments.
    pub needs_sack: bool,
    /// The recovery for a peer that does not permit SACK.
    pub without_sack: WithoutSack,
    /// It does not work without timestamps.
    pub needs_timestamps: bool,
    /// It judges its loss signals itself, or has none that a detector of spurious signals could judge.
    pub judges_signals: bool,
    /// Its deadlines replace the retransmission timer.
    pub replaces_timer: bool,
    /// The tail of a flight is probed before the retransmission timer expires.
    pub probes_tail: Option<TailProbes>,
    /// A retransmission of the oldest segment restarts the retransmission timer, so that a copy that was lost and sent
    /// again has time to arrive (Linux `tcp_xmit_retransmit_queue`).
    pub restarts_timer_for_oldest: bool,
}

/// The recovery for a peer that does not permit SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutSack {
    /// NewReno by RFC 6582.
    #[default]
    NewReno,
    /// Recovery of Linux: duplicate ACKs count as segments that have left the network, and the window shrinks
    /// proportionally.
    Linux,
}

/// Probing of the tail of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailProbes {
    /// Wait of a probe of a single segment for a delayed ACK (`TLP.max_ack_delay`).
    pub max_ack_delay: Duration,
    /// Slack of the clock, added to all other waits.
    pub slack: Duration,
}
