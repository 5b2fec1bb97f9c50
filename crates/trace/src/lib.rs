//! Diagnosis: flows and the causes of their retransmissions, from the world's records or from a capture.
//!
//! - [`ledger`]: the verdict on each retransmission and timeout of a flow whose losses are known.
//! - [`capture`]: the flows among the packets seen at a point, as they pass or from a file.
//! - [`flow`]: one flow, the segments of each side and the causes of its retransmissions.
//! - [`shape`]: the course of a sender's window, which shows its congestion control.

pub mod capture;
pub mod flow;
pub mod ledger;
mod position;
pub mod shape;

pub use position::Positions;
