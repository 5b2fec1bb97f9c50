//! Counters of a cell.

use link::WireCounters;
use units::{Bytes, Duration};

/// Sums of one user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserCounters {
    /// Packets that came for it, and their bytes.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: Bytes,
    /// Packets delivered.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: Bytes,
    /// Packets dropped because they were older than the delay budget.
    pub expired: u64,
    /// Packets dropped because the queue was at its limit.
    pub overflowed: u64,
    /// Headers on the channel, if they are compressed.
    pub wire: WireCounters,
    /// Packets dropped as it was handed over.
    pub handover_drops: u64,
    /// Number of handovers to another sector.
    pub handovers: u64,
    /// The most packets that ever waited for it.
    pub queue_max: u64,
    /// Transport blocks sent to it, repetitions counted.
    pub blocks: u64,
    /// Blocks received in error.
    pub block_errors: u64,
    /// Bits of transport blocks sent to it, padding and repetitions counted.
    pub block_bits: u64,
}

/// Sums of one sector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectorCounters {
    /// Bytes of packets that came for the users that it served then.
    pub bytes_in: Bytes,
    /// Bytes of packets that it delivered.
    pub bytes_out: Bytes,
    /// TTIs in which it sent to anyone.
    pub busy_ttis: u64,
    /// Blocks sent, by the place of their format.
    pub blocks_by_format: Vec<u64>,
    /// Power given to users, as a share of the shared channel's, times the time it was given for.
    pub power_time: Duration,
    /// Bytes that reached their users.
    pub delivered: Bytes,
}
