//! Whether a loss signal was false, and what is then undone.

mod none;

use units::Instant;

use crate::registry::Entry;

/// The detectors that there are.
pub const ENTRIES: &[Entry<dyn Spurious>] = &[none::ENTRY];

/// Judges loss signals.
pub trait Spurious: std::fmt::Debug + Send {
    /// An ACK of new data came after a loss was assumed: was the loss real?
    fn on_ack(&mut self, ack: &Evidence) -> Judgement;
}

/// What a detector sees of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// When it came.
    pub now: Instant,
}

/// What a detector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It cannot tell, or the loss was real.
    Genuine,
    /// Nothing was lost.
    Spurious,
}
