//! What happened: from records of the world, or from any capture, to flows and causes.
//!
//! - [`ledger`]: the verdict on each retransmission and timeout of a flow whose losses are known.
//! - [`capture`]: the flows among the packets seen at a point, as they pass or from a file.
//! - [`flow`]: one flow, what each side sent and what made it send things again.

pub mod capture;
pub mod flow;
pub mod ledger;
mod position;

pub use position::Positions;
