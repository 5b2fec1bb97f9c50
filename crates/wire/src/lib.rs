//! What travels on the wire: TCP segments as values, and headers as bytes.
//!
//! Read [`Segment`] first: it is the form in which the TCP endpoint, the world and the analysis
//! pass segments around.

mod payload;
mod segment;

pub use payload::Payload;
pub use segment::{Flags, Options, SackBlocks, Segment, Timestamps};
