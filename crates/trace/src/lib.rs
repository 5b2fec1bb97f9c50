//! What happened: from records of the world, or from any capture, to flows and causes.
//!
//! - [`ledger`]: the verdict on each retransmission and timeout of a flow whose losses are known.

pub mod ledger;
mod position;
