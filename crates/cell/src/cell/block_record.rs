//! The rows of the table of blocks.

use units::{Bytes, Instant};

use crate::identity::{SectorId, UserId};

/// One transport block, sent in one TTI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRecord {
    /// Time at which the TTI began.
    pub at: Instant,
    /// Receiving user.
    pub user: UserId,
    /// Sending sector.
    pub sector: SectorId,
    /// Signal-to-interference ratio after despreading; with chase combining, of all attempts.
    pub quality: f64,
    /// Size of the block in bits.
    pub bits: u32,
    /// Bytes of the user's data in it.
    pub bytes: Bytes,
    /// Codes that it occupied.
    pub codes: u32,
    /// Share of the shared channel's power.
    pub power: f64,
    /// 1 for a new block, 2 for its first repetition, and so on.
    pub attempt: u32,
    /// Whether it was received in error.
    pub failed: bool,
}
